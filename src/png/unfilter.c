/* SPDX-License-Identifier: MIT */
/* unfilter.c: plain loops, and a vector per pixel where pixels have several bytes. */
#include "png/unfilter.h"
#include "codec/running_sum.h"

#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

static void unfilter_up(const uint8_t *restrict from, const uint8_t *restrict above,
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

static void unfilter_average(size_t i, const uint8_t *from, const uint8_t *above, uint8_t *to,
                             size_t n, size_t step)
{
    for (; i < n; i++)
        to[i] = (uint8_t)(from[i] + ((i < step ? 0 : to[i - step]) + above[i]) / 2);
}

static void unfilter_paeth(size_t i, const uint8_t *from, const uint8_t *above, uint8_t *to,
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

/* Writes 8 bytes. The next pixel overwrites those behind this one. */
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

void unfilter_row(unsigned filter, const uint8_t *from, const uint8_t *above, uint8_t *to, size_t n,
                  size_t pixel_bytes)
{
    switch (filter) {
    case 1:
        memcpy(to, from, n);
        running_sum8(to, n, pixel_bytes);
        break;
    case 2:
        unfilter_up(from, above, to, n);
        break;
    case 3:
        unfilter_average(average_vectors(from, above, to, n, pixel_bytes), from, above, to, n,
                         pixel_bytes);
        break;
    case 4:
        unfilter_paeth(paeth_vectors(from, above, to, n, pixel_bytes), from, above, to, n,
                       pixel_bytes);
        break;
    default:
        memcpy(to, from, n);
        break;
    }
}
