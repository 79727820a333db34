/* SPDX-License-Identifier: MIT */
/* quantile_select.c: divides keys by pivots or digits until a part is small enough to sort, or
 * holds no rank of a step and is only counted. */
#include "record/quantile_table.h"

#include "record/partition.h"

#include <string.h>

enum {
    FEW = 16,       /* keys that are sorted by insertion */
    LEAST_BITS = 4, /* of a digit: 64 bits are at most 16 digits, 8 KiB of stack each */
    DEAL_BITS = 11, /* at most: the places of its values are in the nearest cache */
    SPLITS = 3,     /* for each bit of the number of keys; after so many pivots were bad: digits */
    MOST_SAMPLES = 15
};

typedef struct Ranks {
    RankBuilder *builder;
    uint64_t next; /* the least rank of a step that has not been seen */
    KeySplit *split;
    unsigned bytes; /* of a key: 4 or 8 */
} Ranks;

static uint64_t key_at(const Ranks *ranks, const void *keys, size_t i)
{
    return ranks->bytes == 4 ? ((const uint32_t *)keys)[i] : ((const uint64_t *)keys)[i];
}

static void *key_place(const Ranks *ranks, void *keys, size_t i)
{
    return (unsigned char *)keys + i * ranks->bytes;
}

static bool is_wanted(const Ranks *ranks, size_t n)
{
    return ranks->next < ranks->builder->seen + n;
}

static void pass_over(const Ranks *ranks, size_t n)
{
    ranks->builder->seen += n;
}

static void add_run(Ranks *ranks, uint64_t key, size_t n)
{
    RankBuilder *const builder = ranks->builder;
    if (!is_wanted(ranks, n)) {
        pass_over(ranks, n);
        return;
    }
    rank_builder_add(builder, key, n);
    ranks->next = rank_next(builder->table.n, builder->seen);
}

static void sort_few(uint64_t *keys, size_t n)
{
    for (size_t i = 1, k; i < n; i++) {
        const uint64_t key = keys[i];
        for (k = i; k > 0 && keys[k - 1] > key; k--)
            keys[k] = keys[k - 1];
        keys[k] = key;
    }
}

static void add_few(Ranks *ranks, const void *keys, size_t n)
{
    uint64_t few[FEW];
    for (size_t i = 0; i < n; i++)
        few[i] = key_at(ranks, keys, i);
    sort_few(few, n);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && few[end] == few[i]; end++) {
        }
        add_run(ranks, few[i], end - i);
    }
}

/* ---- By digits ------------------------------------------------------------------------------- */

/* A digit: key >> shift & mask. */
typedef struct Digit {
    unsigned shift;
    size_t mask;
    uint32_t place[1 << DEAL_BITS]; /* counts, then where the next key goes */
} Digit;

/* Bits in which keys differ. */
static uint64_t difference(const Ranks *ranks, const void *keys, size_t n)
{
    const uint32_t *const keys32 = keys;
    const uint64_t *const keys64 = keys;
    uint64_t differ64 = 0;
    uint32_t differ32 = 0;
    if (ranks->bytes == 4)
        for (size_t i = 0; i < n; i++)
            differ32 |= keys32[i] ^ keys32[0];
    else
        for (size_t i = 0; i < n; i++)
            differ64 |= keys64[i] ^ keys64[0];
    return differ32 | differ64;
}

static void deal_32(Digit *digit, const uint32_t *keys, size_t n, uint32_t *to)
{
    const unsigned shift = digit->shift;
    const size_t mask = digit->mask;
    uint32_t before = 0;
    for (size_t i = 0; i < n; i++)
        digit->place[keys[i] >> shift & mask]++;
    for (size_t v = 0; v <= mask; v++) {
        const uint32_t count = digit->place[v];
        digit->place[v] = before;
        before += count;
    }
    for (size_t i = 0; i < n; i++)
        to[digit->place[keys[i] >> shift & mask]++] = keys[i];
}

static void deal_64(Digit *digit, const uint64_t *keys, size_t n, uint64_t *to)
{
    const unsigned shift = digit->shift;
    const size_t mask = digit->mask;
    uint32_t before = 0;
    for (size_t i = 0; i < n; i++)
        digit->place[keys[i] >> shift & mask]++;
    for (size_t v = 0; v <= mask; v++) {
        const uint32_t count = digit->place[v];
        digit->place[v] = before;
        before += count;
    }
    for (size_t i = 0; i < n; i++)
        to[digit->place[keys[i] >> shift & mask]++] = keys[i];
}

static void add_keys(Ranks *ranks, void *keys, void *spare, size_t n, unsigned splits);

static void add_by_digit(Ranks *ranks, void *keys, void *spare, size_t n)
{
    const uint64_t differ = difference(ranks, keys, n);
    if (differ == 0) {
        add_run(ranks, key_at(ranks, keys, 0), n);
        return;
    }
    const unsigned top = 64 - (unsigned)__builtin_clzll(differ);
    unsigned bits = LEAST_BITS;
    while (bits < DEAL_BITS && n >> bits > FEW / 2)
        bits++;
    Digit digit = {.shift = top > bits ? top - bits : 0, .mask = ((size_t)1 << bits) - 1};
    if (ranks->bytes == 4)
        deal_32(&digit, keys, n, spare);
    else
        deal_64(&digit, keys, n, spare);
    size_t first = 0;
    for (size_t v = 0; v <= digit.mask; v++) {
        const size_t end = digit.place[v];
        add_keys(ranks, key_place(ranks, spare, first), key_place(ranks, keys, first), end - first,
                 0);
        first = end;
    }
}

/* ---- By pivots ------------------------------------------------------------------------------- */

/* The median of some keys. */
static uint64_t pivot_of(const Ranks *ranks, const void *keys, size_t n)
{
    const size_t samples = n < 256 ? 5 : n < 65536 ? 9 : MOST_SAMPLES;
    uint64_t some[MOST_SAMPLES];
    for (size_t i = 0; i < samples; i++)
        some[i] = key_at(ranks, keys, (2 * i + 1) * n / (2 * samples));
    sort_few(some, samples);
    return some[samples / 2];
}

static void add_by_pivot(Ranks *ranks, void *keys, void *spare, size_t n, unsigned splits)
{
    const uint64_t pivot = pivot_of(ranks, keys, n);
    size_t below = ranks->split(keys, n, pivot, spare);
    if (below > 0) {
        add_keys(ranks, spare, keys, below, splits);
    } else { /* it is the least */
        below = pivot == UINT64_MAX >> (64 - 8 * ranks->bytes)
                    ? n
                    : ranks->split(keys, n, pivot + 1, spare);
        add_run(ranks, pivot, below);
    }
    add_keys(ranks, key_place(ranks, spare, below), key_place(ranks, keys, below), n - below,
             splits);
}

static void add_keys(Ranks *ranks, void *keys, void *spare, size_t n, unsigned splits)
{
    if (!is_wanted(ranks, n))
        pass_over(ranks, n);
    else if (n <= FEW)
        add_few(ranks, keys, n);
    else if (splits > 0)
        add_by_pivot(ranks, keys, spare, n, splits - 1);
    else
        add_by_digit(ranks, keys, spare, n);
}

void rank_keys_add(RankBuilder *builder, void *keys, void *spare, size_t n, unsigned bytes)
{
    Ranks ranks = {.builder = builder,
                   .next = rank_next(builder->table.n, builder->seen),
                   .split = key_split(bytes),
                   .bytes = bytes};
    unsigned splits = 0;
    while (ranks.split && n >> splits)
        splits++;
    add_keys(&ranks, keys, spare, n, SPLITS * splits);
}
