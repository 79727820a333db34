/* SPDX-License-Identifier: MIT */
/* mode.h: the exact mode of a channel of a wide type. */
#ifndef IMGSTAT_MEASURE_MODE_H
#define IMGSTAT_MEASURE_MODE_H

#include "device/read_request.h"

/* Keys held at a time: with the copy that sorting needs, 64 MiB. */
enum { MODE_KEYS = 4194304 };

/* Finds the smallest key with the largest count. The record has bins, and samples in that channel.
 * room: keys that are sorted at once, MODE_KEYS but for tests. */
ImgstatResult mode_find(const Record *record, uint16_t channel, size_t room, FurtherReads reads,
                        uint64_t *key, ImgstatError *err);

#endif
