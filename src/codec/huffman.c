/* SPDX-License-Identifier: MIT */
/* huffman.c: lengths of prefix codes in place, after Moffat and Katajainen, "In-Place Calculation
 * of Minimum-Redundancy Codes" (1995); lengths above the limit are then made shorter at the cost of
 * others, as JPEG does it (ITU-T T.81, annex K.2). */
#include "codec/huffman.h"

#include <string.h>

enum {
    SYMBOL_BITS = 9, /* of a key, below its count */
    DIGIT_BITS = 6,
    DIGITS = 1 << DIGIT_BITS
};

/* Puts n keys in the order of a digit of their counts, the one above `shift` bits. Equal ones stay
 * in their order. */
static void sort_by_digit(const uint32_t *from, unsigned n, unsigned shift, uint32_t *to)
{
    uint16_t next[DIGITS + 1] = {0};
    for (unsigned i = 0; i < n; i++)
        next[(from[i] >> SYMBOL_BITS >> shift) % DIGITS + 1]++;
    for (unsigned d = 1; d < DIGITS; d++)
        next[d] = (uint16_t)(next[d] + next[d - 1]);
    for (unsigned i = 0; i < n; i++)
        to[next[(from[i] >> SYMBOL_BITS >> shift) % DIGITS]++] = from[i];
}

/* Lists the symbols that occur, with their counts, in the order of the counts. Equal counts stay in
 * the order of their symbols. Many symbols count 1, and need no sorting. Returns their number. */
static unsigned sorted_keys(const uint32_t *counts, unsigned n, uint32_t *keys)
{
    uint32_t more[2 * HUFFMAN_SYMBOLS], *from = more, *to = more + HUFFMAN_SYMBOLS, all = 0;
    unsigned ones = 0, others = 0;
    for (unsigned i = 0; i < n; i++) {
        keys[ones] = more[others] = counts[i] << SYMBOL_BITS | i;
        ones += counts[i] == 1;
        others += counts[i] > 1;
        all |= counts[i];
    }
    for (unsigned shift = 0; all >> shift > 0; shift += DIGIT_BITS) {
        sort_by_digit(from, others, shift, to);
        uint32_t *const sorted = to;
        to = from;
        from = sorted;
    }
    memcpy(keys + ones, from, others * sizeof *keys);
    return ones + others;
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
    uint32_t of_length[HUFFMAN_LONGEST + 1] = {0};
    memset(lengths, 0, n);
    const unsigned used = sorted_keys(counts, n, keys);
    if (used < 2) {
        if (used == 1)
            lengths[keys[0] % (1u << SYMBOL_BITS)] = 1;
        return;
    }
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
    enum { PARTS = 4 }; /* of the symbols, so that neighbours of one length do not wait */
    const unsigned part = (n + PARTS - 1) / PARTS;
    uint8_t length[HUFFMAN_SYMBOLS + PARTS];
    uint16_t code_of[HUFFMAN_SYMBOLS + PARTS], scale[HUFFMAN_SYMBOLS + PARTS]; /* 2^length, or 0 */
    uint16_t next[PARTS][HUFFMAN_LONGEST + 1] = {{0}};
    unsigned first = 0;
    memcpy(length, lengths, n);
    memset(length + n, 0, PARTS);
    for (unsigned i = 0; i < part; i++)
        for (unsigned p = 0; p < PARTS; p++)
            next[p][length[p * part + i]]++;
    for (unsigned l = 1; l <= HUFFMAN_LONGEST; l++) {
        first <<= 1;
        for (unsigned p = 0; p < PARTS; p++) {
            const unsigned behind = first + next[p][l];
            next[p][l] = (uint16_t)first;
            first = behind;
        }
    }
    for (unsigned i = 0; i < part; i++)
        for (unsigned p = 0; p < PARTS; p++) {
            const unsigned at = p * part + i;
            code_of[at] = next[p][length[at]]++;
            scale[at] = (uint16_t)(1u << length[at] & ~1u);
        }
    for (unsigned i = 0; i < n; i++) { /* reversed; a multiplication shifts many at once */
        unsigned code = code_of[i];
        code = (code & 0x5555) << 1 | (code >> 1 & 0x5555);
        code = (code & 0x3333) << 2 | (code >> 2 & 0x3333);
        code = (code & 0x0F0F) << 4 | (code >> 4 & 0x0F0F);
        code = (code & 0x00FF) << 8 | (code >> 8 & 0x00FF);
        codes[i] = (uint16_t)(code * scale[i] >> 16);
    }
}
