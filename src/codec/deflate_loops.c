/* SPDX-License-Identifier: MIT */
/* deflate_loops.c: bytes compared with their neighbours, counted, and replaced by codes. */
#include "codec/deflate_loops.h"

#include "base/compiler.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

/* ---- Equal neighbours ---- */

enum { WORD = 64 };

/* Compares n <= 64 bytes with the byte before each. */
FORCE_INLINE uint64_t equal_bytes(const uint8_t *from, size_t n)
{
    uint64_t word = 0;
    for (size_t i = 0; i < n; i++)
        word |= (uint64_t)(from[i] == from[(ptrdiff_t)i - 1]) << i;
    return word;
}

#if defined(__AVX512BW__)

FORCE_INLINE uint64_t equal_word(const uint8_t *from)
{
    return _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(from), _mm512_loadu_si512(from - 1));
}

#elif defined(__AVX2__)

FORCE_INLINE uint64_t equal_half(const uint8_t *from)
{
    const __m256i *const here = (const void *)from, *const before = (const void *)(from - 1);
    return (uint32_t)_mm256_movemask_epi8(
        _mm256_cmpeq_epi8(_mm256_loadu_si256(here), _mm256_loadu_si256(before)));
}

FORCE_INLINE uint64_t equal_word(const uint8_t *from)
{
    return equal_half(from) | equal_half(from + 32) << 32;
}

#elif defined(__SSE2__)

FORCE_INLINE uint64_t equal_quarter(const uint8_t *from)
{
    const __m128i *const here = (const void *)from, *const before = (const void *)(from - 1);
    return (uint32_t)_mm_movemask_epi8(
        _mm_cmpeq_epi8(_mm_loadu_si128(here), _mm_loadu_si128(before)));
}

FORCE_INLINE uint64_t equal_word(const uint8_t *from)
{
    return equal_quarter(from) | equal_quarter(from + 16) << 16 | equal_quarter(from + 32) << 32 |
           equal_quarter(from + 48) << 48;
}

#else

FORCE_INLINE uint64_t equal_word(const uint8_t *from)
{
    return equal_bytes(from, WORD);
}

#endif

static void equal(const uint8_t *from, size_t n, uint64_t *words)
{
    const size_t first = n < WORD ? n : WORD;
    if (n == 0)
        return;
    words[0] = equal_bytes(from + 1, first - 1) << 1; /* nothing before the first byte is read */
    size_t i = first;
    for (; n - i >= WORD; i += WORD)
        words[i / WORD] = equal_word(from + i);
    if (i < n)
        words[i / WORD] = equal_bytes(from + i, n - i);
}

/* ---- Counts ---- */

/* Four tables, so that equal neighbours do not wait for each other. */
static void count(const uint8_t *from, size_t n, uint32_t counts[256])
{
    uint32_t table[4][256];
    size_t i = 0;
    memset(table, 0, sizeof table);
    for (; n - i >= 8; i += 8) {
        uint64_t v;
        memcpy(&v, from + i, sizeof v);
        table[0][v & 255]++;
        table[1][v >> 8 & 255]++;
        table[2][v >> 16 & 255]++;
        table[3][v >> 24 & 255]++;
        table[0][v >> 32 & 255]++;
        table[1][v >> 40 & 255]++;
        table[2][v >> 48 & 255]++;
        table[3][v >> 56]++;
    }
    for (; i < n; i++)
        table[0][from[i]]++;
    for (size_t v = 0; v < 256; v++)
        counts[v] += table[0][v] + table[1][v] + table[2][v] + table[3][v];
}

/* ---- Codes ---- */

FORCE_INLINE unsigned code_length(uint32_t code)
{
    return code % (1u << LITERAL_SHIFT);
}

/* The codes of two bytes. *n: their bits. */
FORCE_INLINE uint64_t two_codes(const uint8_t *from, const uint32_t codes[256], unsigned *n)
{
    const uint32_t first = codes[from[0]], second = codes[from[1]];
    *n = code_length(first) + code_length(second);
    return first >> LITERAL_SHIFT | (uint64_t)(second >> LITERAL_SHIFT) << code_length(first);
}

static void literals(const uint8_t *from, size_t n, const uint32_t codes[256], BitEnd *end)
{
    _Static_assert(4 * LITERAL_LONGEST <= 56, "four codes at once");
    BitEnd here = *end; /* in registers */
    size_t i = 0;
    for (; n - i >= 4; i += 4) {
        unsigned first, second;
        const uint64_t bits = two_codes(from + i, codes, &first);
        const uint64_t more = two_codes(from + i + 2, codes, &second);
        bits_put(&here, bits | more << first, first + second);
    }
    for (; i < n; i++)
        bits_put(&here, codes[from[i]] >> LITERAL_SHIFT, code_length(codes[from[i]]));
    *end = here;
}

const DeflateLoops ISA(deflate_loops) = {.equal = equal, .count = count, .literals = literals};
