/* SPDX-License-Identifier: MIT */
/* key_sort.h: order keys in ascending order. */
#ifndef IMGSTAT_KEY_SORT_H
#define IMGSTAT_KEY_SORT_H

#include "pool.h"
#include "scratch.h"

/* Radix sort of n < 2^32 keys; spare has as much room. Returns where the result lies: either. */
uint64_t *keys_sort(uint64_t *keys, uint64_t *spare, size_t n);
/* The same by all threads of a pool; NULL: by this one. scratch: for their counts. */
uint64_t *keys_sort_together(Pool *pool, Scratch *scratch, uint64_t *keys, uint64_t *spare,
                             size_t n);

#endif
