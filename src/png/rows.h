/* SPDX-License-Identifier: MIT */
/* rows.h: rows of samples as PNG stores them: packed, filtered, and in pieces that are compressed
 * independently of each other. */
#ifndef IMGSTAT_PNG_ROWS_H
#define IMGSTAT_PNG_ROWS_H

#include "imgstat.h"
#include "png/filter.h"

enum { PNG_PIECE_BYTES = 512 << 10 }; /* of a piece's filtered rows at most, unless it has one */

/* The rows of an image. */
typedef struct PngRows {
    size_t n;
    size_t from_bytes;  /* of a row before packing */
    size_t row_bytes;   /* of a packed row */
    size_t pixel_bytes; /* distance to the pixel on the left, at least 1 */
    PngChoice choice;   /* of filters */
    uint32_t width;
    uint16_t channels;
    int16_t alpha;       /* index of that channel, or -1 */
    uint8_t bits, depth; /* of samples as they come, and of those of the output */
    bool invert;         /* samples are min-is-white, which PNG is not */
    bool widen;          /* samples have fewer bits than PNG can give this colour type */
} PngRows;

/* Returns whether packing does nothing but put the upper byte of 16 bits first. */
static inline bool png_rows_plain(const PngRows *rows)
{
    return rows->depth >= 8 && !rows->widen && !rows->invert;
}

/* Returns whether packing does nothing. */
static inline bool png_rows_packed(const PngRows *rows)
{
    return rows->depth == 8 && png_rows_plain(rows);
}

/* Returns how many rows a piece has; the last one has what remains. */
size_t png_piece_rows(const PngRows *rows);

/* Packs and filters n rows. above: the row above the first one, not packed; NULL where there is
 * none. room: two packed rows. */
void png_filter_piece(const PngFilters *filters, const PngRows *rows, const uint8_t *above,
                      const uint8_t *from, size_t pitch, size_t n, uint8_t *room, uint8_t *to);

#endif
