/* SPDX-License-Identifier: MIT */
/* mode.h: the exact mode of a channel of a wide type. */
#ifndef IMGSTAT_MEASURE_MODE_H
#define IMGSTAT_MEASURE_MODE_H

#include "device/read_request.h"

/* Keys held at a time: with the copy that sorting needs, 64 MiB. */
enum { MODE_KEYS = 4194304 };

/* Windows whose largest counts are likely to settle most modes, for a read that is made anyway;
 * *n: how many, at most WINDOWS_MOST, 0 where sorting costs less. record has bins. capacity: as in
 * mode_find. */
ImgstatResult mode_windows(BufferCache *scratch, const Record *record, size_t capacity,
                           KeyWindow *windows, size_t *n, ImgstatError *err);

/* The smallest key with the largest count. record has bins, and samples in that channel. windows:
 * n that have been counted. keys: room for `capacity` keys at a time, MODE_KEYS but for tests. */
ImgstatResult mode_find(const Record *record, uint16_t channel, size_t capacity,
                        const KeyWindow *windows, size_t n, PixelSource reader, uint64_t *key,
                        ImgstatError *err);

#endif
