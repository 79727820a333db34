/* SPDX-License-Identifier: MIT */
/* codec/lzw.cu: decompresses strips and tiles of LZW and PackBits, one a warp.
 * src/codec/lzw_lanes.h and packbits_lanes.h have the algorithms, which C compiles as well. */
#include "codec/lzw_lanes.h"
#include "codec/packbits_lanes.h"

#include "codec/png.cuh"
#include "codec/tiles.cuh"

static_assert(sizeof(LzwLanes) <= 9500, "21 warps an SM at least");

/*
 * lzw_tiles: decompresses LZW streams.
 *
 *   Idea      A stream a warp, 32 codes at a time. Their places in the stream are known, their
 *             lengths follow from each other in 5 steps, their places in the output by a sum. Lanes
 *             then take bytes, each from the output before or by way of other strings of the 32.
 *   Work      by its time some 1,000 instructions for 32 codes, 13 a byte of a photograph, whose
 *             strings have 2 to 3 bytes.
 *   Memory    reads the stream once, writes its output once, reads earlier output, mostly from the
 *             cache; 9.3 KiB of shared memory, nearly all of it places of strings.
 *   Launch    <<<tiles, 32>>>.
 *   Requires  what CodedTile says; any bytes may be in the stream.
 *   Result    the output; or a doubt.
 */
static __global__ void __launch_bounds__(LANES)
    lzw_tiles(const TiledPage *pages, const CodedTile *tiles, DeflatedCheck *checks)
{
    __shared__ LzwLanes lanes;
    const CodedTile &tile = tiles[blockIdx.x];
    if (pages[tile.page].coding != TILE_LZW)
        return;
    const LzwCall call = {(const uint8_t *)tile.in, tile.n_in, (uint8_t *)tile.out, tile.n_out};
    const LzwVerdict found = lzw_by_lanes(&lanes, &call);
    if (lanes_leader() && found != LZW_RIGHT)
        atomicOr(&checks[tile.page].doubt, (unsigned)DOUBT_STREAM);
}

/*
 * packbits_tiles: decompresses PackBits.
 *
 *   Idea      A tile a warp, one run after another, a byte a lane.
 *   Work      about 30 instructions a run of at most 128 bytes, and the time of one load.
 *   Memory    reads the tile once, writes its output once.
 *   Launch    <<<tiles, 32>>>.
 *   Requires  what CodedTile says; any bytes may be in the tile.
 *   Result    the output; or a doubt.
 */
static __global__ void __launch_bounds__(LANES)
    packbits_tiles(const TiledPage *pages, const CodedTile *tiles, DeflatedCheck *checks)
{
    const CodedTile &tile = tiles[blockIdx.x];
    const TiledPage &page = pages[tile.page];
    if (page.coding == TILE_PACKBITS &&
        !packbits_by_lanes((const uint8_t *)tile.in, tile.n_in, (uint8_t *)tile.out, tile.n_out,
                           page.row_bytes) &&
        lanes_leader())
        atomicOr(&checks[tile.page].doubt, (unsigned)DOUBT_STREAM);
}

cudaError_t launch_lzw_tiles(const DecodeWork *there, DeflatedCheck *checks, cudaStream_t stream)
{
    if (there->n_tiles == 0)
        return load_kernel((const void *)lzw_tiles);
    lzw_tiles<<<(unsigned)there->n_tiles, LANES, 0, stream>>>(there->pages, there->tiles, checks);
    return cudaGetLastError();
}

cudaError_t launch_packbits_tiles(const DecodeWork *there, DeflatedCheck *checks,
                                  cudaStream_t stream)
{
    if (there->n_tiles == 0)
        return load_kernel((const void *)packbits_tiles);
    packbits_tiles<<<(unsigned)there->n_tiles, LANES, 0, stream>>>(there->pages, there->tiles,
                                                                   checks);
    return cudaGetLastError();
}
