/* SPDX-License-Identifier: MIT */
/* rows.c: packs rows of samples as PNG stores them, and filters them. */
#include "png/rows.h"

#include "base/byteswap.h"

#include <string.h>

size_t png_piece_rows(const PngRows *rows)
{
    const size_t fit = PNG_PIECE_BYTES / (rows->row_bytes + 1);
    return fit == 0 ? 1 : fit < rows->n ? fit : rows->n;
}

/* Returns a sample of `bits` bits in `depth` bits, by repeating its bits: 0 and full scale stay. */
static unsigned widened(unsigned v, unsigned bits, unsigned depth)
{
    unsigned out = 0;
    for (int shift = (int)depth - (int)bits; shift > -(int)bits; shift -= (int)bits)
        out |= shift >= 0 ? v << shift : v >> -shift;
    return out;
}

static bool is_alpha(const PngRows *rows, size_t i)
{
    return rows->alpha >= 0 && i % rows->channels == (size_t)rows->alpha;
}

static void pack_bytes(const PngRows *rows, const uint8_t *from, uint8_t *to, size_t n)
{
    const unsigned full = (1u << rows->bits) - 1;
    for (size_t i = 0; i < n; i++) {
        unsigned v = from[i] < full ? from[i] : full;
        v = rows->invert && !is_alpha(rows, i) ? full - v : v;
        to[i] = (uint8_t)(rows->widen ? widened(v, rows->bits, 8) : v);
    }
}

static void pack_words(const PngRows *rows, const uint8_t *from, uint8_t *to, size_t n)
{
    const unsigned full = (1u << rows->bits) - 1;
    for (size_t i = 0; i < n; i++) {
        uint16_t word;
        memcpy(&word, from + 2 * i, 2);
        unsigned v = word < full ? word : full;
        v = rows->invert && !is_alpha(rows, i) ? full - v : v;
        v = rows->widen ? widened(v, rows->bits, 16) : v;
        to[2 * i] = (uint8_t)(v >> 8);
        to[2 * i + 1] = (uint8_t)v;
    }
}

/* Packs gray or indices of 1, 2 or 4 bits. */
static void pack_bits(const PngRows *rows, const uint8_t *from, uint8_t *to, size_t n)
{
    const unsigned bits = rows->depth, per_byte = 8 / bits, full = (1u << bits) - 1;
    memset(to, 0, (n + per_byte - 1) / per_byte);
    for (size_t i = 0; i < n; i++) {
        unsigned v = from[i] < full ? from[i] : full;
        v = rows->invert ? full - v : v;
        to[i / per_byte] =
            (uint8_t)(to[i / per_byte] | v << (8 - bits - bits * (unsigned)(i % per_byte)));
    }
}

/* Returns a row of samples as PNG stores it: itself, or in `room`. */
static const uint8_t *packed_row(const PngRows *rows, const uint8_t *from, uint8_t *room)
{
    const size_t n = (size_t)rows->width * rows->channels;
    if (png_rows_packed(rows))
        return from;
    if (png_rows_plain(rows))
        swap_words(from, room, 2 * n, 2); /* from little-endian */
    else if (rows->depth == 16)
        pack_words(rows, from, room, n);
    else if (rows->depth == 8)
        pack_bytes(rows, from, room, n);
    else
        pack_bits(rows, from, room, n);
    return room;
}

void png_filter_piece(const PngFilters *filters, const PngRows *rows, const uint8_t *above,
                      const uint8_t *from, size_t pitch, size_t n, uint8_t *room, uint8_t *to)
{
    uint8_t *const rooms[2] = {room, room + rows->row_bytes};
    const uint8_t *before = rooms[1];
    if (above)
        before = packed_row(rows, above, rooms[1]);
    else
        memset(rooms[1], 0, rows->row_bytes);
    for (size_t y = 0; y < n; y++) {
        const uint8_t *const row = packed_row(rows, from + y * pitch, rooms[y % 2]);
        png_filter_row(filters, row, before, rows->row_bytes, (unsigned)rows->pixel_bytes,
                       rows->choice, to + y * (rows->row_bytes + 1));
        before = row;
    }
}
