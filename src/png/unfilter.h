/* SPDX-License-Identifier: MIT */
/* unfilter.h: PNG's row filters, from differences back to samples. */
#ifndef IMGSTAT_PNG_UNFILTER_H
#define IMGSTAT_PNG_UNFILTER_H

#include "base/cpu_features.h"
#include "base/isa.h"

typedef void UnfilterRow(unsigned filter, const uint8_t *from, const uint8_t *above, uint8_t *to,
                         size_t n, size_t pixel_bytes);
extern UnfilterRow unfilter_row_portable, unfilter_row_avx2, unfilter_row_avx512;

/* Undoes filter 0 to 4 of a row of n bytes: `from` to `to`, which do not overlap. above: the row
 * above, unfiltered, zeros for none. pixel_bytes: 1, 2, 3, 4, 6 or 8. */
static inline void unfilter_row(unsigned filter, const uint8_t *from, const uint8_t *above,
                                uint8_t *to, size_t n, size_t pixel_bytes)
{
    static UnfilterRow *const of[] = ISA_TABLE(unfilter_row);
    of[cpu_features_level()](filter, from, above, to, n, pixel_bytes);
}

#endif
