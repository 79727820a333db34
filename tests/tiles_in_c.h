/* SPDX-License-Identifier: MIT */
/* tiles_in_c.h: strips and tiles of TIFF decoded by the arithmetic of the kernels, compiled as C,
 * from memory of their size to memory of their size: AddressSanitizer sees what is outside. */
#ifndef IMGSTAT_TESTS_TILES_IN_C_H
#define IMGSTAT_TESTS_TILES_IN_C_H

#include "codec/inflate_lanes.h"
#include "codec/lzw_lanes.h"
#include "codec/packbits_lanes.h"
#include "codec/tile_lanes.h"

#include <stdlib.h>
#include <zlib.h>

static inline uint8_t *tile_memory(size_t bytes)
{
    uint8_t *const memory = malloc(bytes + !bytes);
    if (!memory)
        abort();
    return memory;
}

/* Decompresses a tile. Returns false for a doubt. */
static inline bool tile_decompress(const TiledPage *page, const CodedTile *tile, uint8_t *out)
{
    const uint32_t before = tile->in % 4, n = tile->n_in + before;
    uint8_t *const in = tile_memory(n);
    bool right = true;
    memcpy(in, (const uint8_t *)(uintptr_t)tile->in - before, n);
    if (page->coding == TILE_DEFLATED) {
        InflateLanes lanes;
        const InflateCall call = inflate_call(in, n, before, out, tile->n_out, tile->window);
        right = inflate_by_lanes(&lanes, &call) == INFLATE_RIGHT &&
                adler32(adler32(0, NULL, 0), out, tile->n_out) == tile->adler;
    } else if (page->coding == TILE_LZW) {
        LzwLanes lanes;
        const LzwCall call = {in + before, tile->n_in, out, tile->n_out};
        right = lzw_by_lanes(&lanes, &call) == LZW_RIGHT;
    } else if (page->coding == TILE_PACKBITS) {
        right = packbits_by_lanes(in + before, tile->n_in, out, tile->n_out, page->row_bytes);
    }
    free(in);
    return right;
}

/* Brings compressed bytes to a device whose memory is that of the host. */
static inline void tiles_upload(const DecodeWork *work)
{
    size_t tiles = 0;
    for (const DecodeUpload *up = work->uploads; up < work->uploads + work->n_uploads; up++) {
        memcpy((void *)(uintptr_t)up->to, up->from, up->bytes);
        if (up->tiles <= tiles || up->tiles > work->n_tiles)
            abort();
        tiles = up->tiles;
    }
}

/* Decodes a tile to its place in the image. Returns false for a doubt. */
static inline bool tile_decode(const TiledPage *page, const CodedTile *tile)
{
    TileLanes lanes;
    uint8_t *const out = tile_memory(tile->n_out);
    const TilePlace place = tile_place(page, tile->number);
    bool right = true;
    if (page->coding == TILE_PLAIN)
        memcpy(out, (const uint8_t *)(uintptr_t)tile->in, tile->n_out);
    else
        right = tile_decompress(page, tile, out);
    for (uint32_t y = 0; y < place.rows && right; y++) {
        uint8_t *const row = out + (size_t)y * page->row_bytes;
        if (page->prediction == TILE_FLOATS)
            tile_unpredict_floats(&lanes, page, row);
        tile_store_row(&lanes, page, &place, y, row, (uint8_t *)(uintptr_t)page->pixels);
    }
    if (page->coding != TILE_PLAIN) /* there is room */
        memcpy((uint8_t *)(uintptr_t)tile->out, out, tile->n_out);
    free(out);
    return right;
}

#endif
