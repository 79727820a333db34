/* SPDX-License-Identifier: MIT */
/* huffman.c: lengths of prefix codes in place, after Moffat and Katajainen, "In-Place Calculation
 * of Minimum-Redundancy Codes" (1995); lengths above the limit are then made shorter at the cost of
 * others, as JPEG does it (ITU-T T.81, annex K.2). */
#include "codec/huffman.h"

#include <string.h>

enum {
    SYMBOL_BITS = 9, /* of a key, below its count */
    DIGIT_BITS = 6,
    DIGITS = 1 << DIGIT_BITS,
    DEEPEST = HUFFMAN_SYMBOLS /* no code without a limit is as long */
};

/* The digit of a key's count above `shift` bits. most: of the count; those above have it as well.
 */
static inline unsigned digit(uint32_t key, unsigned shift, uint32_t most)
{
    const uint32_t count = key >> SYMBOL_BITS;
    return ((count < most ? count : most) >> shift) % DIGITS;
}

/* Puts n keys in the order of a digit. Equal ones stay in their order. Returns how many have a
 * digit that is not the last. */
static unsigned sort_by_digit(const uint32_t *from, unsigned n, unsigned shift, uint32_t most,
                              uint32_t *to)
{
    uint16_t next[DIGITS + 1] = {0};
    for (unsigned i = 0; i < n; i++)
        next[digit(from[i], shift, most) + 1]++;
    for (unsigned d = 1; d < DIGITS; d++)
        next[d] = (uint16_t)(next[d] + next[d - 1]);
    const unsigned before_last = next[DIGITS - 1];
    for (unsigned i = 0; i < n; i++)
        to[next[digit(from[i], shift, most)]++] = from[i];
    return before_last;
}

/* Sorts n keys by their counts. Equal counts stay in the order of their symbols. Most counts have
 * one digit; only the others are sorted by all three. */
static void sort_by_count(uint32_t *keys, unsigned n)
{
    _Static_assert(HUFFMAN_COUNT_BITS == 3 * DIGIT_BITS, "three digits");
    uint32_t room[HUFFMAN_SYMBOLS];
    const unsigned few = sort_by_digit(keys, n, 0, DIGITS - 1, room);
    memcpy(keys, room, few * sizeof *keys);
    if (few == n)
        return;
    sort_by_digit(room + few, n - few, 0, UINT32_MAX, keys + few);
    sort_by_digit(keys + few, n - few, DIGIT_BITS, UINT32_MAX, room + few);
    sort_by_digit(room + few, n - few, 2 * DIGIT_BITS, UINT32_MAX, keys + few);
}

/* Joins the two rarest of all trees until one is left. weight: n >= 2 counts in ascending order; on
 * return element i <= n - 2 is the parent of inner node i, and n - 2 is the root. */
static void join_trees(uint32_t *weight, unsigned n)
{
    unsigned tree = 0, leaf = 0;
    for (unsigned made = 0; made < n - 1; made++) {
        uint32_t sum = 0;
        for (unsigned k = 0; k < 2; k++) {
            if (leaf >= n || (tree < made && weight[tree] < weight[leaf])) {
                sum += weight[tree];
                weight[tree++] = made;
            } else {
                sum += weight[leaf++];
            }
        }
        weight[made] = sum;
    }
}

/* Counts the leaves of each depth of the tree of join_trees. Those below `limit` count there. */
static void count_depths(uint32_t *parent, unsigned n, unsigned limit, uint32_t *of_length)
{
    parent[n - 2] = 0;
    for (unsigned i = n - 2; i-- > 0;)
        parent[i] = parent[parent[i]] + 1; /* from here on its depth */
    unsigned open = 1, inner = n - 1; /* nodes of a depth; inner nodes that are not yet counted */
    for (unsigned depth = 0; open > 0; depth++) {
        unsigned split = 0;
        for (; inner > 0 && parent[inner - 1] == depth; inner--)
            split++;
        of_length[depth < limit ? depth : limit] += open - split;
        open = 2 * split;
    }
}

void huffman_lengths(const uint32_t *counts, unsigned n, unsigned limit, uint8_t *lengths)
{
    uint32_t keys[HUFFMAN_SYMBOLS], weight[HUFFMAN_SYMBOLS];
    uint32_t of_length[DEEPEST] = {0};
    unsigned used = 0;
    memset(lengths, 0, n);
    for (unsigned i = 0; i < n; i++)
        if (counts[i] > 0)
            keys[used++] = counts[i] << SYMBOL_BITS | i;
    if (used < 2) {
        if (used == 1)
            lengths[keys[0] % (1u << SYMBOL_BITS)] = 1;
        return;
    }
    sort_by_count(keys, used);
    for (unsigned i = 0; i < used; i++)
        weight[i] = keys[i] >> SYMBOL_BITS;
    join_trees(weight, used);
    count_depths(weight, used, limit, of_length);
    huffman_fit(of_length, limit);
    unsigned at = 0; /* the rarest symbols get the longest codes */
    for (unsigned l = limit; l >= 1; l--)
        for (uint32_t k = 0; k < of_length[l]; k++)
            lengths[keys[at++] % (1u << SYMBOL_BITS)] = (uint8_t)l;
}

void huffman_codes(const uint8_t *lengths, unsigned n, uint16_t *codes)
{
    unsigned of_length[HUFFMAN_LONGEST + 1] = {0}, next[HUFFMAN_LONGEST + 1] = {0};
    uint16_t scale[HUFFMAN_SYMBOLS]; /* of each code 2^length; 0 where there is none */
    for (unsigned i = 0; i < n; i++)
        of_length[lengths[i]]++;
    of_length[0] = 0;
    for (unsigned l = 1; l <= HUFFMAN_LONGEST; l++)
        next[l] = (next[l - 1] + of_length[l - 1]) << 1;
    for (unsigned i = 0; i < n; i++) {
        codes[i] = (uint16_t)next[lengths[i]]++;
        scale[i] = (uint16_t)(1u << lengths[i] & ~1u);
    }
    for (unsigned i = 0; i < n; i++) { /* reversed; a multiplication shifts many at once */
        unsigned code = codes[i];
        code = (code & 0x5555) << 1 | (code >> 1 & 0x5555);
        code = (code & 0x3333) << 2 | (code >> 2 & 0x3333);
        code = (code & 0x0F0F) << 4 | (code >> 4 & 0x0F0F);
        code = (code & 0x00FF) << 8 | (code >> 8 & 0x00FF);
        codes[i] = (uint16_t)(code * scale[i] >> 16);
    }
}
