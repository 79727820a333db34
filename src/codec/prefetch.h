/* SPDX-License-Identifier: MIT */
/* prefetch.h: files that will be opened soon. */
#ifndef IMGSTAT_CODEC_PREFETCH_H
#define IMGSTAT_CODEC_PREFETCH_H

#include <stdint.h>

/* Of a file that waits for its turn in a batch: large ones are read ahead by those who read. */
enum { ADVISE_BYTES = 64 << 20 };

/* Has the system begin to read the file, `most` bytes of it, if it does not hold its start already.
 * Advice only: whatever is wrong with the file is for those who open it to tell. Returns its size;
 * 0 where it is no file. */
uint64_t advise_soon(const char *path, uint64_t most);

#endif
