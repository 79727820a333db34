/* SPDX-License-Identifier: MIT */
/* lzw_streams.h: LZW streams as TIFF has them, of real strings or of any codes that are valid, and
 * PackBits. */
#ifndef IMGSTAT_TESTS_LZW_STREAMS_H
#define IMGSTAT_TESTS_LZW_STREAMS_H

#include "support.h"

#include <stdlib.h>
#include <string.h>

enum {
    LZW_CLEAR = 256,
    LZW_END,
    LZW_FIRST,
    LZW_CODES_MOST = 3839, /* after a clear code */
    LZW_SHORTEST = 40      /* the same, in streams that clear the table often */
};

typedef struct LzwBits {
    uint8_t *at;
    size_t bit;
    unsigned codes; /* since the last clear code */
} LzwBits;

/* Appends a code, to memory of zeros. */
static inline void lzw_put(LzwBits *to, unsigned code)
{
    const unsigned k = to->codes;
    const unsigned width = k < 254 ? 9 : k < 766 ? 10 : k < 1790 ? 11 : 12;
    for (unsigned i = width; i-- > 0; to->bit++)
        to->at[to->bit / 8] |= (uint8_t)((code >> i & 1) << (7 - to->bit % 8));
    to->codes = code == LZW_CLEAR ? 0 : k + 1;
}

/* Compresses n bytes, with a clear code after `most` codes. Returns the stream's bytes. */
static inline size_t lzw_strings(const uint8_t *from, size_t n, unsigned most, uint8_t *to)
{
    uint16_t child[LZW_FIRST + LZW_CODES_MOST], next[LZW_FIRST + LZW_CODES_MOST];
    uint8_t last[LZW_FIRST + LZW_CODES_MOST];
    LzwBits bits = {to, 0, 0};
    lzw_put(&bits, LZW_CLEAR);
    memset(child, 0, sizeof child);
    for (size_t i = 0; i < n;) {
        unsigned code = from[i++], found = 1;
        while (found && i < n) {
            for (found = child[code]; found && last[found] != from[i];)
                found = next[found];
            if (found) {
                code = found;
                i++;
            }
        }
        const unsigned made = LZW_FIRST + bits.codes;
        lzw_put(&bits, code);
        if (bits.codes >= most) {
            lzw_put(&bits, LZW_CLEAR);
            memset(child, 0, sizeof child);
        } else if (i < n) {
            last[made] = from[i];
            next[made] = child[code];
            child[code] = (uint16_t)made;
        }
    }
    lzw_put(&bits, LZW_END);
    return (bits.bit + 7) / 8;
}

/* Writes codes that stand for n bytes together, whatever they are. */
static inline size_t lzw_any(size_t n, unsigned most, uint64_t *state, uint8_t *to)
{
    uint32_t length[LZW_CODES_MOST];
    const unsigned near = 1 + (unsigned)(splitmix64(state) % 1000);
    LzwBits bits = {to, 0, 0};
    lzw_put(&bits, LZW_CLEAR);
    while (n > 0) {
        const uint64_t r = splitmix64(state);
        const unsigned k = bits.codes, back = 1 + (unsigned)(r / 16 % near);
        unsigned code = (unsigned)(r / 4096 % 256);
        length[k] = 1;
        if (r % 16 < 12 && back <= k && length[k - back] < n) {
            code = LZW_FIRST + k - back;
            length[k] = length[k - back] + 1;
        }
        n -= length[k];
        lzw_put(&bits, code);
        if (bits.codes >= most)
            lzw_put(&bits, LZW_CLEAR);
    }
    if (splitmix64(state) % 4 > 0)
        lzw_put(&bits, LZW_END);
    return (bits.bit + 7) / 8;
}

/* Bytes that a stream of n bytes takes at most. */
static inline size_t lzw_room(size_t n, unsigned most)
{
    return 3 * (n + n / most) + 16;
}

/* Compresses n bytes, or codes that stand for as many, as i says. Returns the stream's bytes. to:
 * lzw_room(n, LZW_SHORTEST) bytes. */
static inline size_t lzw_stream(size_t i, const uint8_t *from, size_t n, uint64_t *state,
                                uint8_t *to)
{
    const unsigned most = i % 3 ? LZW_CODES_MOST - (unsigned)(i % 2)
                                : LZW_SHORTEST + (unsigned)(splitmix64(state) % 3000);
    memset(to, 0, lzw_room(n, LZW_SHORTEST));
    return i % 4 == 3 ? lzw_any(n, most, state, to) : lzw_strings(from, n, most, to);
}

/* PackBits, row by row. Returns the bytes, 2 n at most. */
static inline size_t packbits(const uint8_t *from, size_t n, size_t row, uint8_t *to)
{
    size_t at = 0;
    for (size_t i = 0; i < n;) {
        const size_t left = row - i % row, most = left < 128 ? left : 128;
        size_t same = 1, other = 1;
        while (same < most && from[i + same] == from[i])
            same++;
        if (same > 1) {
            to[at++] = (uint8_t)(1 - same);
            to[at++] = from[i];
            i += same;
            continue;
        }
        while (other < most && from[i + other] != from[i + other - 1])
            other++;
        to[at++] = (uint8_t)(other - 1);
        memcpy(to + at, from + i, other);
        at += other;
        i += other;
    }
    return at;
}

#endif
