/* SPDX-License-Identifier: MIT */
/* radix_sort.h: order keys in ascending order. */
#ifndef IMGSTAT_RECORD_RADIX_SORT_H
#define IMGSTAT_RECORD_RADIX_SORT_H

#include "base/buffer_cache.h"
#include "base/thread_pool.h"

/* Radix sort of n < 2^32 keys; spare has as much room. Returns where the result lies: either. */
uint64_t *keys_sort(uint64_t *keys, uint64_t *spare, size_t n);
/* The same by all threads of a pool; NULL: by this one. cache: for their counts. */
uint64_t *keys_sort_together(ThreadPool *pool, BufferCache *cache, uint64_t *keys, uint64_t *spare,
                             size_t n);

#endif
