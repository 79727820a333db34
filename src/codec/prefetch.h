/* SPDX-License-Identifier: MIT */
/* prefetch.h: asks the system to read files that will be opened soon. */
#ifndef IMGSTAT_CODEC_PREFETCH_H
#define IMGSTAT_CODEC_PREFETCH_H

#include <stdint.h>

/* Bytes of a file that waits for its turn in a batch. Large files are read ahead by those who read
 * them. */
enum { PREFETCH_BYTES = 64 << 20 };

/* Has the system begin to read up to `most` bytes of a file, unless it holds their start already.
 * Faults are left to those who open the file. Returns its size, 0 where it is no file. */
uint64_t prefetch_file(const char *path, uint64_t most);

#endif
