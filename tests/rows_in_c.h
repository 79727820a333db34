/* SPDX-License-Identifier: MIT */
/* rows_in_c.h: deflated rows of PNG decoded by zlib, plain C, and the arithmetic of the kernels
 * that makes pixels, compiled as C. */
#ifndef IMGSTAT_TESTS_ROWS_IN_C_H
#define IMGSTAT_TESTS_ROWS_IN_C_H

#include "codec/expand_lanes.h"

#include <stdlib.h>
#include <zlib.h>

static inline int rows_paeth(int a, int b, int c)
{
    const int to_a = abs(b - c), to_b = abs(a - c), to_c = abs(a + b - 2 * c);
    return to_a <= to_b && to_a <= to_c ? a : to_b <= to_c ? b : c;
}

/* Undoes the filter of a row in place. above: NULL: nothing is. Returns false if there is no such
 * filter. */
static inline bool rows_unfilter(uint8_t *at, const uint8_t *above, size_t bytes, size_t pixel)
{
    for (size_t i = 0; i < bytes && at[-1] <= 4; i++) {
        const int a = i >= pixel ? at[i - pixel] : 0, b = above ? above[i] : 0;
        const int c = above && i >= pixel ? above[i - pixel] : 0;
        const int predicted[] = {0, a, b, (a + b) / 2, rows_paeth(a, b, c)};
        at[i] = (uint8_t)(at[i] + predicted[at[-1]]);
    }
    return at[-1] <= 4;
}

/* Makes the pixels of a pass. Returns false for a doubt. */
static inline bool rows_decode_pass(const DeflatedRows *image, const DeflatedPass *pass)
{
    const size_t row = 1 + (size_t)pass->row_bytes;
    uint8_t *at = (uint8_t *)(uintptr_t)image->filtered + pass->filtered + 1;
    for (uint32_t y = 0; y < pass->height; y++, at += row)
        if (!rows_unfilter(at, y > 0 ? at - row : NULL, pass->row_bytes, image->pixel_bytes) ||
            !expand_row(image, pass, y, at))
            return false;
    return true;
}

/* Decodes an image to its pixels. Returns false for a doubt. */
static inline bool rows_decode(const DeflatedRows *image)
{
    uint8_t *const filtered = (uint8_t *)(uintptr_t)image->filtered;
    z_stream z = {.next_in = (Bytef *)(uintptr_t)image->in,
                  .avail_in = image->n_in,
                  .next_out = filtered,
                  .avail_out = image->n_out};
    if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
        return false;
    const int ended = inflate(&z, Z_FINISH);
    (void)inflateEnd(&z);
    bool right = ended == Z_STREAM_END && z.avail_in == 0 && z.avail_out == 0 &&
                 adler32(1, filtered, image->n_out) == image->adler;
    for (size_t i = 0; i < image->n_passes && right; i++)
        right = rows_decode_pass(image, &image->pass[i]);
    return right;
}

#endif
