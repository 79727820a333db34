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
    return code % 256;
}

/* The codes of two bytes. *n: their bits. */
FORCE_INLINE uint64_t two_codes(const uint8_t *from, const uint32_t codes[256], unsigned *n)
{
    const uint32_t first = codes[from[0]], second = codes[from[1]];
    *n = code_length(first) + code_length(second);
    return first >> 8 | (uint64_t)(second >> 8) << code_length(first);
}

#if defined(__AVX512BW__)

#define VBMI __attribute__((target("avx512vbmi")))

/* Looks up 64 bytes in a table of 256. */
VBMI FORCE_INLINE __m512i look_up(const __m512i table[4], __m512i bytes)
{
    const __m512i low = _mm512_permutex2var_epi8(table[0], bytes, table[1]);
    const __m512i high = _mm512_permutex2var_epi8(table[2], bytes, table[3]);
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(bytes), low, high);
}

/* The codes of 64 bytes, four in each element of `even` and `odd` by turns, and their bits. */
typedef struct Quads {
    uint64_t even[8], odd[8];
    uint32_t n[16];
} Quads;

VBMI FORCE_INLINE void make_quads(__m512i bytes, const __m512i low[4], const __m512i high[4],
                                  Quads *out)
{
    const __m512i l = look_up(low, bytes), h = look_up(high, bytes);
    const __m512i byte = _mm512_set1_epi16(0xFF), length = _mm512_set1_epi16(0xF);
    const __m512i upper = _mm512_set1_epi16(0xF00), half = _mm512_set1_epi32(0xFFFF);
    /* words: the codes and lengths of bytes 0 and 2 of each four, and of 1 and 3 */
    const __m512i code0 = _mm512_or_si512(_mm512_and_si512(l, byte),
                                          _mm512_and_si512(_mm512_slli_epi16(h, 4), upper));
    const __m512i code1 =
        _mm512_or_si512(_mm512_srli_epi16(l, 8), _mm512_and_si512(_mm512_srli_epi16(h, 4), upper));
    const __m512i n0 = _mm512_and_si512(h, length);
    const __m512i n = _mm512_add_epi16(n0, _mm512_and_si512(_mm512_srli_epi16(h, 8), length));
    /* 32-bit elements: the codes of bytes 0 and 1, and of 2 and 3 */
    const __m512i first = _mm512_or_si512(
        _mm512_and_si512(code0, half),
        _mm512_sllv_epi32(_mm512_and_si512(code1, half), _mm512_and_si512(n0, half)));
    const __m512i second =
        _mm512_or_si512(_mm512_srli_epi32(code0, 16),
                        _mm512_sllv_epi32(_mm512_srli_epi32(code1, 16), _mm512_srli_epi32(n0, 16)));
    const __m512i n_first = _mm512_and_si512(n, half);
    const __m512i word = _mm512_set1_epi64(0xFFFFFFFF);
    const __m512i even = _mm512_or_si512(
        _mm512_and_si512(first, word),
        _mm512_sllv_epi64(_mm512_and_si512(second, word), _mm512_and_si512(n_first, word)));
    const __m512i odd = _mm512_or_si512(
        _mm512_srli_epi64(first, 32),
        _mm512_sllv_epi64(_mm512_srli_epi64(second, 32), _mm512_srli_epi64(n_first, 32)));
    _mm512_storeu_si512(out->even, even);
    _mm512_storeu_si512(out->odd, odd);
    _mm512_storeu_si512(out->n, _mm512_add_epi32(n_first, _mm512_srli_epi32(n, 16)));
}

/* Appends the codes of n bytes but for the last n % 64. */
VBMI static void literals_vbmi(const uint8_t *from, size_t n, const LiteralCodes *codes,
                               BitEnd *end)
{
    __m512i low[4], high[4];
    BitEnd here = *end;
    for (size_t i = 0; i < 4; i++) {
        low[i] = _mm512_loadu_si512(codes->low + 64 * i);
        high[i] = _mm512_loadu_si512(codes->high + 64 * i);
    }
    for (size_t i = 0; n - i >= 64; i += 64) {
        Quads quads;
        make_quads(_mm512_loadu_si512(from + i), low, high, &quads);
        for (size_t k = 0; k < 8; k++) {
            bits_put(&here, quads.even[k], quads.n[2 * k]);
            bits_put(&here, quads.odd[k], quads.n[2 * k + 1]);
        }
    }
    *end = here;
}

/* Returns how many bytes were done. */
static size_t literals_by_vectors(const uint8_t *from, size_t n, const LiteralCodes *codes,
                                  BitEnd *end)
{
    if (n < 64 || !__builtin_cpu_supports("avx512vbmi"))
        return 0;
    literals_vbmi(from, n, codes, end);
    return n - n % 64;
}

#else

static size_t literals_by_vectors(const uint8_t *from, size_t n, const LiteralCodes *codes,
                                  BitEnd *end)
{
    (void)from, (void)n, (void)codes, (void)end;
    return 0;
}

#endif

static void literals(const uint8_t *from, size_t n, const LiteralCodes *codes, BitEnd *end)
{
    _Static_assert(4 * LITERAL_LONGEST <= 56, "four codes at once");
    size_t i = literals_by_vectors(from, n, codes, end);
    BitEnd here = *end; /* in registers */
    for (; n - i >= 4; i += 4) {
        unsigned first, second;
        const uint64_t bits = two_codes(from + i, codes->bits, &first);
        const uint64_t more = two_codes(from + i + 2, codes->bits, &second);
        bits_put(&here, bits | more << first, first + second);
    }
    for (; i < n; i++)
        bits_put(&here, codes->bits[from[i]] >> 8, code_length(codes->bits[from[i]]));
    *end = here;
}

const DeflateLoops ISA(deflate_loops) = {.equal = equal, .count = count, .literals = literals};
