/* SPDX-License-Identifier: MIT */
/* expand_lanes.h: unfiltered rows of PNG to pixels, by 32 lanes: what kernels do, and the same in
 * C. libpng is what the processor does. */
#ifndef IMGSTAT_CODEC_EXPAND_LANES_H
#define IMGSTAT_CODEC_EXPAND_LANES_H

#include "codec/deflated_rows.h"
#include "codec/lanes.h"

/* Returns sample i of a row. */
LANES_INLINE unsigned expand_sample(const uint8_t *row, uint64_t i, unsigned depth)
{
    const uint64_t bit = i * depth;
    if (depth == 16)
        return (unsigned)row[2 * i] << 8 | row[2 * i + 1];
    return (unsigned)row[bit / 8] >> (8 - depth - bit % 8) & ((1u << depth) - 1);
}

/* Makes a pixel of number x of a row. Returns false where its index has no colour. */
LANES_INLINE bool expand_pixel(const DeflatedRows *image, const uint8_t *row, uint64_t x,
                               uint8_t *to)
{
    const uint8_t *const colors = (const uint8_t *)(uintptr_t)image->colors;
    const unsigned depth = image->depth, bytes = depth == 16 ? 2 : 1;
    const unsigned stored = image->channels - (image->keyed ? 1u : 0u);
    unsigned alpha = 0;
    if (image->form == ROWS_COLORS) {
        const unsigned index = expand_sample(row, x, depth);
        for (unsigned k = 0; k < image->channels && index < image->n_colors; k++)
            to[k] = colors[4 * index + k];
        return index < image->n_colors;
    }
    for (unsigned k = 0; k < stored; k++) {
        const unsigned value = expand_sample(row, x * stored + k, depth);
        if (image->keyed && value != image->key[k])
            alpha = (1u << depth) - 1;
        lanes_store(to + k * bytes, bytes, value);
    }
    if (image->keyed)
        lanes_store(to + stored * bytes, bytes, alpha);
    return true;
}

/* Writes row y of a pass to its places in the image. Returns false to a lane that has found an
 * index without a colour. */
LANES_INLINE bool expand_row(const DeflatedRows *image, const DeflatedPass *pass, uint64_t y,
                             const uint8_t *row)
{
    const size_t pixel = image->channels * (image->depth == 16 ? 2u : 1u);
    uint8_t *const to = (uint8_t *)(uintptr_t)image->pixels +
                        (pass->y + y * pass->step_y) * image->pitch + pass->x * pixel;
    bool right = true;
    for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP)
        for (uint64_t x = lane; x < pass->width; x += LANES)
            right = expand_pixel(image, row, x, to + x * pass->step_x * pixel) && right;
    return right;
}

#endif
