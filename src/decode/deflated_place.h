/* SPDX-License-Identifier: MIT */
/* deflated_place.h: where the parts of an image that a device decodes lie in its memory. */
#ifndef IMGSTAT_DECODE_DEFLATED_PLACE_H
#define IMGSTAT_DECODE_DEFLATED_PLACE_H

#include "base/padded.h"
#include "codec/deflated_rows.h"

enum { PLACE_ALIGN = 256, DEFLATED_COLOR_BYTES = 4 * DEFLATED_COLORS };

/* Returns a place for `bytes` bytes, and advances *at behind it. */
static inline size_t place(size_t *at, size_t bytes)
{
    const size_t here = *at;
    *at += padded(bytes, PLACE_ALIGN);
    return here;
}

/* Places what an image needs besides its stream and its pixels, and advances *at behind it. */
static inline void deflated_place(DeflatedRows *rows, size_t *at)
{
    const DeflatedPass *const last = &rows->pass[rows->n_passes - 1];
    rows->filtered = place(at, (size_t)rows->n_out + DEFLATED_BEHIND);
    rows->told = place(at, rows->bands * sizeof(uint32_t));
    if (rows->form != ROWS_PLAIN)
        rows->rows = place(at, last->rows + (size_t)last->row_pitch * last->height);
    if (rows->form == ROWS_COLORS)
        rows->colors = place(at, DEFLATED_COLOR_BYTES);
}

/* Makes addresses of these places. */
static inline void deflated_move(DeflatedRows *rows, uint64_t base)
{
    rows->filtered += base;
    rows->rows += base;
    rows->told += base;
    rows->colors += base;
}

#endif
