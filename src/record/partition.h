/* SPDX-License-Identifier: MIT */
/* partition.h: keys parted at a pivot. */
#ifndef IMGSTAT_RECORD_PARTITION_H
#define IMGSTAT_RECORD_PARTITION_H

#include <stddef.h>
#include <stdint.h>

/* Writes the n keys at `from` to `to`, those below the pivot first; returns how many those are. */
typedef size_t KeySplit(const void *from, size_t n, uint64_t pivot, void *to);

/* For keys of 4 or 8 bytes, by what cpu_features_level() has; NULL: it has nothing that is faster
 * than dealing keys out by their digits. */
KeySplit *key_split(unsigned bytes);

#endif
