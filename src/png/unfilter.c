/* SPDX-License-Identifier: MIT */
/* unfilter.c: plain loops, and a vector per pixel where pixels have several bytes. */
#include "png/unfilter.h"

#include "base/compiler.h"
#include "codec/running_sum.h"

#include <stdlib.h>
#include <string.h>
#if defined(__SSE2__)
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

#if defined(__SSE2__)

/* A pixel as eight 16-bit lanes; those beyond its bytes hold what is of no use. */
FORCE_INLINE __m128i load_pixel(const uint8_t *at)
{
    return _mm_unpacklo_epi8(_mm_loadl_epi64((const __m128i *)(const void *)at),
                             _mm_setzero_si128());
}

/* Writes 8 bytes. The next pixel overwrites those behind this one. */
FORCE_INLINE void store_pixel(uint8_t *at, __m128i v)
{
    _mm_storel_epi64((__m128i *)(void *)at, _mm_packus_epi16(v, v));
}

FORCE_INLINE __m128i abs_lanes(__m128i v)
{
    return _mm_max_epi16(v, _mm_sub_epi16(_mm_setzero_si128(), v));
}

/* Pixels while 8 bytes may be read and written; returns the bytes done. */
FORCE_INLINE size_t paeth_pixels(const uint8_t *from, const uint8_t *above, uint8_t *to, size_t n,
                                 size_t step)
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

FORCE_INLINE size_t average_pixels(const uint8_t *from, const uint8_t *above, uint8_t *to, size_t n,
                                   size_t step)
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

#else

FORCE_INLINE size_t paeth_pixels(const uint8_t *from, const uint8_t *above, uint8_t *to, size_t n,
                                 size_t step)
{
    (void)from, (void)above, (void)to, (void)n, (void)step;
    return 0;
}

FORCE_INLINE size_t average_pixels(const uint8_t *from, const uint8_t *above, uint8_t *to, size_t n,
                                   size_t step)
{
    (void)from, (void)above, (void)to, (void)n, (void)step;
    return 0;
}

#endif

/* Filters 3 and 4. `step` is a constant where this is inlined: a loop for each. */
FORCE_INLINE void unfilter_pixels(unsigned filter, const uint8_t *from, const uint8_t *above,
                                  uint8_t *to, size_t n, size_t step)
{
    if (filter == 3)
        unfilter_average(step > 2 ? average_pixels(from, above, to, n, step) : 0, from, above, to,
                         n, step);
    else
        unfilter_paeth(step > 2 ? paeth_pixels(from, above, to, n, step) : 0, from, above, to, n,
                       step);
}

void ISA(unfilter_row)(unsigned filter, const uint8_t *from, const uint8_t *above, uint8_t *to,
                       size_t n, size_t pixel_bytes)
{
    if (filter == 2) {
        unfilter_up(from, above, to, n);
        return;
    }
    if (filter < 3) {
        memcpy(to, from, n);
        if (filter == 1)
            ISA(running_sum)(to, n, 1, pixel_bytes);
        return;
    }
    switch (pixel_bytes) {
    case 1:
        unfilter_pixels(filter, from, above, to, n, 1);
        break;
    case 2:
        unfilter_pixels(filter, from, above, to, n, 2);
        break;
    case 3:
        unfilter_pixels(filter, from, above, to, n, 3);
        break;
    case 4:
        unfilter_pixels(filter, from, above, to, n, 4);
        break;
    case 6:
        unfilter_pixels(filter, from, above, to, n, 6);
        break;
    default:
        unfilter_pixels(filter, from, above, to, n, 8);
    }
}
