/* SPDX-License-Identifier: MIT */
/* filter.c: the choice among PNG's row filters by the least sum of magnitudes. */
#include "png/filter.h"

void png_filter_row(const PngFilters *filters, const uint8_t *row, const uint8_t *above,
                    size_t bytes, unsigned pixel_bytes, bool choose, uint8_t *to)
{
    const size_t step = pixel_bytes < bytes ? pixel_bytes : bytes;
    unsigned best = 0;
    if (choose) {
        uint64_t cost[PNG_FILTERS];
        filters->costs(row, above, bytes, step, cost);
        for (unsigned f = 1; f < PNG_FILTERS; f++)
            best = cost[f] < cost[best] ? f : best;
    }
    to[0] = (uint8_t)best;
    filters->apply(best, row, above, bytes, step, to + 1);
}
