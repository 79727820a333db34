/* SPDX-License-Identifier: MIT */
/* buffer_cache.h: large memory that the work on one image takes and gives back, kept for the next:
 * no pages go back to the system and come again, zeroed, between the two. */
#ifndef IMGSTAT_BASE_BUFFER_CACHE_H
#define IMGSTAT_BASE_BUFFER_CACHE_H

#include <stddef.h>

/* What a device keeps for itself and for those that read and write files beside it. Threads may
 * share it. */
typedef struct BufferCache BufferCache;

BufferCache *buffer_cache_create(void); /* NULL: out of memory */
/* Frees what is kept; blocks that are out go when they are given back. Accepts NULL. */
void buffer_cache_destroy(BufferCache *scratch);

/* As malloc, on a 64-byte boundary; scratch: NULL for memory that nobody keeps. */
void *buffer_cache_acquire(BufferCache *scratch, size_t bytes);
void *buffer_cache_acquire_zeroed(BufferCache *scratch, size_t n,
                                  size_t bytes); /* as calloc: n items */
/* As free: to the scratch that it was taken from. */
void buffer_cache_release(void *memory);

/* Keeps of the blocks given back, the last ones first, what fits so many bytes; frees the others.
 */
void buffer_cache_trim(BufferCache *scratch, size_t bytes);

/* Blocks that were asked of the system so far. */
size_t buffer_cache_made(BufferCache *scratch);

#endif
