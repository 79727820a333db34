/* SPDX-License-Identifier: MIT */
/* quantile_select.c: divides keys by digits until a part is small enough to sort, or holds no rank
 * of a step and is only counted. */
#include "record/quantile_table.h"

#include "base/compiler.h"

enum {
    FEW = 16,       /* keys that are sorted by insertion */
    LEAST_BITS = 4, /* of a digit: 64 bits are at most 16 digits, 8 KiB of stack each */
    DEAL_BITS = 11  /* at most: the places of its values are in the nearest cache */
};

typedef struct Ranks {
    RankBuilder *builder;
    uint64_t next;  /* the least rank of a step that has not been seen */
    unsigned bytes; /* of a key: 4 or 8 */
} Ranks;

FORCE_INLINE uint64_t key_of(unsigned bytes, const void *keys, size_t i)
{
    return bytes == 4 ? ((const uint32_t *)keys)[i] : ((const uint64_t *)keys)[i];
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

static void add_few(Ranks *ranks, const void *keys, size_t n)
{
    uint64_t few[FEW];
    for (size_t i = 0, k; i < n; i++) {
        const uint64_t key = key_of(ranks->bytes, keys, i);
        for (k = i; k > 0 && few[k - 1] > key; k--)
            few[k] = few[k - 1];
        few[k] = key;
    }
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && few[end] == few[i]; end++) {
        }
        add_run(ranks, few[i], end - i);
    }
}

/* A digit: key >> shift & mask. */
typedef struct Digit {
    unsigned shift;
    size_t mask;
    uint32_t place[1 << DEAL_BITS]; /* counts, then where the next key goes */
} Digit;

/* Bits in which keys differ. `bytes` is a constant where this is inlined, and below. */
FORCE_INLINE uint64_t difference(unsigned bytes, const void *keys, size_t n)
{
    uint64_t differ = 0;
    for (size_t i = 0; i < n; i++)
        differ |= key_of(bytes, keys, i) ^ key_of(bytes, keys, 0);
    return differ;
}

FORCE_INLINE void deal(unsigned bytes, Digit *digit, const void *keys, size_t n, void *to)
{
    const unsigned shift = digit->shift;
    const size_t mask = digit->mask;
    uint32_t before = 0;
    for (size_t i = 0; i < n; i++)
        digit->place[key_of(bytes, keys, i) >> shift & mask]++;
    for (size_t v = 0; v <= mask; v++) {
        const uint32_t count = digit->place[v];
        digit->place[v] = before;
        before += count;
    }
    for (size_t i = 0; i < n; i++) {
        const uint64_t key = key_of(bytes, keys, i);
        const uint32_t at = digit->place[key >> shift & mask]++;
        if (bytes == 4)
            ((uint32_t *)to)[at] = (uint32_t)key;
        else
            ((uint64_t *)to)[at] = key;
    }
}

static void add_keys(Ranks *ranks, void *keys, void *spare, size_t n);

static void add_by_digit(Ranks *ranks, void *keys, void *spare, size_t n)
{
    const uint64_t differ = ranks->bytes == 4 ? difference(4, keys, n) : difference(8, keys, n);
    if (differ == 0) {
        add_run(ranks, key_of(ranks->bytes, keys, 0), n);
        return;
    }
    const unsigned top = 64 - (unsigned)__builtin_clzll(differ);
    unsigned bits = LEAST_BITS;
    while (bits < DEAL_BITS && n >> bits > FEW / 2)
        bits++;
    Digit digit = {.shift = top > bits ? top - bits : 0, .mask = ((size_t)1 << bits) - 1};
    if (ranks->bytes == 4)
        deal(4, &digit, keys, n, spare);
    else
        deal(8, &digit, keys, n, spare);
    size_t first = 0;
    for (size_t v = 0; v <= digit.mask; v++) {
        const size_t end = digit.place[v];
        add_keys(ranks, key_place(ranks, spare, first), key_place(ranks, keys, first), end - first);
        first = end;
    }
}

static void add_keys(Ranks *ranks, void *keys, void *spare, size_t n)
{
    if (!is_wanted(ranks, n))
        pass_over(ranks, n);
    else if (n <= FEW)
        add_few(ranks, keys, n);
    else
        add_by_digit(ranks, keys, spare, n);
}

void rank_keys_add(RankBuilder *builder, void *keys, void *spare, size_t n, unsigned bytes)
{
    Ranks ranks = {
        .builder = builder, .next = rank_next(builder->table.n, builder->seen), .bytes = bytes};
    add_keys(&ranks, keys, spare, n);
}
