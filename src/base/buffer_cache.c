/* SPDX-License-Identifier: MIT */
/* buffer_cache.c: a list of blocks; the next image takes the sizes that the one before gave back.
 */
#include "base/buffer_cache.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    ALIGN = 64,
    SMALL = 32 << 10 /* up to this malloc keeps blocks itself, and as well */
};

/* In front of the memory. */
typedef struct Block {
    _Alignas(ALIGN) BufferCache *owner; /* NULL: nobody */
    size_t bytes;
    struct Block *next; /* kept: given back before this one */
} Block;

struct BufferCache {
    pthread_mutex_t lock; /* guards what follows */
    Block *kept;          /* the one given back last */
    size_t out, made;     /* blocks */
    bool destroyed;
};

BufferCache *buffer_cache_create(void)
{
    BufferCache *const scratch = calloc(1, sizeof *scratch);
    if (scratch)
        pthread_mutex_init(&scratch->lock, NULL); /* cannot fail with default attributes on Linux */
    return scratch;
}

static void release(BufferCache *scratch)
{
    pthread_mutex_destroy(&scratch->lock);
    free(scratch);
}

void buffer_cache_trim(BufferCache *scratch, size_t bytes)
{
    pthread_mutex_lock(&scratch->lock);
    Block *rest = NULL;
    for (Block **at = &scratch->kept; *at;) {
        Block *const block = *at;
        if (block->bytes <= bytes) {
            bytes -= block->bytes;
            at = &block->next;
        } else {
            *at = block->next;
            block->next = rest;
            rest = block;
        }
    }
    pthread_mutex_unlock(&scratch->lock);
    while (rest) {
        Block *const next = rest->next;
        free(rest);
        rest = next;
    }
}

void buffer_cache_destroy(BufferCache *scratch)
{
    if (!scratch)
        return;
    buffer_cache_trim(scratch, 0);
    pthread_mutex_lock(&scratch->lock);
    scratch->destroyed = true;
    const bool last = scratch->out == 0;
    pthread_mutex_unlock(&scratch->lock);
    if (last)
        release(scratch);
}

static Block *unlink_block(Block **at)
{
    Block *const block = *at;
    if (block)
        *at = block->next;
    return block;
}

/* The smallest that is kept and large enough, but not twice as large: that may be asked for yet.
 * Where there is none, *outgrown is one that is nearly large enough: the new one takes its place.
 * With the lock held. */
static Block *take_kept(BufferCache *scratch, size_t bytes, Block **outgrown)
{
    Block *none = NULL, **best = &none, **less = &none;
    for (Block **at = &scratch->kept; *at; at = &(*at)->next) {
        const size_t has = (*at)->bytes;
        if (has >= bytes && has / 2 <= bytes && (!*best || has < (*best)->bytes))
            best = at;
        if (has < bytes && has >= bytes / 2 && (!*less || has > (*less)->bytes))
            less = at;
    }
    Block *const found = unlink_block(best);
    *outgrown = found ? NULL : unlink_block(less);
    return found;
}

static Block *make(BufferCache *owner, size_t bytes)
{
    const size_t rounded = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (rounded < bytes || rounded + sizeof(Block) < rounded)
        return NULL;
    Block *const block = aligned_alloc(ALIGN, sizeof *block + rounded);
    if (block)
        *block = (Block){.owner = owner, .bytes = rounded};
    return block;
}

void *buffer_cache_acquire(BufferCache *scratch, size_t bytes)
{
    Block *block, *outgrown;
    if (!scratch || bytes <= SMALL) {
        block = make(NULL, bytes);
        return block ? block + 1 : NULL;
    }
    pthread_mutex_lock(&scratch->lock);
    scratch->out++;
    block = take_kept(scratch, bytes, &outgrown);
    scratch->made += !block;
    pthread_mutex_unlock(&scratch->lock);
    free(outgrown);
    if (!block)
        block = make(scratch, bytes);
    if (block)
        return block + 1;
    pthread_mutex_lock(&scratch->lock);
    scratch->out--;
    pthread_mutex_unlock(&scratch->lock);
    return NULL;
}

void *buffer_cache_acquire_zeroed(BufferCache *scratch, size_t n, size_t bytes)
{
    size_t total;
    void *const memory =
        __builtin_mul_overflow(n, bytes, &total) ? NULL : buffer_cache_acquire(scratch, total);
    return memory ? memset(memory, 0, total) : NULL;
}

void buffer_cache_release(void *memory)
{
    Block *const block = memory ? (Block *)memory - 1 : NULL;
    BufferCache *const scratch = block ? block->owner : NULL;
    if (!scratch) {
        free(block);
        return;
    }
    pthread_mutex_lock(&scratch->lock);
    const bool keep = !scratch->destroyed, last = --scratch->out == 0 && !keep;
    if (keep) {
        block->next = scratch->kept;
        scratch->kept = block;
    }
    pthread_mutex_unlock(&scratch->lock);
    if (!keep)
        free(block);
    if (last)
        release(scratch);
}

size_t buffer_cache_made(BufferCache *scratch)
{
    pthread_mutex_lock(&scratch->lock);
    const size_t made = scratch->made;
    pthread_mutex_unlock(&scratch->lock);
    return made;
}
