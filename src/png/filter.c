/* SPDX-License-Identifier: MIT */
/* filter.c: PNG's five row filters, applied and undone. */
#include "png/filter.h"

#include "base/compiler.h"
#include "codec/running_sum.h"

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

/* ---- Undoing filters: plain loops for a row ---- */

static void unfilter_up(const uint8_t *restrict from, const uint8_t *restrict above,
                        uint8_t *restrict to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (uint8_t)(from[i] + above[i]);
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
    for (; i < n; i++)
        to[i] = (uint8_t)(from[i] + paeth(to[i - step], above[i], above[i - step]));
}

#if defined(__SSE2__)

#include "png/unfilter_vectors.h"

#else

FORCE_INLINE size_t unfilter_pixels(unsigned filter, const uint8_t *from, const uint8_t *above,
                                    uint8_t *to, size_t n, size_t step)
{
    (void)filter, (void)from, (void)above, (void)to, (void)n, (void)step;
    return 0;
}

static size_t unfilter_together(const FilteredRows *rows, size_t step)
{
    (void)rows, (void)step;
    return 0;
}

#endif

/* Filters 3 and 4. `step` is a constant where this is inlined: a loop for each. */
FORCE_INLINE void unfilter_by_left(unsigned filter, const uint8_t *from, const uint8_t *above,
                                   uint8_t *to, size_t n, size_t step)
{
    const size_t done = step > 2 ? unfilter_pixels(filter, from, above, to, n, step) : 0;
    if (filter == 3)
        unfilter_average(done, from, above, to, n, step);
    else
        unfilter_paeth(done, from, above, to, n, step);
}

static void unfilter_row(unsigned filter, const uint8_t *from, const uint8_t *above, uint8_t *to,
                         size_t n, size_t step)
{
    if (filter == 2) {
        unfilter_up(from, above, to, n);
        return;
    }
    if (filter < 3) {
        memcpy(to, from, n);
        if (filter == 1)
            ISA(running_sum)(to, n, 1, step);
        return;
    }
    switch (step) {
    case 1:
        unfilter_by_left(filter, from, above, to, n, 1);
        break;
    case 2:
        unfilter_by_left(filter, from, above, to, n, 2);
        break;
    case 3:
        unfilter_by_left(filter, from, above, to, n, 3);
        break;
    case 4:
        unfilter_by_left(filter, from, above, to, n, 4);
        break;
    case 6:
        unfilter_by_left(filter, from, above, to, n, 6);
        break;
    default:
        unfilter_by_left(filter, from, above, to, n, 8);
    }
}

void ISA(unfilter_rows)(const FilteredRows *rows, size_t pixel_bytes)
{
    FilteredRows left = *rows;
    while (left.rows > 0) {
        size_t done = unfilter_together(&left, pixel_bytes);
        if (done == 0) {
            unfilter_row(left.from[0], left.from + 1, left.above, left.to, left.n, pixel_bytes);
            done = 1;
        }
        left.rows -= done;
        if (left.rows == 0)
            return;
        left.from += done * (1 + left.n);
        left.to += done * left.pitch;
        left.above = left.to - left.pitch;
    }
}
