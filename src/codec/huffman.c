/* SPDX-License-Identifier: MIT */
/* huffman.c: lengths of prefix codes in place, after Moffat and Katajainen, "In-Place Calculation
 * of Minimum-Redundancy Codes" (1995); lengths above the limit are then made shorter at the cost of
 * others, as JPEG does it (ITU-T T.81, annex K.2). */
#include "codec/huffman.h"

#include <string.h>

enum {
    SYMBOL_BITS = 9, /* of a key, below its count */
    DIGIT_BITS = 9,
    DIGITS = 1 << DIGIT_BITS,
    DEEPEST = HUFFMAN_SYMBOLS /* no code without a limit is as long */
};

/* Sorts n keys by their counts. Equal counts stay in the order of their symbols. */
static void sort_by_count(uint32_t *keys, unsigned n)
{
    uint32_t room[HUFFMAN_SYMBOLS], *from = keys, *to = room;
    for (unsigned shift = SYMBOL_BITS; shift < SYMBOL_BITS + HUFFMAN_COUNT_BITS;
         shift += DIGIT_BITS) {
        uint16_t next[DIGITS + 1] = {0};
        for (unsigned i = 0; i < n; i++)
            next[(from[i] >> shift) % DIGITS + 1]++;
        for (unsigned d = 1; d < DIGITS; d++)
            next[d] = (uint16_t)(next[d] + next[d - 1]);
        for (unsigned i = 0; i < n; i++)
            to[next[(from[i] >> shift) % DIGITS]++] = from[i];
        uint32_t *const swap = from;
        from = to;
        to = swap;
    }
    /* After an even number of passes the keys are where they were. */
    _Static_assert(HUFFMAN_COUNT_BITS / DIGIT_BITS % 2 == 0, "keys end in the other array");
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

/* Returns the lower `bits` <= 16 bits of a code in reverse. */
static unsigned reversed(unsigned code, unsigned bits)
{
    code = (code & 0x5555) << 1 | (code >> 1 & 0x5555);
    code = (code & 0x3333) << 2 | (code >> 2 & 0x3333);
    code = (code & 0x0F0F) << 4 | (code >> 4 & 0x0F0F);
    code = (code & 0x00FF) << 8 | (code >> 8 & 0x00FF);
    return code >> (16 - bits);
}

void huffman_codes(const uint8_t *lengths, unsigned n, uint16_t *codes)
{
    unsigned of_length[HUFFMAN_LONGEST + 1] = {0}, next[HUFFMAN_LONGEST + 1] = {0};
    for (unsigned i = 0; i < n; i++)
        of_length[lengths[i]]++;
    of_length[0] = 0;
    for (unsigned l = 1; l <= HUFFMAN_LONGEST; l++)
        next[l] = (next[l - 1] + of_length[l - 1]) << 1;
    for (unsigned i = 0; i < n; i++)
        codes[i] = lengths[i] > 0 ? (uint16_t)reversed(next[lengths[i]]++, lengths[i]) : 0;
}
