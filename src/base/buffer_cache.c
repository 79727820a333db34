/* SPDX-License-Identifier: MIT */
/* buffer_cache.c: a fixed array of buffers. An image needs the sizes that the one before released.
 */
#include "base/buffer_cache.h"

#include "base/system_pages.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    ALIGN = 64,
    SMALL = 32 << 10, /* malloc itself keeps buffers up to this size */
    HUGE_PAGE = 2 << 20,
    LARGE = 8 << 20, /* from here on the system takes long, page by page */
    SLOTS =
        256 /* more than an image needs: a PNG has twice 64 blocks, and a few buffers a thread */
};

/* Lies in front of every buffer. */
typedef struct Header {
    _Alignas(ALIGN) BufferCache *owner; /* NULL: not kept */
    size_t bytes;
} Header;

struct BufferCache {
    pthread_mutex_t lock; /* guards what follows */
    Header *kept[SLOTS];  /* in the order of their release */
    size_t n_kept;
    size_t in_use, made;
    bool destroyed;
};

BufferCache *buffer_cache_create(void)
{
    BufferCache *const cache = calloc(1, sizeof *cache);
    if (cache)
        pthread_mutex_init(&cache->lock, NULL); /* cannot fail with default attributes on Linux */
    return cache;
}

static void free_cache(BufferCache *cache)
{
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

/* Moves to `rest` the buffers that do not fit into `bytes`; the newest are kept. The lock is held.
 */
static size_t remove_surplus(BufferCache *cache, size_t bytes, Header *rest[SLOTS])
{
    size_t n_rest = 0, first = cache->n_kept;
    for (size_t i = cache->n_kept; i-- > 0;) {
        Header *const buffer = cache->kept[i];
        if (buffer->bytes > bytes) {
            rest[n_rest++] = buffer;
            continue;
        }
        bytes -= buffer->bytes;
        cache->kept[--first] = buffer;
    }
    cache->n_kept -= n_rest;
    memmove(cache->kept, cache->kept + first, cache->n_kept * sizeof(Header *));
    return n_rest;
}

void buffer_cache_trim(BufferCache *cache, size_t bytes)
{
    Header *rest[SLOTS];
    pthread_mutex_lock(&cache->lock);
    const size_t n = remove_surplus(cache, bytes, rest);
    pthread_mutex_unlock(&cache->lock);
    for (size_t i = 0; i < n; i++)
        free(rest[i]);
}

void buffer_cache_destroy(BufferCache *cache)
{
    if (!cache)
        return;
    Header *rest[SLOTS];
    pthread_mutex_lock(&cache->lock);
    const size_t n = remove_surplus(cache, 0, rest);
    cache->destroyed = true; /* in the same critical section: nothing is kept from here on */
    const bool last = cache->in_use == 0;
    pthread_mutex_unlock(&cache->lock);
    for (size_t i = 0; i < n; i++)
        free(rest[i]);
    if (last)
        free_cache(cache);
}

static Header *remove_kept(BufferCache *cache, size_t slot)
{
    if (slot >= cache->n_kept)
        return NULL;
    Header *const buffer = cache->kept[slot];
    cache->n_kept--;
    memmove(cache->kept + slot, cache->kept + slot + 1, (cache->n_kept - slot) * sizeof(Header *));
    return buffer;
}

/* Removes the smallest kept buffer that is large enough and returns it. Buffers of twice the size
 * stay for a later request. If none fits, *outgrown becomes the largest buffer of at least half the
 * size: the new buffer replaces it. The lock is held. */
static Header *remove_best(BufferCache *cache, size_t bytes, Header **outgrown)
{
    size_t best = SLOTS, less = SLOTS;
    for (size_t i = cache->n_kept; i-- > 0;) {
        const size_t has = cache->kept[i]->bytes;
        if (has >= bytes && has / 2 <= bytes && (best == SLOTS || has < cache->kept[best]->bytes))
            best = i;
        if (has < bytes && has >= bytes / 2 && (less == SLOTS || has > cache->kept[less]->bytes))
            less = i;
    }
    *outgrown = best == SLOTS ? remove_kept(cache, less) : NULL;
    return remove_kept(cache, best);
}

static Header *make(BufferCache *owner, size_t bytes)
{
    const size_t align = bytes < LARGE ? ALIGN : HUGE_PAGE;
    if (bytes > SIZE_MAX - sizeof(Header) - align)
        return NULL;
    const size_t total = (sizeof(Header) + bytes + align - 1) / align * align;
    Header *const buffer = aligned_alloc(align, total);
    if (!buffer)
        return NULL;
    if (align == HUGE_PAGE)
        system_pages_advise(buffer, total, MADV_HUGEPAGE);
    *buffer = (Header){.owner = owner, .bytes = total - sizeof(Header)};
    return buffer;
}

void *buffer_cache_acquire(BufferCache *cache, size_t bytes)
{
    Header *buffer, *outgrown;
    if (!cache || bytes <= SMALL) {
        buffer = make(NULL, bytes);
        return buffer ? buffer + 1 : NULL;
    }
    pthread_mutex_lock(&cache->lock);
    buffer = remove_best(cache, bytes, &outgrown);
    cache->in_use++;
    cache->made += !buffer;
    pthread_mutex_unlock(&cache->lock);
    free(outgrown);
    if (!buffer)
        buffer = make(cache, bytes);
    if (buffer)
        return buffer + 1;
    pthread_mutex_lock(&cache->lock);
    cache->in_use--;
    pthread_mutex_unlock(&cache->lock);
    return NULL;
}

void *buffer_cache_acquire_zeroed(BufferCache *cache, size_t n, size_t bytes)
{
    size_t total;
    void *const memory =
        __builtin_mul_overflow(n, bytes, &total) ? NULL : buffer_cache_acquire(cache, total);
    return memory ? memset(memory, 0, total) : NULL;
}

void buffer_cache_release(void *memory)
{
    Header *buffer = memory ? (Header *)memory - 1 : NULL;
    BufferCache *const cache = buffer ? buffer->owner : NULL;
    if (!cache) {
        free(buffer);
        return;
    }
    pthread_mutex_lock(&cache->lock);
    const bool last = --cache->in_use == 0 && cache->destroyed;
    if (!cache->destroyed) {
        Header *const oldest = cache->n_kept == SLOTS ? remove_kept(cache, 0) : NULL;
        cache->kept[cache->n_kept++] = buffer;
        buffer = oldest;
    }
    pthread_mutex_unlock(&cache->lock);
    free(buffer);
    if (last)
        free_cache(cache);
}

size_t buffer_cache_made(BufferCache *cache)
{
    pthread_mutex_lock(&cache->lock);
    const size_t made = cache->made;
    pthread_mutex_unlock(&cache->lock);
    return made;
}
