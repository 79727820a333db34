/* SPDX-License-Identifier: MIT */
/* predictor.c: from what deflate or LZW give to samples of this machine. */
#include "png/unfilter.h"
#include "tiff/decoder.h"

#include <stdlib.h>

bool tiff_predictor_known(const TiffLayout *layout)
{
    const unsigned bits = layout->bits;
    const bool whole = bits == 8 || bits == 16 || bits == 32 || bits == 64;
    if (layout->reversed)
        return false;
    switch (layout->predictor) {
    case PREDICTOR_NONE:
        return whole || !layout->swapped;
    case PREDICTOR_HORIZONTAL:
        return whole;
    case PREDICTOR_FLOATINGPOINT:
        return whole && bits > 8 && layout->format == SAMPLEFORMAT_IEEEFP;
    default:
        return false;
    }
}

bool tiff_predictor_undo(const TiffLayout *layout, uint8_t *to, size_t bytes, uint8_t **scratch)
{
    const size_t row_bytes = layout->row_bytes, step = layout->per_chunk;
    const bool floats = layout->predictor == PREDICTOR_FLOATINGPOINT;
    if (floats && !*scratch && !(*scratch = malloc(row_bytes)))
        return false;
    for (size_t at = 0; at < bytes; at += row_bytes) { /* a row stays in the cache */
        uint8_t *const row = to + at;
        if (!floats)
            tiff_swap(layout, row, row_bytes);
        if (layout->predictor == PREDICTOR_NONE)
            continue;
        if (floats)
            undo_float(row, row_bytes, layout->bits / 8u, step, *scratch);
        else if (layout->bits == 8)
            undo_sub8(row, row_bytes, step);
        else if (layout->bits == 16)
            undo_sub16(row, row_bytes, step);
        else if (layout->bits == 32)
            undo_sub32(row, row_bytes, step);
        else
            undo_sub64(row, row_bytes, step);
    }
    return true;
}
