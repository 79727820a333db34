/* SPDX-License-Identifier: MIT */
/* deflate_format.h: tables of RFC 1951. */
#ifndef IMGSTAT_CODEC_DEFLATE_FORMAT_H
#define IMGSTAT_CODEC_DEFLATE_FORMAT_H

#include "base/sample.h"

#include <stdint.h>

enum {
    DEFLATE_LENGTHS = 29,
    DEFLATE_DISTANCES = 30,
    DEFLATE_FEWEST_DISTANCES = 2, /* that have a code: they make it complete */
    DEFLATE_LENGTH_CODES = 19
};

/* Section 3.2.5: the shortest match of each length symbol, and its extra bits. */
static const uint16_t deflate_length_base[DEFLATE_LENGTHS] = {
    3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
    31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
static const uint8_t deflate_length_extra[DEFLATE_LENGTHS] = {
    0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};

/* The symbol of a distance; the lowest *extra_bits of distance - 1 follow it. */
static inline unsigned deflate_distance_symbol(unsigned distance, unsigned *extra_bits)
{
    const unsigned v = distance - 1, most = 31u - (unsigned)__builtin_clz(v | 2); /* bit */
    *extra_bits = most - 1;
    return 2 * *extra_bits + (v >> *extra_bits);
}

/* Distances that do not occur count once, the first of them, until two count. */
IMGSTAT_INLINE void deflate_complete_distances(uint32_t counts[DEFLATE_DISTANCES])
{
    unsigned used = 0;
    for (unsigned d = 0; d < DEFLATE_DISTANCES; d++)
        used += counts[d] > 0;
    for (unsigned d = 0; used < DEFLATE_FEWEST_DISTANCES; d++)
        if (counts[d] == 0) {
            counts[d] = 1;
            used++;
        }
}

/* Section 3.2.7: the order in which the lengths of the code of code lengths are written. */
static const uint8_t deflate_length_order[DEFLATE_LENGTH_CODES] = {
    16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};

#endif
