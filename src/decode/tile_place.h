/* SPDX-License-Identifier: MIT */
/* tile_place.h: where the tiles of a page that a device decodes lie in its file and in the device's
 * memory. */
#ifndef IMGSTAT_DECODE_TILE_PLACE_H
#define IMGSTAT_DECODE_TILE_PLACE_H

#include "base/padded.h"
#include "codec/bands.h"
#include "codec/tile_lanes.h"

/* A part of a file. */
typedef struct FileSpan {
    uint64_t first, bytes;
} FileSpan;

/* Leaves those of the page's tiles out that hold none of these rows, as a device need not decode
 * them. Returns the rows that the others hold, which may be more: bands end within strips where
 * decoding may begin anywhere. */
static inline RowRange tiles_keep_rows(TiledPage *page, CodedTile *tiles, RowRange rows)
{
    const uint32_t all = page->n_tiles, first = rows.first - rows.first % page->tile_height;
    uint32_t end = first;
    page->n_tiles = 0;
    for (uint32_t t = 0; t < all; t++) {
        const TilePlace at = tile_place(page, tiles[t].number);
        if (at.y < rows.first + rows.n && at.y + at.rows > rows.first) {
            tiles[page->n_tiles++] = tiles[t];
            end = at.y + at.rows > end ? at.y + at.rows : end;
        }
    }
    return (RowRange){first, end - first};
}

/* Finds the part of a file that holds these tiles. Returns false if other bytes are most of it. */
static inline bool tiles_span(const CodedTile *tiles, size_t n, FileSpan *out)
{
    enum { GAP_BYTES = 1 << 16 }; /* for any size of tiles */
    uint64_t first = UINT64_MAX, end = 0, sum = 0;
    for (size_t t = 0; t < n; t++) {
        const CodedTile *const tile = &tiles[t];
        first = tile->in < first ? tile->in : first;
        end = tile->in + tile->n_in > end ? tile->in + tile->n_in : end;
        sum += tile->n_in;
    }
    *out = (FileSpan){first, end - first};
    return end - first <= 2 * sum + GAP_BYTES;
}

/* Returns the bytes that these tiles take once they are decompressed. */
static inline size_t tiles_room(const TiledPage *page, const CodedTile *tiles, size_t n)
{
    size_t bytes = 0;
    for (size_t t = 0; t < n && page->coding != TILE_PLAIN; t++)
        bytes += padded(tiles[t].n_out, TILE_ALIGN);
    return bytes;
}

/* Makes the places of tiles addresses. in: where the span lies. out: where that room is. number: of
 * the page, among all that are decoded. */
static inline void tiles_move(const TiledPage *page, CodedTile *tiles, size_t n,
                              const FileSpan *span, uint64_t in, uint64_t out, uint32_t number)
{
    for (size_t t = 0; t < n; t++) {
        tiles[t].page = number;
        tiles[t].in += in - span->first;
        tiles[t].out = page->coding == TILE_PLAIN ? tiles[t].in : out;
        out += padded(tiles[t].n_out, TILE_ALIGN);
    }
}

#endif
