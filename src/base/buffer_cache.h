/* SPDX-License-Identifier: MIT */
/* buffer_cache.h: keeps large buffers from one image to the next. Otherwise the system would take
 * their pages back and zero new ones. */
#ifndef IMGSTAT_BASE_BUFFER_CACHE_H
#define IMGSTAT_BASE_BUFFER_CACHE_H

#include <stddef.h>

/* Buffers that are not in use. Threads may share a cache. */
typedef struct BufferCache BufferCache;

/* Returns NULL if memory runs out. */
BufferCache *buffer_cache_create(void);

/* Frees the buffers that are kept. Buffers in use stay valid: buffer_cache_release frees them.
 * Accepts NULL. */
void buffer_cache_destroy(BufferCache *cache);

/* Returns a buffer of at least `bytes` bytes on a 64-byte boundary. Returns NULL if memory runs
 * out. cache: NULL for a buffer that is not kept. */
void *buffer_cache_acquire(BufferCache *cache, size_t bytes);

/* Returns a zeroed buffer of n items of `bytes` bytes. Returns NULL if memory runs out or the size
 * overflows. cache: as in buffer_cache_acquire. */
void *buffer_cache_acquire_zeroed(BufferCache *cache, size_t n, size_t bytes);

/* Returns a buffer to the cache that it comes from. Accepts NULL. */
void buffer_cache_release(void *memory);

/* Frees kept buffers until they take at most `bytes` bytes. Those released first are freed first.
 */
void buffer_cache_trim(BufferCache *cache, size_t bytes);

/* Returns how many buffers the cache has requested from the system. */
size_t buffer_cache_made(BufferCache *cache);

#endif
