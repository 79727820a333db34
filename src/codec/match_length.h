/* SPDX-License-Identifier: MIT */
/* match_length.h: how far bytes equal those of another place. */
#ifndef IMGSTAT_CODEC_MATCH_LENGTH_H
#define IMGSTAT_CODEC_MATCH_LENGTH_H

#include "base/byteswap.h"
#include "base/pixel.h"

/* Returns how many of the first 8 bytes are equal, given the exclusive or of both words, not 0. */
static inline unsigned equal_bytes_of(uint64_t differ)
{
    return (unsigned)(host_big_endian ? __builtin_clzll(differ) : __builtin_ctzll(differ)) / 8;
}

/* Returns how many bytes are equal, at most `most`. The first n are equal; n <= most. */
static inline size_t match_length(const uint8_t *a, const uint8_t *b, size_t n, size_t most)
{
    for (; most - n >= 8; n += 8) {
        const uint64_t differ = load_raw(a + n, 8) ^ load_raw(b + n, 8);
        if (differ != 0)
            return n + equal_bytes_of(differ);
    }
    while (n < most && a[n] == b[n])
        n++;
    return n;
}

#endif
