/* SPDX-License-Identifier: MIT */
/* mode.h: the exact mode of a channel of a wide type. */
#ifndef IMGSTAT_MEASURE_MODE_H
#define IMGSTAT_MEASURE_MODE_H

#include "device/read_request.h"

/* Keys that are sorted at a time: 64 MiB with the copy that sorting needs. */
enum { MODE_KEYS = 4194304 };

/* Finds the smallest of the most frequent keys. The record has bins, and samples in that channel.
 * room: MODE_KEYS; tests use less. */
ImgstatResult mode_find(const Record *record, uint16_t channel, size_t room, FurtherReads reads,
                        uint64_t *key, ImgstatError *err);

#endif
