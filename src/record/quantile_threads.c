/* SPDX-License-Identifier: MIT */
/* quantile_threads.c: distributes many keys by their leading digit, each thread a slice of them.
 * Then threads find the ranks in parts; the number of keys below each part is known. */
#include "record/quantile_table.h"

#include <stdlib.h>
#include <string.h>

enum {
    LEAST = 1 << 17, /* keys: fewer are not worth waking threads for */
    DIGIT_BITS = 11, /* the places of its values are in the nearest cache */
    PARTS = 1 << DIGIT_BITS
};

typedef struct Slice {
    uint64_t least, most;
    uint32_t place[PARTS]; /* counts, then where the next key of a part goes */
} Slice;

typedef struct Dealing {
    RankBuilder *builder;
    uint64_t *keys, *spare;
    size_t n;
    unsigned bytes; /* of keys that are distributed: 4 or 8 */
    unsigned shift; /* part: (key - least) >> shift */
    uint64_t least;
    size_t slices;
    Slice *slice;
    size_t first[PARTS + 1];
    RankBuilder part[PARTS];
} Dealing;

static size_t slice_begin(const Dealing *d, size_t slice)
{
    return (size_t)((unsigned __int128)d->n * slice / d->slices);
}

static void find_range(void *context, size_t task, unsigned thread)
{
    const Dealing *const d = context;
    const size_t begin = slice_begin(d, task), end = slice_begin(d, task + 1);
    uint64_t least = UINT64_MAX, most = 0;
    (void)thread;
    for (size_t i = begin; i < end; i++) {
        least = d->keys[i] < least ? d->keys[i] : least;
        most = d->keys[i] > most ? d->keys[i] : most;
    }
    d->slice[task].least = least;
    d->slice[task].most = most;
}

static void count_slice(void *context, size_t task, unsigned thread)
{
    const Dealing *const d = context;
    const size_t end = slice_begin(d, task + 1);
    uint32_t *const count = d->slice[task].place;
    (void)thread;
    memset(count, 0, sizeof d->slice[task].place);
    for (size_t i = slice_begin(d, task); i < end; i++)
        count[(d->keys[i] - d->least) >> d->shift]++;
}

static void deal_slice(void *context, size_t task, unsigned thread)
{
    const Dealing *const d = context;
    const size_t end = slice_begin(d, task + 1);
    uint32_t *const place = d->slice[task].place;
    uint32_t *const narrow = (uint32_t *)(void *)d->spare;
    (void)thread;
    for (size_t i = slice_begin(d, task); i < end; i++) {
        const uint32_t at = place[(d->keys[i] - d->least) >> d->shift]++;
        if (d->bytes == 4)
            narrow[at] = (uint32_t)d->keys[i];
        else
            d->spare[at] = d->keys[i];
    }
}

static void rank_part(void *context, size_t task, unsigned thread)
{
    Dealing *const d = context;
    const size_t first = d->first[task];
    RankBuilder *const part = &d->part[task];
    (void)thread;
    rank_keys_add(part, (unsigned char *)d->spare + first * d->bytes,
                  (unsigned char *)d->keys + first * d->bytes, d->first[task + 1] - first,
                  d->bytes);
    rank_builder_close(part);
}

/* Places of parts, and in each those of slices. */
static void lay_out(Dealing *d)
{
    size_t at = 0;
    for (size_t p = 0; p < PARTS; p++) {
        d->first[p] = at;
        for (size_t s = 0; s < d->slices; s++) {
            const uint32_t count = d->slice[s].place[p];
            d->slice[s].place[p] = (uint32_t)at;
            at += count;
        }
    }
    d->first[PARTS] = at;
}

/* A part has at most as many knots as keys, and as ranks of steps. */
static void begin_parts(Dealing *d)
{
    RankBuilder *const all = d->builder;
    const uint64_t n = all->table.n;
    rank_builder_close(all);
    RankKnot *knots = all->table.knots + all->table.n_knots;
    for (size_t p = 0; p < PARTS; p++) {
        const uint64_t below = all->seen + d->first[p], upto = all->seen + d->first[p + 1];
        const uint64_t steps = rank_steps(n, upto) - rank_steps(n, below);
        const uint64_t most = steps < upto - below ? steps : upto - below;
        d->part[p] = (RankBuilder){
            .table = {.n = n, .knots = knots}, .capacity = (uint32_t)most, .seen = below};
        knots += most;
    }
}

static void join_parts(Dealing *d)
{
    RankBuilder *const all = d->builder;
    for (size_t p = 0; p < PARTS; p++) {
        const RankTable *const found = &d->part[p].table;
        memmove(all->table.knots + all->table.n_knots, found->knots,
                found->n_knots * sizeof *found->knots);
        all->table.n_knots += found->n_knots;
    }
    all->seen += d->n;
}

static void deal_out(Dealing *d, ThreadPool *pool)
{
    uint64_t most = 0;
    thread_pool_run(pool, d->slices, find_range, d);
    d->least = UINT64_MAX;
    for (size_t s = 0; s < d->slices; s++) {
        d->least = d->slice[s].least < d->least ? d->slice[s].least : d->least;
        most = d->slice[s].most > most ? d->slice[s].most : most;
    }
    const uint64_t range = most - d->least;
    const unsigned bits = range ? 64 - (unsigned)__builtin_clzll(range) : 0;
    d->shift = bits > DIGIT_BITS ? bits - DIGIT_BITS : 0;
    d->bytes = most <= UINT32_MAX ? 4 : 8;
    thread_pool_run(pool, d->slices, count_slice, d);
    lay_out(d);
    thread_pool_run(pool, d->slices, deal_slice, d);
}

void rank_builder_add_keys(RankBuilder *builder, uint64_t *keys, uint64_t *spare, size_t n,
                           uint64_t most, ThreadPool *pool)
{
    Dealing *const d = pool && n >= LEAST ? malloc(sizeof *d) : NULL;
    Slice *const slice = d ? malloc(thread_pool_threads(pool) * sizeof *slice) : NULL;
    if (slice) {
        d->builder = builder;
        d->keys = keys;
        d->spare = spare;
        d->n = n;
        d->slices = thread_pool_threads(pool);
        d->slice = slice;
        deal_out(d, pool);
        begin_parts(d);
        thread_pool_run(pool, PARTS, rank_part, d);
        join_parts(d);
    } else if (most > UINT32_MAX) {
        rank_keys_add(builder, keys, spare, n, 8);
    } else {
        uint32_t *const narrow = (uint32_t *)(void *)spare;
        for (size_t i = 0; i < n; i++)
            narrow[i] = (uint32_t)keys[i];
        rank_keys_add(builder, narrow, keys, n, 4);
    }
    free(slice);
    free(d);
}
