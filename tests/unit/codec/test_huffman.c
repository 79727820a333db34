/* SPDX-License-Identifier: MIT */
/* test_huffman.c: lengths of codes against the text of docs/deflate-coder.md in its simplest form,
 * and canonical codes against RFC 1951's example. */
#include "codec/huffman.h"
#include "deflate_patterns.h"

#include <criterion/criterion.h>
#include <stdbool.h>
#include <string.h>

TestSuite(huffman);

enum { MOST = HUFFMAN_SYMBOLS, NODES = 2 * MOST };

/* A symbol, or two trees that were joined. Earlier ones have smaller indices. */
typedef struct Node {
    uint64_t weight;
    unsigned child[2];
    bool leaf, joined;
} Node;

/* Returns the next of `n` nodes to join: least weight, symbols first, then the earliest. */
static unsigned least(const Node *node, unsigned n)
{
    unsigned best = n;
    for (unsigned i = 0; i < n; i++)
        if (!node[i].joined &&
            (best == n || node[i].weight < node[best].weight ||
             (node[i].weight == node[best].weight && node[i].leaf && !node[best].leaf)))
            best = i;
    return best;
}

static void add_depths(const Node *node, unsigned at, unsigned depth, unsigned *of_depth)
{
    if (node[at].leaf) {
        of_depth[depth]++;
        return;
    }
    add_depths(node, node[at].child[0], depth + 1, of_depth);
    add_depths(node, node[at].child[1], depth + 1, of_depth);
}

/* Orders symbols by count, then by number. */
static unsigned order_symbols(const uint32_t *counts, unsigned n, unsigned *order)
{
    unsigned used = 0;
    for (unsigned i = 0; i < n; i++)
        if (counts[i] > 0)
            order[used++] = i;
    for (unsigned i = 1; i < used; i++)
        for (unsigned j = i; j > 0 && counts[order[j - 1]] > counts[order[j]]; j--) {
            const unsigned swap = order[j];
            order[j] = order[j - 1];
            order[j - 1] = swap;
        }
    return used;
}

static void reference(const uint32_t *counts, unsigned n, unsigned limit, uint8_t *lengths)
{
    Node node[NODES];
    unsigned order[MOST], of_depth[NODES] = {0};
    const unsigned used = order_symbols(counts, n, order);
    memset(lengths, 0, n);
    if (used == 1)
        lengths[order[0]] = 1;
    if (used < 2)
        return;
    for (unsigned i = 0; i < used; i++)
        node[i] = (Node){.weight = counts[order[i]], .leaf = true};
    unsigned made = used;
    for (; made < 2 * used - 1; made++) {
        Node joined = {.weight = 0};
        for (unsigned k = 0; k < 2; k++) {
            joined.child[k] = least(node, made);
            node[joined.child[k]].joined = true;
            joined.weight += node[joined.child[k]].weight;
        }
        node[made] = joined;
    }
    add_depths(node, made - 1, 0, of_depth);
    for (unsigned d = limit + 1; d < NODES; d++)
        of_depth[limit] += of_depth[d];
    for (;;) {
        uint64_t sum = 0;
        for (unsigned d = 1; d <= limit; d++)
            sum += (uint64_t)of_depth[d] << (limit - d);
        if (sum <= (uint64_t)1 << limit)
            break;
        unsigned d = limit - 1;
        while (of_depth[d] == 0)
            d--;
        of_depth[d]--;
        of_depth[limit]--;
        of_depth[d + 1] += 2;
    }
    for (unsigned d = limit, at = 0; d > 0; d--)
        for (unsigned k = 0; k < of_depth[d]; k++)
            lengths[order[at++]] = (uint8_t)d;
}

/* kind 0: anything; 1: many equal; 2: many absent; 3: steep, which wants codes beyond the limit. */
static void fill(uint32_t *counts, unsigned n, unsigned kind, uint32_t *state)
{
    for (unsigned i = 0; i < n; i++) {
        const uint32_t r = next_random(state);
        counts[i] = kind == 0   ? r % 65537
                    : kind == 1 ? r % 3 + 1
                    : kind == 2 ? (r % 5 == 0 ? r % 1000 : 0)
                                : 1u << (next_random(state) % 18);
    }
    if (kind == 3 && n > 20)
        for (unsigned i = 0, a = 1, b = 1; b < 131072 && i < n; i++, b += a, a = b - a)
            counts[i] = b;
}

Test(huffman, lengths_are_those_of_the_text)
{
    static const unsigned limits[] = {7, 12, 15};
    uint32_t counts[MOST], state = 5;
    uint8_t lengths[MOST], expected[MOST];
    for (unsigned round = 0; round < 1200; round++) {
        const unsigned limit = limits[round % 3];
        const unsigned most = limit == 7 ? 19 : MOST, n = round < 60 ? round / 3 % most + 1 : most;
        fill(counts, n, round / 3 % 4, &state);
        memset(lengths, 99, sizeof lengths);
        huffman_lengths(counts, n, limit, lengths);
        reference(counts, n, limit, expected);
        cr_assert_arr_eq(lengths, expected, n, "round %u: %u symbols, limit %u", round, n, limit);
        cr_assert(n == MOST || lengths[n] == 99);
        unsigned used = 0, sum = 0;
        for (unsigned i = 0; i < n; i++) {
            used += lengths[i] > 0;
            sum += lengths[i] > 0 ? 1u << (limit - lengths[i]) : 0;
        }
        cr_assert(used < 2 || sum == 1u << limit, "round %u: the code is not complete", round);
    }
}

Test(huffman, codes_are_canonical)
{
    /* RFC 1951 section 3.2.2: lengths of A to H, and their codes */
    static const uint8_t lengths[] = {3, 3, 3, 3, 3, 2, 4, 4, 0};
    static const uint16_t rfc[] = {2, 3, 4, 5, 6, 0, 14, 15, 0};
    uint16_t codes[9];
    huffman_codes(lengths, 9, codes);
    for (unsigned i = 0; i < 9; i++) {
        unsigned forward = 0;
        for (unsigned b = 0; b < lengths[i]; b++)
            forward = forward << 1 | (codes[i] >> b & 1);
        cr_expect_eq(forward, rfc[i], "symbol %u", i);
    }
}

/* Codes of each length count up in the order of their symbols, from twice the code behind the last
 * shorter one on. */
Test(huffman, codes_count_up_in_the_order_of_symbols)
{
    uint32_t counts[MOST], state = 6;
    uint8_t lengths[MOST];
    uint16_t codes[MOST];
    for (unsigned n = 1; n <= MOST; n++) {
        fill(counts, n, n % 4, &state);
        huffman_lengths(counts, n, n > 128 ? 12 : 15, lengths);
        huffman_codes(lengths, n, codes);
        unsigned next = 0;
        for (unsigned l = 1; l <= 15; l++, next <<= 1)
            for (unsigned i = 0; i < n; i++) {
                unsigned reversed = 0;
                for (unsigned b = 0; b < l; b++)
                    reversed |= (next >> b & 1) << (l - 1 - b);
                if (lengths[i] != l)
                    continue;
                cr_assert_eq(codes[i], reversed, "symbol %u of %u", i, n);
                next++;
            }
    }
}
