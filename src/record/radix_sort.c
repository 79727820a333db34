/* SPDX-License-Identifier: MIT */
/* radix_sort.c: radix sort, by one thread or many. */
#include "record/radix_sort.h"

#include <string.h>

enum {
    SORT_BITS = 11,
    SORT_VALUES = 1 << SORT_BITS,
    SORT_DIGITS = (64 + SORT_BITS - 1) / SORT_BITS,
    BUCKET_KEYS = 1 << 11, /* about, where they are spread evenly: their digits fit the caches */
    PIECE_KEYS = 1 << 16,  /* that a thread distributes at a time */
    TOGETHER = 1 << 17     /* threads do not pay for fewer keys */
};

/* Sorts by 11 bits at a time, the low ones first. One pass counts all digits before; digits that
 * all keys share are skipped. */
uint64_t *keys_sort(uint64_t *keys, uint64_t *spare, size_t n)
{
    uint32_t start[SORT_DIGITS][SORT_VALUES] = {0}; /* n < 2^32 */
    for (size_t i = 0; i < n; i++)
        for (unsigned d = 0; d < SORT_DIGITS; d++)
            start[d][keys[i] >> (SORT_BITS * d) & (SORT_VALUES - 1)]++;
    for (unsigned d = 0; d < SORT_DIGITS; d++) {
        const unsigned shift = SORT_BITS * d;
        if (n == 0 || start[d][keys[0] >> shift & (SORT_VALUES - 1)] == n)
            continue;
        uint32_t before = 0;
        for (unsigned v = 0; v < SORT_VALUES; v++) {
            const uint32_t count = start[d][v];
            start[d][v] = before;
            before += count;
        }
        for (size_t i = 0; i < n; i++)
            spare[start[d][keys[i] >> shift & (SORT_VALUES - 1)]++] = keys[i];
        uint64_t *const swap = keys;
        keys = spare;
        spare = swap;
    }
    return keys;
}

/* ---- Together -------------------------------------------------------------------------------- */

/* Distributes keys by their highest bits that differ, then sorts each bucket by itself. */
typedef struct Sorting {
    uint64_t *keys, *spare;
    size_t n;
    unsigned shift;                  /* key >> shift & SORT_VALUES - 1: the bucket */
    uint32_t (*place)[SORT_VALUES];  /* a piece each: counts, then where the next key goes */
    uint64_t *differ;                /* a piece each: bits in which keys differ from the first */
    uint32_t start[SORT_VALUES + 1]; /* of the buckets */
} Sorting;

static size_t piece_end(const Sorting *s, size_t piece)
{
    const size_t end = (piece + 1) * PIECE_KEYS;
    return end < s->n ? end : s->n;
}

static size_t bucket_of(const Sorting *s, uint64_t key)
{
    return key >> s->shift & (SORT_VALUES - 1);
}

static void find_differences(void *context, size_t piece, unsigned thread)
{
    const Sorting *const s = context;
    uint64_t differ = 0;
    (void)thread;
    for (size_t i = piece * PIECE_KEYS; i < piece_end(s, piece); i++)
        differ |= s->keys[i] ^ s->keys[0];
    s->differ[piece] = differ;
}

static void count_piece(void *context, size_t piece, unsigned thread)
{
    const Sorting *const s = context;
    (void)thread;
    memset(s->place[piece], 0, sizeof s->place[piece]);
    for (size_t i = piece * PIECE_KEYS; i < piece_end(s, piece); i++)
        s->place[piece][bucket_of(s, s->keys[i])]++;
}

static void deal_piece(void *context, size_t piece, unsigned thread)
{
    const Sorting *const s = context;
    (void)thread;
    for (size_t i = piece * PIECE_KEYS; i < piece_end(s, piece); i++)
        s->spare[s->place[piece][bucket_of(s, s->keys[i])]++] = s->keys[i];
}

static void sort_bucket(void *context, size_t bucket, unsigned thread)
{
    const Sorting *const s = context;
    const size_t first = s->start[bucket], n = s->start[bucket + 1] - first;
    (void)thread;
    if (n < 2)
        return;
    const uint64_t *const sorted = keys_sort(s->spare + first, s->keys + first, n);
    if (sorted != s->spare + first)
        memcpy(s->spare + first, sorted, n * sizeof *sorted);
}

static void find_places(Sorting *s, size_t pieces)
{
    uint32_t before = 0;
    for (size_t v = 0; v < SORT_VALUES; v++) {
        s->start[v] = before;
        for (size_t p = 0; p < pieces; p++) {
            const uint32_t count = s->place[p][v];
            s->place[p][v] = before;
            before += count;
        }
    }
    s->start[SORT_VALUES] = before;
}

/* Chooses the highest bits that differ, as many as the number of buckets needs. */
static unsigned bucket_shift(const Sorting *s, size_t pieces)
{
    unsigned bits = 1, top = 0;
    uint64_t differ = 0;
    for (size_t p = 0; p < pieces; p++)
        differ |= s->differ[p];
    while (bits < SORT_BITS && s->n >> bits > BUCKET_KEYS)
        bits++;
    while (top < 64 && differ >> top)
        top++;
    return top > bits ? top - bits : 0;
}

uint64_t *keys_sort_together(ThreadPool *pool, BufferCache *cache, uint64_t *keys, uint64_t *spare,
                             size_t n)
{
    if (!pool || thread_pool_threads(pool) == 1 || n < TOGETHER)
        return keys_sort(keys, spare, n);
    const size_t pieces = (n - 1) / PIECE_KEYS + 1;
    Sorting s = {.keys = keys, .spare = spare, .n = n};
    s.place = buffer_cache_acquire(cache, pieces * sizeof *s.place);
    s.differ = buffer_cache_acquire(cache, pieces * sizeof *s.differ);
    const bool room = s.place && s.differ;
    if (room) {
        thread_pool_run(pool, pieces, find_differences, &s);
        s.shift = bucket_shift(&s, pieces);
        thread_pool_run(pool, pieces, count_piece, &s);
        find_places(&s, pieces);
        thread_pool_run(pool, pieces, deal_piece, &s);
        thread_pool_run(pool, SORT_VALUES, sort_bucket, &s);
    }
    buffer_cache_release(s.place);
    buffer_cache_release(s.differ);
    return room ? spare : keys_sort(keys, spare, n);
}
