/* SPDX-License-Identifier: MIT */
/* preview.c: the mean of the valid ones of 3 by 3 samples, evenly spaced over a cell. */
#include "record/preview.h"

#include "base/pixel.h"
#include "base/sample.h"

#include <stdlib.h>

enum { POINTS = 3 }; /* of a cell, in a row and in a column */

static uint32_t reduced(uint32_t length, uint32_t largest, uint32_t side)
{
    const uint64_t part = ((uint64_t)length * side + largest / 2) / largest;
    return largest <= side ? length : part > 0 ? (uint32_t)part : 1;
}

/* Point k of n cells that share `length` rows or columns evenly. */
static uint32_t point_of(uint32_t k, uint32_t n, uint32_t length)
{
    return (uint32_t)((2 * (uint64_t)k + 1) * length / (2 * POINTS * (uint64_t)n));
}

ImgstatResult preview_create(const ImagePro *like, uint32_t width, uint32_t height, uint32_t side,
                             Preview **out, ImgstatError *err)
{
    const uint32_t largest = width > height ? width : height;
    Preview *const made = calloc(1, sizeof *made);
    *out = made;
    if (!made)
        return error_memory(err, sizeof *made, "a preview");
    *made = (Preview){.channels = like->channels, .from_height = height};
    if (largest == 0)
        return IMGSTAT_OK;
    made->width = reduced(width, largest, side);
    made->height = reduced(height, largest, side);
    size_t n;
    if (size_product((size_t)made->width * made->height, made->channels, &n)) {
        made->samples = calloc(n, sizeof *made->samples);
        made->count = calloc(n, sizeof *made->count);
        made->column = calloc((size_t)made->width * POINTS, sizeof *made->column);
    }
    if (made->samples && made->count && made->column) {
        for (uint32_t k = 0; k < made->width * POINTS; k++)
            made->column[k] = point_of(k, made->width, width);
        return IMGSTAT_OK;
    }
    preview_destroy(made);
    *out = NULL;
    return error_memory(err, sizeof *made, "a preview");
}

void preview_destroy(Preview *preview)
{
    if (!preview)
        return;
    free(preview->samples);
    free(preview->count);
    free(preview->column);
    free(preview);
}

/* Adds the points of a row to the cells that it lies in. */
static void add_row(Preview *preview, const ImagePro *rows, uint32_t y, uint32_t cell)
{
    const size_t size = imgstat_sample_bytes(rows->sample), channels = preview->channels;
    const uint64_t least = sample_key_infinity(rows->sample, true);
    const uint64_t most = sample_key_infinity(rows->sample, false);
    const bool floats = sample_is_float(rows->sample);
    const bool plain = rows->sample == IMGSTAT_U8 || rows->sample == IMGSTAT_U16;
    const unsigned char *const row = image_row(rows, y);
    for (uint32_t k = 0; k < preview->width * POINTS; k++) {
        const size_t x = preview->column[k];
        if (rows->mask && rows->mask[y * rows->mask_pitch + x] == 0)
            continue;
        const size_t at = ((size_t)cell * preview->width + k / POINTS) * channels;
        for (size_t c = 0; c < channels; c++) {
            const uint64_t raw = load_raw(row + (x * channels + c) * size, size);
            const uint64_t key = sample_key(rows->sample, raw);
            if ((floats && (key <= least || key >= most)) ||
                (rows->has_nodata && key == rows->nodata_key))
                continue;
            preview->samples[at + c] +=
                plain ? (float)key : (float)sample_double(rows->sample, key);
            preview->count[at + c]++;
        }
    }
}

void preview_add(Preview *preview, const ImagePro *rows)
{
    const uint64_t end = (uint64_t)rows->first_row + rows->height;
    while (preview->next < preview->height * POINTS) {
        const uint32_t y = point_of(preview->next, preview->height, preview->from_height);
        if (y >= end)
            return;
        add_row(preview, rows, y - rows->first_row, preview->next++ / POINTS);
    }
}

void preview_finish(Preview *preview)
{
    const size_t n = (size_t)preview->width * preview->height * preview->channels;
    for (size_t i = 0; i < n; i++)
        preview->samples[i] =
            preview->count[i] > 0 ? preview->samples[i] / (float)preview->count[i] : (float)NAN;
}
