/* SPDX-License-Identifier: MIT */
/* huffman.h: prefix codes of limited length, as deflate has them (RFC 1951 section 3.2.2).
 * docs/deflate-coder.md defines the lengths, so that every implementation finds the same. */
#ifndef IMGSTAT_CODEC_HUFFMAN_H
#define IMGSTAT_CODEC_HUFFMAN_H

#include <stdint.h>

enum {
    HUFFMAN_SYMBOLS = 286, /* the most that a code can have */
    HUFFMAN_COUNT_BITS = 18,
    HUFFMAN_LONGEST = 15
};

/* Computes the lengths of the codes of n symbols: 0 for those of count 0, else 1 to `limit`. Their
 * code is complete if at least two symbols occur. counts: below 2^HUFFMAN_COUNT_BITS, in sum below
 * 2^32. n <= 2^limit, n <= HUFFMAN_SYMBOLS, limit <= HUFFMAN_LONGEST. */
void huffman_lengths(const uint32_t *counts, unsigned n, unsigned limit, uint8_t *lengths);

/* Computes the canonical codes of n symbols with these lengths. A code's first bit is its lowest,
 * as a deflate stream has it. */
void huffman_codes(const uint8_t *lengths, unsigned n, uint16_t *codes);

#endif
