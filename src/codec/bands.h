/* SPDX-License-Identifier: MIT */
/* bands.h: the bands of rows in which a page is decoded, and those that a part of it needs. */
#ifndef IMGSTAT_CODEC_BANDS_H
#define IMGSTAT_CODEC_BANDS_H

#include "codec/codec.h"

typedef struct RowRange {
    uint32_t first, n;
} RowRange;

/* Returns the rows of a band of the page selected. row_bytes: of the rows that are read. */
uint32_t bands_rows(const Decoder *decoder, size_t row_bytes);

/* Returns the rows that are decoded for a region, which lies within the page: in whole bands of
 * `rows` rows, and from the first row on where decoding cannot begin at another. */
RowRange bands_of_region(const Decoder *decoder, const ImgstatRegion *region, uint32_t rows);

#endif
