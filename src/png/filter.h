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

/* Rows as a PNG stores them: a filter, 0 to 4, and n bytes each. */
typedef struct FilteredRows {
    const uint8_t *from;
    size_t rows, n;
    const uint8_t *above; /* the unfiltered row above the first; zeros above that of an image */
    uint8_t *to;          /* unfiltered rows, apart from the others */
    size_t pitch;         /* of these */
} FilteredRows;

typedef void UnfilterRows(const FilteredRows *rows, size_t pixel_bytes);
extern UnfilterRows unfilter_rows_portable, unfilter_rows_avx2, unfilter_rows_avx512;

enum { UNFILTER_ROWS = 32 }; /* no more rows are undone together */

/* Undoes the filters of rows. pixel_bytes: 1, 2, 3, 4, 6 or 8. With Average and Paeth many rows at
 * once take less time than one after the other. */
static inline void unfilter_rows(const FilteredRows *rows, size_t pixel_bytes)
{
    static UnfilterRows *const of[] = ISA_TABLE(unfilter_rows);
    of[cpu_features_level()](rows, pixel_bytes);
}

#endif
