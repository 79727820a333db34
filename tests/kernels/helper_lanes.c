/* SPDX-License-Identifier: MIT */
/* helper_lanes.c: which decoder takes which tile. */
#include "helper_lanes.h"

#include "codec/inflate_lanes.h"
#include "codec/lzw_lanes.h"
#include "codec/packbits_lanes.h"

#include "deflate_streams.h"

bool lanes_decode(const TiledPage *page, const CodedTile *tile)
{
    const uint8_t *const in = (const uint8_t *)(uintptr_t)tile->in;
    uint8_t *const out = (uint8_t *)(uintptr_t)tile->out;
    if (page->coding == TILE_DEFLATED) {
        InflateLanes lanes;
        const InflateCall call = inflate_call(in, tile->n_in, 0, out, tile->n_out, tile->window);
        memset(&lanes, POISON, sizeof lanes);
        return inflate_by_lanes(&lanes, &call) == INFLATE_RIGHT;
    }
    if (page->coding == TILE_LZW) {
        LzwLanes lanes;
        const LzwCall call = {in, tile->n_in, out, tile->n_out};
        memset(&lanes, POISON, sizeof lanes);
        return lzw_by_lanes(&lanes, &call) == LZW_RIGHT;
    }
    return packbits_by_lanes(in, tile->n_in, out, tile->n_out, page->row_bytes);
}

bool lanes_agree(const TiledPage *page, const CodedTile *tile, bool right, Lzw *lzw)
{
    const uint8_t *const in = (const uint8_t *)(uintptr_t)tile->in;
    const bool deflated = page->coding == TILE_DEFLATED;
    if (!right && (!deflated || tile->window < 1u << 15))
        return true;
    if (page->coding == TILE_PACKBITS)
        return true;
    uint8_t *const expected = malloc(tile->n_out + !tile->n_out);
    if (!expected)
        abort();
    const bool decodes = deflated ? stream_inflate(in, tile->n_in, expected, tile->n_out)
                                  : lzw_decode(lzw, in, tile->n_in, expected, tile->n_out);
    const bool agrees =
        decodes == right &&
        (!right || memcmp(expected, (const void *)(uintptr_t)tile->out, tile->n_out) == 0);
    free(expected);
    return agrees;
}
