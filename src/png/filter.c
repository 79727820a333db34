/* SPDX-License-Identifier: MIT */
/* filter.c: PNG's five row filters, applied and undone. */
#include "png/filter.h"

#include "base/compiler.h"
#include "codec/running_sum.h"

#include <stdlib.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

/* ---- Filters ---- */

static inline uint8_t paeth(uint8_t left, uint8_t up, uint8_t corner)
{
    const int16_t p = (int16_t)(up - corner), q = (int16_t)(left - corner), r = (int16_t)(p + q);
    const int16_t pa = (int16_t)(p < 0 ? -p : p), pb = (int16_t)(q < 0 ? -q : q);
    const int16_t pc = (int16_t)(r < 0 ? -r : r);
    const uint8_t other = pb <= pc ? up : corner;
    const int16_t least = pb <= pc ? pb : pc;
    return pa <= least ? left : other;
}

/* Filters bytes [first, n) to `to`. Without branches, so that compilers vectorize it. `filter` is a
 * constant where this is inlined. The pixel on the left of the first ones is 0. */
FORCE_INLINE void filter_bytes(unsigned filter, const uint8_t *restrict row,
                               const uint8_t *restrict above, size_t first, size_t n, size_t step,
                               uint8_t *restrict to)
{
    size_t i = first;
    for (; i < step && i < n; i++)
        to[i - first] = (uint8_t)(row[i] - (filter == 2 || filter == 4 ? above[i]
                                            : filter == 3              ? above[i] / 2
                                                                       : 0));
    for (; i < n; i++) {
        const uint8_t left = row[i - step], up = above[i];
        const uint8_t guess = filter == 0   ? 0
                              : filter == 1 ? left
                              : filter == 2 ? up
                              : filter == 3 ? (uint8_t)((left + up) / 2)
                                            : paeth(left, up, above[i - step]);
        to[i - first] = (uint8_t)(row[i] - guess);
    }
}

enum { CHUNK = 256 };

/* The magnitudes of bytes [first, n), CHUNK at most, under a filter. */
FORCE_INLINE uint64_t chunk_cost(unsigned filter, const uint8_t *row, const uint8_t *above,
                                 size_t first, size_t n, size_t step)
{
    uint8_t to[CHUNK];
    uint32_t sum = 0;
    filter_bytes(filter, row, above, first, n, step, to);
    for (size_t i = 0; i < n - first; i++)
        sum += to[i] < 128 ? to[i] : 256u - to[i];
    return sum;
}

/* Adds the magnitudes of bytes [first, n) under each filter. */
static void add_costs(const uint8_t *row, const uint8_t *above, size_t first, size_t n, size_t step,
                      uint64_t cost[PNG_FILTERS])
{
    for (size_t end; first < n; first = end) {
        end = n - first < CHUNK ? n : first + CHUNK;
        cost[0] += chunk_cost(0, row, above, first, end, step);
        cost[1] += chunk_cost(1, row, above, first, end, step);
        cost[2] += chunk_cost(2, row, above, first, end, step);
        cost[3] += chunk_cost(3, row, above, first, end, step);
        cost[4] += chunk_cost(4, row, above, first, end, step);
    }
}

/* Bytes [first, first + n) and those a multiple of `step` bytes behind, as far as the row goes. */
typedef struct Sample {
    size_t first, n, step;
} Sample;

#if defined(__AVX2__)

#include "png/filter_vectors.h"

#else

/* Filters bytes [step, n) as far as vectors reach. Returns where they end. */
FORCE_INLINE size_t filter_vectors(unsigned filter, const uint8_t *row, const uint8_t *above,
                                   size_t n, size_t step, uint8_t *to)
{
    (void)filter, (void)row, (void)above, (void)n, (void)step, (void)to;
    return 0;
}

FORCE_INLINE bool add_vector_costs(const uint8_t *row, const uint8_t *above, const Sample *sample,
                                   size_t n, size_t step, uint64_t cost[PNG_FILTERS])
{
    (void)row, (void)above, (void)sample, (void)n, (void)step, (void)cost;
    return false;
}

#endif

FORCE_INLINE void filter_row(unsigned filter, const uint8_t *row, const uint8_t *above, size_t n,
                             size_t step, uint8_t *to)
{
    const size_t done = filter_vectors(filter, row, above, n, step, to);
    if (done > 0)
        n = step; /* and what comes before */
    filter_bytes(filter, row, above, 0, n, step, to);
}

static void apply(unsigned filter, const uint8_t *row, const uint8_t *above, size_t n, size_t step,
                  uint8_t *to)
{
    switch (filter) {
    case 1:
        filter_row(1, row, above, n, step, to);
        return;
    case 2:
        filter_row(2, row, above, n, step, to);
        return;
    case 3:
        filter_row(3, row, above, n, step, to);
        return;
    case 4:
        filter_row(4, row, above, n, step, to);
        return;
    default:
        memcpy(to, row, n);
    }
}

static void costs(const uint8_t *row, const uint8_t *above, size_t n, size_t step, bool sample,
                  uint64_t cost[PNG_FILTERS])
{
    const Sample all = {step, n, n};
    const Sample last = {PNG_SAMPLE_STEP - PNG_SAMPLE, PNG_SAMPLE, PNG_SAMPLE_STEP};
    const Sample *const counted = sample ? &last : &all;
    memset(cost, 0, PNG_FILTERS * sizeof *cost);
    if (!sample)
        add_costs(row, above, 0, step, step, cost);
    if (add_vector_costs(row, above, counted, n, step, cost))
        return;
    for (size_t at = counted->first; at < n; at += counted->step)
        add_costs(row, above, at, n - at < counted->n ? n : at + counted->n, step, cost);
}

const PngFilters ISA(png_filters) = {.costs = costs, .apply = apply};

/* ---- Undoing filters: plain loops, and a vector a pixel where pixels have several bytes ---- */

static void unfilter_up(const uint8_t *restrict from, const uint8_t *restrict above,
                        uint8_t *restrict to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (uint8_t)(from[i] + above[i]);
}

static uint8_t nearest(int a, int b, int c)
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
            a = (uint8_t)(from[i] + nearest(a, b, c));
            to[i] = (uint8_t)a;
            c = b;
        }
        return;
    }
    for (; i < n; i++)
        to[i] = (uint8_t)(from[i] + nearest(to[i - step], above[i], above[i - step]));
}

#if defined(__SSE2__)

/* Loads a pixel into eight 16-bit lanes. Lanes beyond its bytes are not used. */
FORCE_INLINE __m128i load_pixel(const uint8_t *at)
{
    return _mm_unpacklo_epi8(_mm_loadl_epi64((const __m128i *)(const void *)at),
                             _mm_setzero_si128());
}

/* Writes 8 bytes. The next pixel overwrites those beyond this one. */
FORCE_INLINE void store_pixel(uint8_t *at, __m128i v)
{
    _mm_storel_epi64((__m128i *)(void *)at, _mm_packus_epi16(v, v));
}

FORCE_INLINE __m128i abs_lanes(__m128i v)
{
    return _mm_max_epi16(v, _mm_sub_epi16(_mm_setzero_si128(), v));
}

FORCE_INLINE __m128i nearest_lanes(__m128i a, __m128i b, __m128i c)
{
    const __m128i bc = _mm_sub_epi16(b, c), ac = _mm_sub_epi16(a, c);
    const __m128i pa = abs_lanes(bc), pb = abs_lanes(ac);
    const __m128i pc = abs_lanes(_mm_add_epi16(bc, ac));
    const __m128i least = _mm_min_epi16(pc, _mm_min_epi16(pa, pb));
    const __m128i is_a = _mm_cmpeq_epi16(least, pa), is_b = _mm_cmpeq_epi16(least, pb);
    const __m128i b_or_c = _mm_or_si128(_mm_and_si128(is_b, b), _mm_andnot_si128(is_b, c));
    return _mm_or_si128(_mm_and_si128(is_a, a), _mm_andnot_si128(is_a, b_or_c));
}

/* Undoes pixels while 8 bytes may be read and written. Returns the bytes done. */
FORCE_INLINE size_t paeth_pixels(const uint8_t *from, const uint8_t *above, uint8_t *to, size_t n,
                                 size_t step)
{
    const __m128i bytes = _mm_set1_epi16(0xFF);
    __m128i a = _mm_setzero_si128(), c = a;
    size_t i = 0;
    for (; i + 8 <= n; i += step) {
        const __m128i b = load_pixel(above + i);
        a = _mm_and_si128(_mm_add_epi16(load_pixel(from + i), nearest_lanes(a, b, c)), bytes);
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

/* Loads 4 bytes of a pixel of one row, and of a pixel of another, into four 16-bit lanes each. */
FORCE_INLINE __m128i load_two(const uint8_t *one, const uint8_t *other)
{
    int32_t low, high;
    memcpy(&low, one, sizeof low);
    memcpy(&high, other, sizeof high);
    return _mm_unpacklo_epi8(_mm_set_epi32(0, 0, high, low), _mm_setzero_si128());
}

FORCE_INLINE void store_two(uint8_t *one, uint8_t *other, __m128i v)
{
    const __m128i bytes = _mm_packus_epi16(v, v);
    const int32_t low = _mm_cvtsi128_si32(bytes),
                  high = _mm_cvtsi128_si32(_mm_shuffle_epi32(bytes, 1));
    memcpy(one, &low, sizeof low);
    memcpy(other, &high, sizeof high);
}

/* Undoes a row and, a pixel behind it, the row below: the second one's pixel takes the upper lanes.
 * A pixel needs the one before, so one row leaves most of the processor idle. Returns the bytes
 * done of the first row; of the second there are step fewer. */
FORCE_INLINE size_t paeth_rows(const uint8_t *from, const uint8_t *below, const uint8_t *above,
                               uint8_t *to, uint8_t *to_below, size_t n, size_t step)
{
    const __m128i bytes = _mm_set1_epi16(0xFF), zero = _mm_setzero_si128();
    if (n < step + 8)
        return 0;
    for (size_t k = 0; k < step; k++)
        to[k] = (uint8_t)(from[k] + above[k]);
    __m128i a = _mm_unpacklo_epi64(load_pixel(to), zero);
    __m128i c = _mm_unpacklo_epi64(load_pixel(above), zero);
    size_t i = step;
    for (; i + 8 <= n; i += step) {
        const __m128i b = _mm_unpacklo_epi64(load_pixel(above + i), a);
        a = _mm_add_epi16(load_two(from + i, below + i - step), nearest_lanes(a, b, c));
        a = _mm_and_si128(a, bytes);
        c = b;
        store_two(to + i, to_below + i - step, a);
    }
    return i;
}

#else

FORCE_INLINE size_t paeth_rows(const uint8_t *from, const uint8_t *below, const uint8_t *above,
                               uint8_t *to, uint8_t *to_below, size_t n, size_t step)
{
    (void)from, (void)below, (void)above, (void)to, (void)to_below, (void)n, (void)step;
    return 0;
}

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

/* The same for pixels of one byte. */
static void unfilter_paeth_bytes(const uint8_t *from, const uint8_t *below, const uint8_t *above,
                                 uint8_t *to, uint8_t *to_below, size_t n)
{
    int a = 0, c = 0, a_below = 0, c_below = 0;
    for (size_t i = 0; i <= n; i++) {
        const int before = a;
        if (i < n) {
            a = (uint8_t)(from[i] + nearest(a, above[i], c));
            c = above[i];
            to[i] = (uint8_t)a;
        }
        if (i > 0) {
            a_below = (uint8_t)(below[i - 1] + nearest(a_below, before, c_below));
            c_below = before;
            to_below[i - 1] = (uint8_t)a_below;
        }
    }
}

void ISA(unfilter_paeth_rows)(const uint8_t *from, const uint8_t *below, const uint8_t *above,
                              uint8_t *to, uint8_t *to_below, size_t n, size_t pixel_bytes)
{
    if (pixel_bytes == 1) {
        unfilter_paeth_bytes(from, below, above, to, to_below, n);
        return;
    }
    const size_t done = paeth_rows(from, below, above, to, to_below, n, pixel_bytes);
    const size_t done_below = done > pixel_bytes ? done - pixel_bytes : 0;
    unfilter_paeth(done, from, above, to, n, pixel_bytes);
    unfilter_paeth(done_below, below, to, to_below, n, pixel_bytes);
}
