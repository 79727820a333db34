/* SPDX-License-Identifier: MIT */
/* unfilter.c: from differences back to samples: plain loops, and vectors where the processor has
 * them.
 */
#include "png/unfilter.h"

#include "base/cpu_features.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* ---- Running sums ------------------------------------------------------------------------ */

#if defined(__x86_64__)

enum { VECTOR = 16 };

/* How a vector is summed up within itself: moved by 1, 2, 4 and 8 steps, each time added; and the
 * last step of a block, which every step of the next block starts from. */
typedef struct SumPlan {
    __m128i move[4];
    __m128i last;
    unsigned moves;
    size_t block; /* bytes: whole steps */
} SumPlan;

/* Sixteen zeros, then the bytes of a vector in order: from 16 - k on, it is moved by k. */
static const uint8_t slide[2 * VECTOR] = {
    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
    0,    1,    2,    3,    4,    5,    6,    7,    8,    9,    10,   11,   12,   13,   14,   15};

/* For each step: the last step of a block, again and again. */
static const uint8_t last_steps[VECTOR / 2][VECTOR] = {
    {15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15},
    {14, 15, 14, 15, 14, 15, 14, 15, 14, 15, 14, 15, 14, 15, 14, 15},
    {12, 13, 14, 12, 13, 14, 12, 13, 14, 12, 13, 14, 12, 13, 14, 12},
    {12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15},
    {10, 11, 12, 13, 14, 10, 11, 12, 13, 14, 10, 11, 12, 13, 14, 10},
    {6, 7, 8, 9, 10, 11, 6, 7, 8, 9, 10, 11, 6, 7, 8, 9},
    {7, 8, 9, 10, 11, 12, 13, 7, 8, 9, 10, 11, 12, 13, 7, 8},
    {8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15}};

static __m128i load(const uint8_t *at)
{
    return _mm_loadu_si128((const __m128i *)(const void *)at);
}

static SumPlan sum_plan(size_t step_bytes)
{
    SumPlan plan = {.block = VECTOR / step_bytes * step_bytes,
                    .last = load(last_steps[step_bytes - 1])};
    for (size_t by = step_bytes; by < VECTOR; by *= 2)
        plan.move[plan.moves++] = load(slide + VECTOR - by);
    return plan;
}

__attribute__((target("ssse3"), always_inline)) static inline __m128i
add_words(__m128i a, __m128i b, size_t bytes)
{
    return bytes == 1   ? _mm_add_epi8(a, b)
           : bytes == 2 ? _mm_add_epi16(a, b)
           : bytes == 4 ? _mm_add_epi32(a, b)
                        : _mm_add_epi64(a, b);
}

/* Sums whole blocks; returns the bytes done. A block's vector may reach into the next block, which
 * is therefore loaded before it is stored. */
__attribute__((target("ssse3"), always_inline)) static inline size_t
sum_blocks(uint8_t *row, size_t n, size_t step_bytes, size_t word)
{
    if (n < 2 * VECTOR || step_bytes > VECTOR / 2)
        return 0;
    const SumPlan plan = sum_plan(step_bytes);
    __m128i before = _mm_setzero_si128();
    __m128i next = _mm_loadu_si128((const __m128i *)(const void *)row);
    size_t i = 0;
    for (; i + plan.block + VECTOR <= n; i += plan.block) {
        __m128i v = next;
        next = _mm_loadu_si128((const __m128i *)(const void *)(row + i + plan.block));
        for (unsigned m = 0; m < plan.moves; m++)
            v = add_words(v, _mm_shuffle_epi8(v, plan.move[m]), word);
        v = add_words(v, before, word);
        before = _mm_shuffle_epi8(v, plan.last);
        _mm_storeu_si128((__m128i *)(void *)(row + i), v);
    }
    /* What the last store left beyond its block. */
    if (i > 0)
        _mm_storeu_si128((__m128i *)(void *)(row + i), next);
    return i;
}

__attribute__((target("ssse3"))) static size_t sum_blocks8(uint8_t *row, size_t n, size_t step)
{
    return sum_blocks(row, n, step, 1);
}

__attribute__((target("ssse3"))) static size_t sum_blocks16(uint8_t *row, size_t n, size_t step)
{
    return sum_blocks(row, n, 2 * step, 2);
}

#endif

void undo_sub8(uint8_t *row, size_t n, size_t step)
{
    size_t done = 0;
#if defined(__x86_64__)
    if (cpu_features_level() >= PROCESSOR_AVX2)
        done = sum_blocks8(row, n, step);
#endif
    for (size_t i = done > step ? done : step; i < n; i++)
        row[i] = (uint8_t)(row[i] + row[i - step]);
}

/* Rows start anywhere: words are copied in and out. */
void undo_sub16(uint8_t *row, size_t n, size_t step)
{
    size_t done = 0;
#if defined(__x86_64__)
    if (cpu_features_level() >= PROCESSOR_AVX2)
        done = sum_blocks16(row, n, step);
#endif
    for (size_t i = done > 2 * step ? done : 2 * step; i + 2 <= n; i += 2) {
        uint16_t a, b;
        memcpy(&a, row + i, sizeof a);
        memcpy(&b, row + i - 2 * step, sizeof b);
        a = (uint16_t)(a + b);
        memcpy(row + i, &a, sizeof a);
    }
}

void undo_sub32(uint8_t *row, size_t n, size_t step)
{
    for (size_t i = 4 * step; i + 4 <= n; i += 4) {
        uint32_t a, b;
        memcpy(&a, row + i, sizeof a);
        memcpy(&b, row + i - 4 * step, sizeof b);
        a += b;
        memcpy(row + i, &a, sizeof a);
    }
}

void undo_sub64(uint8_t *row, size_t n, size_t step)
{
    for (size_t i = 8 * step; i + 8 <= n; i += 8) {
        uint64_t a, b;
        memcpy(&a, row + i, sizeof a);
        memcpy(&b, row + i - 8 * step, sizeof b);
        a += b;
        memcpy(row + i, &a, sizeof a);
    }
}

/* Words whose bytes lie in four planes, highest first. Rows start anywhere. */
static void join_planes4(const uint8_t *restrict planes, size_t words, uint8_t *restrict to)
{
    const uint8_t *const p0 = planes, *const p1 = p0 + words, *const p2 = p1 + words,
                         *const p3 = p2 + words;
    for (size_t i = 0; i < words; i++) {
        const uint32_t word =
            (uint32_t)p0[i] << 24 | (uint32_t)p1[i] << 16 | (uint32_t)p2[i] << 8 | p3[i];
        memcpy(to + 4 * i, &word, sizeof word);
    }
}

void undo_float(uint8_t *row, size_t n, size_t bytes, size_t step, uint8_t *scratch)
{
    const size_t words = n / bytes;
    undo_sub8(row, n, step);
    memcpy(scratch, row, n);
    if (bytes == 4) {
        join_planes4(scratch, words, row);
        return;
    }
    for (size_t b = 0; b < bytes; b++) {
        const bool big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
        const uint8_t *const plane = scratch + (big_endian ? b : bytes - 1 - b) * words;
        for (size_t i = 0; i < words; i++)
            row[i * bytes + b] = plane[i];
    }
}

/* ---- PNG --------------------------------------------------------------------------------- */

static void undo_up(const uint8_t *restrict from, const uint8_t *restrict above,
                    uint8_t *restrict to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (uint8_t)(from[i] + above[i]);
}

static uint8_t paeth(int a, int b, int c)
{
    const int pa = abs(b - c), pb = abs(a - c), pc = abs(a + b - 2 * c);
    const int best = pb <= pc ? b : c;
    return (uint8_t)(pa <= pb && pa <= pc ? a : best);
}

static void undo_average_from(size_t i, const uint8_t *from, const uint8_t *above, uint8_t *to,
                              size_t n, size_t step)
{
    for (; i < n; i++)
        to[i] = (uint8_t)(from[i] + ((i < step ? 0 : to[i - step]) + above[i]) / 2);
}

static void undo_paeth_from(size_t i, const uint8_t *from, const uint8_t *above, uint8_t *to,
                            size_t n, size_t step)
{
    for (; i < n && i < step; i++)
        to[i] = (uint8_t)(from[i] + above[i]);
    if (step == 1) { /* left and upper left stay in registers */
        int a = to[0], c = above[0];
        for (; i < n; i++) {
            const int b = above[i];
            a = (uint8_t)(from[i] + paeth(a, b, c));
            to[i] = (uint8_t)a;
            c = b;
        }
        return;
    }
    for (; i < n; i++)
        to[i] = (uint8_t)(from[i] + paeth(to[i - step], above[i], above[i - step]));
}

#if defined(__x86_64__)

/* A pixel as eight 16-bit lanes; those beyond its bytes hold what is of no use. */
__attribute__((always_inline)) static inline __m128i load_pixel(const uint8_t *at)
{
    return _mm_unpacklo_epi8(_mm_loadl_epi64((const __m128i *)(const void *)at),
                             _mm_setzero_si128());
}

/* Writes 8 bytes, of which the next pixel overwrites those behind this one. */
__attribute__((always_inline)) static inline void store_pixel(uint8_t *at, __m128i v)
{
    _mm_storel_epi64((__m128i *)(void *)at, _mm_packus_epi16(v, v));
}

__attribute__((always_inline)) static inline __m128i abs_lanes(__m128i v)
{
    return _mm_max_epi16(v, _mm_sub_epi16(_mm_setzero_si128(), v));
}

/* Pixels while 8 bytes may be read and written; returns the bytes done. */
__attribute__((always_inline)) static inline size_t
paeth_pixels(const uint8_t *from, const uint8_t *above, uint8_t *to, size_t n, size_t step)
{
    const __m128i bytes = _mm_set1_epi16(0xFF);
    __m128i a = _mm_setzero_si128(), c = a;
    size_t i = 0;
    for (; i + 8 <= n; i += step) {
        const __m128i b = load_pixel(above + i);
        const __m128i bc = _mm_sub_epi16(b, c), ac = _mm_sub_epi16(a, c);
        const __m128i pa = abs_lanes(bc), pb = abs_lanes(ac);
        const __m128i pc = abs_lanes(_mm_add_epi16(bc, ac));
        const __m128i least = _mm_min_epi16(pc, _mm_min_epi16(pa, pb));
        const __m128i is_a = _mm_cmpeq_epi16(least, pa), is_b = _mm_cmpeq_epi16(least, pb);
        const __m128i b_or_c = _mm_or_si128(_mm_and_si128(is_b, b), _mm_andnot_si128(is_b, c));
        const __m128i near = _mm_or_si128(_mm_and_si128(is_a, a), _mm_andnot_si128(is_a, b_or_c));
        a = _mm_and_si128(_mm_add_epi16(load_pixel(from + i), near), bytes);
        c = b;
        store_pixel(to + i, a);
    }
    return i;
}

__attribute__((always_inline)) static inline size_t
average_pixels(const uint8_t *from, const uint8_t *above, uint8_t *to, size_t n, size_t step)
{
    const __m128i bytes = _mm_set1_epi16(0xFF);
    __m128i a = _mm_setzero_si128();
    size_t i = 0;
    for (; i + 8 <= n; i += step) {
        const __m128i half = _mm_srli_epi16(_mm_add_epi16(a, load_pixel(above + i)), 1);
        a = _mm_and_si128(_mm_add_epi16(load_pixel(from + i), half), bytes);
        store_pixel(to + i, a);
    }
    return i;
}

static size_t paeth_vectors(const uint8_t *from, const uint8_t *above, uint8_t *to, size_t n,
                            size_t step)
{
    switch (step) { /* a loop for each: its stride is then known */
    case 3:
        return paeth_pixels(from, above, to, n, 3);
    case 4:
        return paeth_pixels(from, above, to, n, 4);
    case 6:
        return paeth_pixels(from, above, to, n, 6);
    case 8:
        return paeth_pixels(from, above, to, n, 8);
    default:
        return 0;
    }
}

static size_t average_vectors(const uint8_t *from, const uint8_t *above, uint8_t *to, size_t n,
                              size_t step)
{
    switch (step) {
    case 3:
        return average_pixels(from, above, to, n, 3);
    case 4:
        return average_pixels(from, above, to, n, 4);
    case 6:
        return average_pixels(from, above, to, n, 6);
    case 8:
        return average_pixels(from, above, to, n, 8);
    default:
        return 0;
    }
}

#else

static size_t paeth_vectors(const uint8_t *from, const uint8_t *above, uint8_t *to, size_t n,
                            size_t step)
{
    (void)from, (void)above, (void)to, (void)n, (void)step;
    return 0;
}

static size_t average_vectors(const uint8_t *from, const uint8_t *above, uint8_t *to, size_t n,
                              size_t step)
{
    (void)from, (void)above, (void)to, (void)n, (void)step;
    return 0;
}

#endif

void undo_png(unsigned filter, const uint8_t *from, const uint8_t *above, uint8_t *to, size_t n,
              size_t pixel_bytes)
{
    switch (filter) {
    case 1:
        memcpy(to, from, n);
        undo_sub8(to, n, pixel_bytes);
        break;
    case 2:
        undo_up(from, above, to, n);
        break;
    case 3:
        undo_average_from(average_vectors(from, above, to, n, pixel_bytes), from, above, to, n,
                          pixel_bytes);
        break;
    case 4:
        undo_paeth_from(paeth_vectors(from, above, to, n, pixel_bytes), from, above, to, n,
                        pixel_bytes);
        break;
    default:
        memcpy(to, from, n);
        break;
    }
}
