/* SPDX-License-Identifier: MIT */
/* mode.h: the exact mode of a channel of a wide type. */
#ifndef IMGSTAT_MODE_H
#define IMGSTAT_MODE_H

#include "pass.h"

/* Keys held at a time: with the copy that sorting needs, 64 MiB. */
enum { MODE_KEYS = 4194304 };

/* The smallest key with the largest count. record has bins, and samples in that channel. keys: room
 * for `capacity` keys at a time, MODE_KEYS but for tests. */
ImgstatResult mode_find(const Record *record, uint16_t channel, size_t capacity, Reader reader,
                        uint64_t *key, ImgstatError *err);

/* Radix sort of n < 2^32 keys; spare has as much room. Returns where the result lies: either. */
uint64_t *keys_sort(uint64_t *keys, uint64_t *spare, size_t n);

#endif
