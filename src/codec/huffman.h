/* SPDX-License-Identifier: MIT */
/* huffman.h: prefix codes of limited length, as deflate has them (RFC 1951 section 3.2.2).
 * docs/deflate-coder.md defines the lengths, so that every implementation finds the same. */
#ifndef IMGSTAT_CODEC_HUFFMAN_H
#define IMGSTAT_CODEC_HUFFMAN_H

#include "base/sample.h"

enum {
    HUFFMAN_SYMBOLS = 286, /* the most that a code can have */
    HUFFMAN_COUNT_BITS = 18,
    HUFFMAN_LONGEST = 15
};

/* Computes the lengths of the codes of n symbols: 0 for those of count 0, else 1 to `limit`. Their
 * code is complete if at least two symbols occur. counts: below 2^HUFFMAN_COUNT_BITS, in sum below
 * 2^32. n <= 2^limit, n <= HUFFMAN_SYMBOLS, limit <= HUFFMAN_LONGEST. */
void huffman_lengths(const uint32_t *counts, unsigned n, unsigned limit, uint8_t *lengths);

/* Makes room for the codes that were shortened to `limit`. As long as the codes do not fit, one of
 * the greatest smaller length gets a sister, which comes from there. of_length: how many codes
 * there are of each length. */
IMGSTAT_INLINE void huffman_fit(uint32_t *of_length, unsigned limit)
{
    uint32_t used = 0; /* in units of a code of length `limit` */
    for (unsigned l = 1; l <= limit; l++)
        used += of_length[l] << (limit - l);
    for (; used > 1u << limit; used--) {
        unsigned l = limit - 1;
        while (of_length[l] == 0)
            l--;
        of_length[l]--;
        of_length[l + 1] += 2;
        of_length[limit]--;
    }
}

/* Computes the canonical codes of n symbols with these lengths. A code's first bit is its lowest,
 * as a deflate stream has it. */
void huffman_codes(const uint8_t *lengths, unsigned n, uint16_t *codes);

#endif
