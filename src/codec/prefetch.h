/* SPDX-License-Identifier: MIT */
/* prefetch.h: asks the system to read files that will be opened soon. */
#ifndef IMGSTAT_CODEC_PREFETCH_H
#define IMGSTAT_CODEC_PREFETCH_H

#include <stdint.h>

/* Most bytes that are prefetched of a file of a batch. Decoders read ahead in larger files. */
enum { PREFETCH_BYTES = 64 << 20 };

/* Asks the system to read up to `most` bytes of a file, unless their start is in memory. Reports no
 * faults: opening the file does. Returns the file's size, or 0 if it is no regular file. */
uint64_t prefetch_file(const char *path, uint64_t most);

#endif
