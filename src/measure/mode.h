/* SPDX-License-Identifier: MIT */
/* mode.h: the exact mode of a channel of a wide type. */
#ifndef IMGSTAT_MEASURE_MODE_H
#define IMGSTAT_MEASURE_MODE_H

#include "device/read_request.h"

/* Keys that are sorted at a time where there is no limit: 64 MiB with the copy that sorting needs.
 */
enum { MODE_KEYS = 4194304 };

/* Returns how many keys a mode or a deviation sorts at a time. */
static inline size_t mode_room(const FurtherReads *reads)
{
    return reads->room > 0 ? reads->room : MODE_KEYS;
}

/* Finds the smallest of the most frequent keys. The record has bins, and samples in that channel.
 */
ImgstatResult mode_find(const Record *record, uint16_t channel, FurtherReads reads, uint64_t *key,
                        ImgstatError *err);

#endif
