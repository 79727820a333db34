/* SPDX-License-Identifier: MIT */
/* codec/lzw.cu: decompresses strips and tiles of LZW, one a block, and PackBits, one a warp.
 * src/codec/lzw_lanes.h and packbits_lanes.h have the algorithms, which C compiles as well. */
#include "codec/lzw_lanes.h"
#include "codec/packbits_lanes.h"

#include "codec/png.cuh"
#include "codec/tiles.cuh"

enum { BLOCKS = 3 }; /* a multiprocessor */
static_assert(sizeof(LzwLanes) <= 24 << 10, "BLOCKS have room in 99 KiB");

/*
 * lzw_tiles: decompresses LZW streams.
 *
 *   Idea      A stream a block, 1,024 codes at a time. Their places in the stream are known. A code
 *             is a chain of codes that ends with a byte: threads follow chains for lengths, whose
 *             sums are places, and again for bytes.
 *   Work      a step a byte, and for lengths one a link within the round; a step waits for shared
 *             memory. All threads meet four times a round, and wait for the longest string.
 *             250 GB/s of output for photographs, 0.7 GB/s a tile alone.
 *   Memory    reads the stream once and writes its output once, short strings by the byte; 23 KiB
 *             of shared memory for chains and places.
 *   Launch    <<<tiles, LZW_THREADS>>>.
 *   Requires  what CodedTile says; any bytes may be in the stream.
 *   Result    the output; or a doubt.
 */
static __global__ void __launch_bounds__(LZW_THREADS, BLOCKS)
    lzw_tiles(const TiledPage *pages, const CodedTile *tiles, DeflatedCheck *checks)
{
    __shared__ LzwLanes lanes;
    const CodedTile &tile = tiles[blockIdx.x];
    if (pages[tile.page].coding != TILE_LZW)
        return;
    const LzwCall call = {(const uint8_t *)tile.in, tile.n_in, (uint8_t *)tile.out, tile.n_out};
    const LzwVerdict found = lzw_by_lanes(&lanes, &call);
    if (threadIdx.x == 0 && found != LZW_RIGHT)
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
    lzw_tiles<<<(unsigned)there->n_tiles, LZW_THREADS, 0, stream>>>(there->pages, there->tiles,
                                                                    checks);
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
