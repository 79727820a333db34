/* SPDX-License-Identifier: MIT */
/* codec/inflate.cu: decompresses deflate streams, one a warp. src/codec/inflate_lanes.h has the
 * algorithm, which C compiles as well. */
#include "codec/inflate_lanes.h"

#include "codec/inflate_streams.h"
#include "codec/png.cuh"
#include "codec/tiles.cuh"

#include <limits.h>

static_assert(sizeof(InflateLanes) <= 16 << 10, "14 warps an SM at least");

/*
 * inflate_streams: decompresses deflate streams.
 *
 *   Idea      A stream a warp. Each lane decodes 160 bits of the next 5,120 as if a symbol began at
 *             their start; lanes that did not begin where their neighbour ended decode again from
 *             there. All bytes are then written at once, matches after them.
 *   Work      about 3.5 rounds of 20 symbols a lane, 400 cycles each: 20 cycles a byte of a
 *             photograph. A match whose source is near waits for the bytes before: 540 cycles.
 *   Memory    reads the stream once, writes its output once, reads the sources of matches; 15 KiB
 *             of shared memory.
 *   Launch    <<<n, 32>>>.
 *   Requires  what DeflatedStream says; any bytes may be in the stream.
 *   Result    the output and the verdict of zlib on the stream.
 */
static __global__ void __launch_bounds__(LANES)
    inflate_streams(const DeflatedStream *streams, uint32_t *verdict)
{
    __shared__ InflateLanes lanes;
    const DeflatedStream s = streams[blockIdx.x];
    const InflateCall call = inflate_call(s.in, s.n_in, 0, s.out, s.n_out, s.window);
    const InflateVerdict found = inflate_by_lanes(&lanes, &call);
    if (lanes_leader())
        verdict[blockIdx.x] = found;
}

/*
 * inflate_rows: inflate_streams of images; the verdict is in their check.
 */
static __global__ void __launch_bounds__(LANES)
    inflate_rows(const DeflatedRows *images, DeflatedCheck *checks)
{
    __shared__ InflateLanes lanes;
    const DeflatedRows &image = images[blockIdx.x];
    if (image.parted)
        return;
    const InflateCall call = inflate_call((const uint8_t *)image.in, image.n_in, 0,
                                          (uint8_t *)image.filtered, image.n_out, image.window);
    const InflateVerdict found = inflate_by_lanes(&lanes, &call);
    if (lanes_leader() && found != INFLATE_RIGHT)
        checks[blockIdx.x].doubt = DOUBT_STREAM;
}

/*
 * inflate_tiles: inflate_streams of deflated tiles, which begin anywhere; a doubt is in the check
 * of their page.
 */
static __global__ void __launch_bounds__(LANES)
    inflate_tiles(const TiledPage *pages, const CodedTile *tiles, DeflatedCheck *checks)
{
    __shared__ InflateLanes lanes;
    const CodedTile &tile = tiles[blockIdx.x];
    if (pages[tile.page].coding != TILE_DEFLATED || tile.parted)
        return;
    const uint32_t before = (uint32_t)(tile.in % 4);
    const InflateCall call = inflate_call((const uint8_t *)(tile.in - before), tile.n_in + before,
                                          before, (uint8_t *)tile.out, tile.n_out, tile.window);
    const InflateVerdict found = inflate_by_lanes(&lanes, &call);
    if (lanes_leader() && found != INFLATE_RIGHT)
        atomicOr(&checks[tile.page].doubt, (unsigned)DOUBT_STREAM);
}

cudaError_t cuda_inflate(const DeflatedStream *streams, size_t n, uint32_t *verdict,
                         cudaStream_t stream)
{
    if (n == 0)
        return cudaSuccess;
    if (n > INT_MAX)
        return cudaErrorInvalidValue;
    inflate_streams<<<(unsigned)n, LANES, 0, stream>>>(streams, verdict);
    return cudaGetLastError();
}

cudaError_t launch_inflate_rows(const DeflatedRows *images, size_t n, DeflatedCheck *checks,
                                cudaStream_t stream)
{
    if (n == 0)
        return load_kernel((const void *)inflate_rows);
    inflate_rows<<<(unsigned)n, LANES, 0, stream>>>(images, checks);
    return cudaGetLastError();
}

cudaError_t launch_inflate_tiles(const DecodeWork *there, DeflatedCheck *checks,
                                 cudaStream_t stream)
{
    if (there->n_tiles == 0)
        return load_kernel((const void *)inflate_tiles);
    inflate_tiles<<<(unsigned)there->n_tiles, LANES, 0, stream>>>(there->pages, there->tiles,
                                                                  checks);
    return cudaGetLastError();
}
