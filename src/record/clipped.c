/* SPDX-License-Identifier: MIT */
/* clipped.c: compares the samples of each pixel with the ends of full scale. */
#include "record/clipped.h"

#include "base/pixel.h"
#include "base/sample.h"

/* What rows have in common; samples as they are stored. */
typedef struct Form {
    uint32_t low, high; /* ends of full scale */
    uint32_t channels;
    int32_t alpha;
    bool has_nodata;
    uint32_t nodata;
} Form;

static Form form_of(const ImagePro *rows, int32_t alpha)
{
    const bool with_sign = sample_is_signed(rows->sample);
    const uint32_t sign = with_sign ? (uint32_t)1 << (sample_bits(rows->sample) - 1) : 0;
    const uint32_t half = with_sign ? (uint32_t)1 << (rows->bits - 1) : 0;
    const uint32_t most = (uint32_t)1 << (with_sign ? rows->bits - 1 : rows->bits);
    return (Form){.low = (sign - half) ^ sign, /* order keys have the sign turned over */
                  .high = (sign + most - 1) ^ sign,
                  .channels = rows->channels,
                  .alpha = alpha,
                  .has_nodata = rows->has_nodata,
                  .nodata = (uint32_t)rows->nodata_key ^ sign};
}

/* Where it is inlined, `bytes` and what is known of the form are constants. */
static inline void add_row(Clipped *clipped, const unsigned char *row, const uint8_t *mask,
                           uint32_t width, Form form, size_t bytes)
{
    uint32_t pixels = 0, low = 0, high = 0;
    for (uint32_t x = 0; x < width; x++) {
        uint32_t not_low = 0, not_high = 0, invalid = mask ? mask[x] == 0 : 0;
        for (uint32_t c = 0; c < form.channels; c++) {
            if ((int32_t)c == form.alpha)
                continue;
            const size_t at = (x * (size_t)form.channels + c) * bytes;
            const uint32_t raw = (uint32_t)load_raw(row + at, bytes);
            not_low |= raw ^ form.low;
            not_high |= raw ^ form.high;
            invalid |= form.has_nodata && raw == form.nodata;
        }
        pixels += !invalid;
        low += !(not_low | invalid);
        high += !(not_high | invalid);
    }
    clipped->pixels += pixels;
    clipped->low += low;
    clipped->high += high;
}

/* A common form is one that the compiler knows. */
static inline void add_rows(Clipped *clipped, const ImagePro *rows, Form form, size_t bytes)
{
    const bool plain = !rows->mask && !form.has_nodata;
    const Form rgb = {.low = form.low, .high = form.high, .channels = 3, .alpha = -1};
    const Form rgba = {.low = form.low, .high = form.high, .channels = 4, .alpha = 3};
    for (uint32_t y = 0; y < rows->height; y++) {
        const unsigned char *const row = image_row(rows, y);
        const uint8_t *const mask = rows->mask ? rows->mask + y * rows->mask_pitch : NULL;
        if (plain && form.channels == 3 && form.alpha < 0)
            add_row(clipped, row, NULL, rows->width, rgb, bytes);
        else if (plain && form.channels == 4 && form.alpha == 3)
            add_row(clipped, row, NULL, rows->width, rgba, bytes);
        else
            add_row(clipped, row, mask, rows->width, form, bytes);
    }
}

void clipped_add(Clipped *clipped, const ImagePro *rows, int32_t alpha)
{
    const Form form = form_of(rows, alpha);
    if (imgstat_sample_bytes(rows->sample) == 1)
        add_rows(clipped, rows, form, 1);
    else
        add_rows(clipped, rows, form, 2);
}
