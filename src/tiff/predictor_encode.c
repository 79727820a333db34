/* SPDX-License-Identifier: MIT */
/* predictor_encode.c: TIFF's predictors, from samples to differences (TIFF 6.0 section 14; Adobe
 * Photoshop TIFF Technical Note 3). */
#include "tiff/encoder.h"

#include <string.h>

static void subtract_8(const uint8_t *restrict from, size_t step, size_t n, uint8_t *restrict to)
{
    for (size_t i = step; i < n; i++)
        to[i] = (uint8_t)(from[i] - from[i - step]);
}

static void subtract_16(const uint16_t *restrict from, size_t step, size_t n, uint16_t *restrict to)
{
    for (size_t i = step; i < n; i++)
        to[i] = (uint16_t)(from[i] - from[i - step]);
}

static void subtract_32(const uint32_t *restrict from, size_t step, size_t n, uint32_t *restrict to)
{
    for (size_t i = step; i < n; i++)
        to[i] = from[i] - from[i - step];
}

static void subtract_64(const uint64_t *restrict from, size_t step, size_t n, uint64_t *restrict to)
{
    for (size_t i = step; i < n; i++)
        to[i] = from[i] - from[i - step];
}

/* Differences of whole samples to those of the pixel on the left. */
static void predict_horizontally(const TiffShape *shape, const uint8_t *from, uint8_t *row)
{
    const size_t step = shape->per_chunk, n = shape->row_bytes / (shape->bits / 8u);
    const void *const source = from;
    void *const target = row;
    switch (shape->bits) {
    case 8:
        subtract_8(source, step, n, target);
        return;
    case 16:
        subtract_16(source, step, n, target);
        return;
    case 32:
        subtract_32(source, step, n, target);
        return;
    default:
        subtract_64(source, step, n, target);
    }
}

/* The highest bytes of all samples, then the next; then differences of bytes. */
static void predict_floats(const TiffShape *shape, uint8_t *from, uint8_t *row)
{
    const size_t bytes = shape->bits / 8u, n = shape->row_bytes / bytes;
    for (size_t k = 0; k < bytes; k++) {
        const size_t at = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? k : bytes - 1 - k;
        for (size_t i = 0; i < n; i++)
            row[k * n + i] = from[i * bytes + at];
    }
    memcpy(from, row, shape->row_bytes);
    subtract_8(from, shape->per_chunk, shape->row_bytes, row);
}

bool tiff_can_predict(const TiffShape *shape)
{
    const bool whole =
        shape->bits == 8 || shape->bits == 16 || shape->bits == 32 || shape->bits == 64;
    return shape->predictor == PREDICTOR_NONE ||
           (whole && shape->predictor == PREDICTOR_HORIZONTAL) ||
           (whole && shape->bits > 8 && shape->predictor == PREDICTOR_FLOATINGPOINT);
}

void tiff_predict_row(const TiffShape *shape, uint8_t *row, uint8_t *scratch)
{
    if (shape->predictor == PREDICTOR_NONE)
        return;
    memcpy(scratch, row, shape->row_bytes);
    if (shape->predictor == PREDICTOR_HORIZONTAL)
        predict_horizontally(shape, scratch, row);
    else
        predict_floats(shape, scratch, row);
}
