/* SPDX-License-Identifier: MIT */
/* radix_sort.h: sorts order keys. */
#ifndef IMGSTAT_RECORD_RADIX_SORT_H
#define IMGSTAT_RECORD_RADIX_SORT_H

#include "base/buffer_cache.h"
#include "base/thread_pool.h"

/* Sorts n < 2^32 keys. spare: room for n keys. Returns the array that holds the result: keys or
 * spare. */
uint64_t *keys_sort(uint64_t *keys, uint64_t *spare, size_t n);
/* keys_sort with all threads of a pool; NULL: with this thread. cache: provides their counters. */
uint64_t *keys_sort_together(ThreadPool *pool, BufferCache *cache, uint64_t *keys, uint64_t *spare,
                             size_t n);

#endif
