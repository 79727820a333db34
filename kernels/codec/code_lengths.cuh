/* SPDX-License-Identifier: MIT */
/* codec/code_lengths.cuh: prefix codes of limited length, made by a block of threads. The lengths
 * are those of src/codec/huffman.c; docs/deflate-coder.md defines them, "Codes". */
#ifndef IMGSTAT_KERNELS_CODEC_CODE_LENGTHS_CUH
#define IMGSTAT_KERNELS_CODEC_CODE_LENGTHS_CUH

#include "common/inline.cuh"

extern "C" {
#include "codec/huffman.h"
}

#include <stdint.h>

enum {
    CODE_SYMBOLS = 288, /* at most; a multiple of 4 */
    CODE_LONGEST = 15,
    SYMBOL_BITS = 9, /* of a key, below its count */
    CODE_SHIFT = 8   /* a code is its bits above, its length below */
};

/* Shared memory that making a code takes. */
struct CodeRoom {
    uint32_t key[CODE_SYMBOLS];    /* count and symbol, by symbol; all ones: it does not occur */
    uint32_t sorted[CODE_SYMBOLS]; /* in ascending order */
    uint32_t weight[CODE_SYMBOLS]; /* of trees, by age */
    uint32_t up[CODE_SYMBOLS];     /* a tree above, and the steps to it in the upper half */
    uint32_t trees[CODE_SYMBOLS];  /* that were joined, by depth */
    uint32_t of_length[CODE_LONGEST + 1];
};

static const uint32_t NO_KEY = 0xFFFFFFFFu;

/* Joins the two rarest of all trees until one is left. One thread. n >= 2 symbols. */
DEVICE void join_trees(CodeRoom *room, unsigned n)
{
    unsigned tree = 0, leaf = 0;
    uint32_t next_leaf = room->sorted[0] >> SYMBOL_BITS, next_tree = NO_KEY;
    for (unsigned made = 0; made < n - 1; made++) {
        uint32_t sum = 0;
#pragma unroll
        for (int k = 0; k < 2; k++) {
            if (next_tree < next_leaf) {
                sum += next_tree;
                room->up[tree++] = 1u << 16 | made;
                next_tree = tree < made ? room->weight[tree] : NO_KEY;
            } else {
                sum += next_leaf;
                next_leaf = ++leaf < n ? room->sorted[leaf] >> SYMBOL_BITS : NO_KEY;
            }
        }
        room->weight[made] = sum;
        if (tree == made)
            next_tree = sum;
    }
    room->up[n - 2] = n - 2; /* the root */
}

/* Finds the depth of each tree: after step k its link leads 2^k trees up, or to the root. */
template <unsigned THREADS> DEVICE void link_to_root(CodeRoom *room, unsigned n)
{
    enum { EACH = (CODE_SYMBOLS + THREADS - 1) / THREADS };
    for (unsigned reach = 1; reach < n; reach *= 2) {
        uint32_t link[EACH];
#pragma unroll
        for (unsigned e = 0; e < EACH; e++) {
            const unsigned i = threadIdx.x + e * THREADS;
            if (i < n - 1) {
                const uint32_t own = room->up[i], above = room->up[own & 0xFFFF];
                link[e] = (own & ~0xFFFFu) + above;
            }
        }
        __syncthreads(); /* all links are read */
#pragma unroll
        for (unsigned e = 0; e < EACH; e++) {
            const unsigned i = threadIdx.x + e * THREADS;
            if (i < n - 1)
                room->up[i] = link[e];
        }
        __syncthreads(); /* all are written */
    }
}

/* Computes the lengths of the codes of n symbols: 0 for those of count 0, else 1 to `limit`. All
 * threads; they meet before and after. At least one symbol occurs. */
template <unsigned THREADS>
DEVICE void code_lengths(CodeRoom *room, const uint32_t *counts, unsigned n, unsigned limit,
                         uint8_t *lengths)
{
    int used = 0;
    for (unsigned i = threadIdx.x; i < CODE_SYMBOLS; i += THREADS) {
        room->key[i] = i < n && counts[i] > 0 ? counts[i] << SYMBOL_BITS | i : NO_KEY;
        room->trees[i] = 0;
        if (i < n)
            lengths[i] = 0;
    }
    if (threadIdx.x <= CODE_LONGEST)
        room->of_length[threadIdx.x] = 0;
    __syncthreads(); /* all keys are there */
    for (unsigned first = 0; first < n; first += THREADS) {
        const unsigned i = first + threadIdx.x;
        const uint32_t key = i < n ? room->key[i] : NO_KEY;
        unsigned rank = 0;
        for (unsigned j = 0; j < (n + 3) / 4; j++) {
            const uint4 other = ((const uint4 *)room->key)[j];
            rank += (other.x < key) + (other.y < key) + (other.z < key) + (other.w < key);
        }
        if (key != NO_KEY)
            room->sorted[rank] = key;
        used += __syncthreads_count(key != NO_KEY); /* in the end all are sorted */
    }
    const unsigned symbols = (unsigned)used;
    if (symbols == 1) {
        if (threadIdx.x == 0) {
            lengths[room->sorted[0] % (1u << SYMBOL_BITS)] = 1;
            room->of_length[1] = 1;
        }
        __syncthreads(); /* the length is there */
        return;
    }
    if (threadIdx.x == 0)
        join_trees(room, symbols);
    __syncthreads(); /* the tree is there */
    link_to_root<THREADS>(room, symbols);
    for (unsigned i = threadIdx.x; i < symbols - 1; i += THREADS)
        atomicAdd(&room->trees[room->up[i] >> 16], 1u);
    __syncthreads(); /* trees are counted: each has two below it, trees or symbols */
    for (unsigned depth = 1 + threadIdx.x; depth < symbols; depth += THREADS)
        atomicAdd(&room->of_length[min(depth, limit)],
                  2 * room->trees[depth - 1] - room->trees[depth]);
    __syncthreads(); /* symbols of each depth are counted */
    if (threadIdx.x == 0)
        huffman_fit(room->of_length, limit);
    __syncthreads(); /* numbers of lengths are final */
    for (unsigned rank = threadIdx.x; rank < symbols; rank += THREADS) {
        unsigned length = limit; /* the rarest symbols get the longest codes */
        for (unsigned longer = room->of_length[length]; longer <= rank;)
            longer += room->of_length[--length];
        lengths[room->sorted[rank] % (1u << SYMBOL_BITS)] = (uint8_t)length;
    }
    __syncthreads(); /* all lengths are there */
}

/* Computes the canonical code of the lengths that code_lengths has just made, which lie on a
 * boundary of 4. All threads; they do not meet. */
template <unsigned THREADS>
DEVICE void canonical_codes(const CodeRoom *room, const uint8_t *lengths, unsigned n,
                            uint32_t *codes)
{
    for (unsigned i = threadIdx.x; i < n; i += THREADS) {
        const unsigned length = lengths[i];
        unsigned code = 0, equal = 0; /* symbols of that length before this one, in bits */
        for (unsigned l = 1; l < length; l++)
            code = (code + room->of_length[l]) << 1;
        const uint32_t *const words = (const uint32_t *)lengths;
        for (unsigned j = 0; j < i / 4; j++)
            equal += __popc(__vcmpeq4(words[j], length * 0x01010101u));
        equal += __popc(__vcmpeq4(words[i / 4], length * 0x01010101u) & ((1u << 8 * (i % 4)) - 1));
        code += equal / 8;
        codes[i] = length > 0 ? __brev(code) >> (32 - length) << CODE_SHIFT | length : 0;
    }
}

#endif
