/* SPDX-License-Identifier: MIT */
/* predictor.c: samples from differences, and differences from samples. */
#include "tiff/predictor.h"

#include "base/byteswap.h"
#include "codec/running_sum.h"
#include "tiff/decoder.h"

#include <stdlib.h>
#include <string.h>

/* ---- Decoding ---- */

/* Words whose bytes lie in four planes, highest first. Rows start anywhere. */
static void join_planes4(const uint8_t *restrict planes, size_t words, uint8_t *restrict to)
{
    const uint8_t *const p0 = planes, *const p1 = p0 + words, *const p2 = p1 + words,
                         *const p3 = p2 + words;
    for (size_t i = 0; i < words; i++) {
        const uint32_t word =
            (uint32_t)p0[i] << 24 | (uint32_t)p1[i] << 16 | (uint32_t)p2[i] << 8 | p3[i];
        memcpy(to + 4 * i, &word, sizeof word);
    }
}

void tiff_predictor_join_floats(uint8_t *row, size_t n, size_t bytes, size_t step, uint8_t *scratch)
{
    const size_t words = n / bytes;
    running_sum(row, n, 1, step);
    memcpy(scratch, row, n);
    if (bytes == 4) {
        join_planes4(scratch, words, row);
        return;
    }
    for (size_t b = 0; b < bytes; b++) {
        const bool big_endian = host_big_endian;
        const uint8_t *const plane = scratch + (big_endian ? b : bytes - 1 - b) * words;
        for (size_t i = 0; i < words; i++)
            row[i * bytes + b] = plane[i];
    }
}

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

bool tiff_predictor_decode(const TiffLayout *layout, uint8_t *to, size_t bytes, uint8_t **scratch)
{
    const size_t row_bytes = layout->row_bytes, step = layout->per_tile;
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
            tiff_predictor_join_floats(row, row_bytes, layout->bits / 8u, step, *scratch);
        else
            running_sum(row, row_bytes, layout->bits / 8u, step);
    }
    return true;
}

/* ---- Encoding ---- */

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
    const size_t step = shape->per_tile, n = shape->row_bytes / (shape->bits / 8u);
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
        const size_t at = host_big_endian ? k : bytes - 1 - k;
        for (size_t i = 0; i < n; i++)
            row[k * n + i] = from[i * bytes + at];
    }
    memcpy(from, row, shape->row_bytes);
    subtract_8(from, shape->per_tile, shape->row_bytes, row);
}

bool tiff_predictor_writable(const TiffShape *shape)
{
    const bool whole =
        shape->bits == 8 || shape->bits == 16 || shape->bits == 32 || shape->bits == 64;
    return shape->predictor == PREDICTOR_NONE ||
           (whole && shape->predictor == PREDICTOR_HORIZONTAL) ||
           (whole && shape->bits > 8 && shape->predictor == PREDICTOR_FLOATINGPOINT);
}

void tiff_predictor_encode(const TiffShape *shape, uint8_t *row, uint8_t *scratch)
{
    if (shape->predictor == PREDICTOR_NONE)
        return;
    memcpy(scratch, row, shape->row_bytes);
    if (shape->predictor == PREDICTOR_HORIZONTAL)
        predict_horizontally(shape, scratch, row);
    else
        predict_floats(shape, scratch, row);
}
