/* SPDX-License-Identifier: MIT */
/* filter.h: PNG's row filters: applies them, chooses among them, undoes them. */
#ifndef IMGSTAT_PNG_FILTER_H
#define IMGSTAT_PNG_FILTER_H

#include "base/cpu_features.h"
#include "base/isa.h"
#include "codec/filter_choice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PNG_FILTERS = 5 };

/* Loops over rows of n bytes whose pixels have step <= n bytes. above: the row above; zeros for the
 * first row. */
typedef struct PngFilters {
    /* Computes the cost of each filter: the sum of the magnitudes of its bytes, as signed numbers.
     * Rows of low cost usually compress better. sample: only of those bytes that PNG_CHOOSE_SAMPLED
     * counts; n > PNG_SAMPLED_ROW. */
    void (*costs)(const uint8_t *row, const uint8_t *above, size_t n, size_t step, bool sample,
                  uint64_t cost[PNG_FILTERS]);

    /* Filters a row. */
    void (*apply)(unsigned filter, const uint8_t *row, const uint8_t *above, size_t n, size_t step,
                  uint8_t *to);
} PngFilters;

extern const PngFilters png_filters_portable, png_filters_avx2, png_filters_avx512;

/* Those for cpu_features_level(). */
static inline const PngFilters *png_filters(void)
{
    static const PngFilters *const of[] = ISA_TABLE(&png_filters);
    return of[cpu_features_level()];
}

/* Filters a row of `bytes` bytes to 1 + bytes at `to`. pixel_bytes: distance to the pixel on the
 * left, at least 1. */
static inline void png_filter_row(const PngFilters *filters, const uint8_t *row,
                                  const uint8_t *above, size_t bytes, unsigned pixel_bytes,
                                  PngChoice choice, uint8_t *to)
{
    const size_t step = pixel_bytes < bytes ? pixel_bytes : bytes;
    unsigned best = 0;
    if (choice != PNG_CHOOSE_NONE) {
        const bool sample = choice == PNG_CHOOSE_SAMPLED && bytes > PNG_SAMPLED_ROW;
        uint64_t cost[PNG_FILTERS];
        filters->costs(row, above, bytes, step, sample, cost);
        for (unsigned f = 1; f < PNG_FILTERS; f++)
            best = cost[f] < cost[best] ? f : best;
    }
    to[0] = (uint8_t)best;
    filters->apply(best, row, above, bytes, step, to + 1);
}

typedef void UnfilterRow(unsigned filter, const uint8_t *from, const uint8_t *above, uint8_t *to,
                         size_t n, size_t pixel_bytes);
extern UnfilterRow unfilter_row_portable, unfilter_row_avx2, unfilter_row_avx512;

/* Undoes filter 0 to 4 of a row of n bytes, from `from` to `to`, which do not overlap. above: the
 * unfiltered row above; zeros for the first row. pixel_bytes: 1, 2, 3, 4, 6 or 8. */
static inline void unfilter_row(unsigned filter, const uint8_t *from, const uint8_t *above,
                                uint8_t *to, size_t n, size_t pixel_bytes)
{
    static UnfilterRow *const of[] = ISA_TABLE(unfilter_row);
    of[cpu_features_level()](filter, from, above, to, n, pixel_bytes);
}

typedef void UnfilterRows(const uint8_t *from, const uint8_t *below, const uint8_t *above,
                          uint8_t *to, uint8_t *to_below, size_t n, size_t pixel_bytes);
extern UnfilterRows unfilter_paeth_rows_portable, unfilter_paeth_rows_avx2,
    unfilter_paeth_rows_avx512;

/* Undoes filter 4 of a row and of the row below it, faster than one after the other. As
 * unfilter_row; pixel_bytes: 1, 3 or 4. */
static inline void unfilter_paeth_rows(const uint8_t *from, const uint8_t *below,
                                       const uint8_t *above, uint8_t *to, uint8_t *to_below,
                                       size_t n, size_t pixel_bytes)
{
    static UnfilterRows *const of[] = ISA_TABLE(unfilter_paeth_rows);
    of[cpu_features_level()](from, below, above, to, to_below, n, pixel_bytes);
}

#endif
