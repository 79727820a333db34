/* SPDX-License-Identifier: MIT */
/* codec/tiles.cu: decompressed strips and tiles to pixels, and pixels to those that are compressed.
 * src/codec/tile_lanes.h has the arithmetic, which C compiles as well. */
#include "codec/tile_lanes.h"

#include "codec/png.cuh"
#include "codec/tiles.cuh"
#include "common/tuning.cuh"

enum { THREADS = CODED_THREADS, WARPS = THREADS / LANES };

/*
 * unpredict_tiles: undoes the prediction of floats in place.
 *
 *   Idea      A row a warp, channel by channel. A lane adds four neighbours; a scan adds the lanes.
 *   Work      about 20 instructions a byte.
 *   Memory    reads and writes the tiles once. Lanes read what is `channels` bytes apart, from
 *             lines that the first channel has brought to the cache.
 *   Launch    <<<dim3(tiles, ceil(most_rows / CODED_ROWS)), CODED_THREADS>>>.
 *   Requires  decompressed tiles.
 *   Result    floats whose bytes lie in planes.
 */
static __global__ void __launch_bounds__(THREADS)
    unpredict_tiles(const TiledPage *pages, const CodedTile *tiles, const DeflatedCheck *checks)
{
    __shared__ TileLanes lanes[WARPS];
    const CodedTile &tile = tiles[blockIdx.x];
    const TiledPage &page = pages[tile.page];
    if (page.prediction != TILE_FLOATS || checks[tile.page].doubt)
        return;
    const unsigned warp = threadIdx.x / LANES;
    const uint32_t rows = tile_place(&page, tile.number).rows;
    for (uint64_t y = blockIdx.y * WARPS + warp; y < rows; y += (uint64_t)gridDim.y * WARPS)
        tile_unpredict_floats(&lanes[warp], &page, (uint8_t *)tile.out + y * page.row_bytes);
}

/*
 * store_tiles: writes the rows of tiles to the pixels of images.
 *
 *   Idea      A row a warp, a word or sample a lane. Of differences a lane adds 12 or 16 bytes of
 *             neighbouring pixels; scans of all channels add the lanes.
 *   Work      about 12 instructions a sample of differences, else 2 a word.
 *   Memory    reads the tiles once, differences once more from the cache, and writes the pixels
 *             once; of a plane, every `channels`th sample.
 *   Launch    <<<dim3(tiles, ceil(most_rows / CODED_ROWS)), CODED_THREADS>>>.
 *   Requires  decompressed tiles; of floats, those whose prediction is undone.
 *   Result    the pixels of tiles within the image.
 */
static __global__ void __launch_bounds__(THREADS)
    store_tiles(const TiledPage *pages, const CodedTile *tiles, const DeflatedCheck *checks)
{
    __shared__ TileLanes lanes[WARPS];
    const CodedTile &tile = tiles[blockIdx.x];
    const TiledPage &page = pages[tile.page];
    if (checks[tile.page].doubt)
        return;
    const unsigned warp = threadIdx.x / LANES;
    const TilePlace place = tile_place(&page, tile.number);
    for (uint64_t y = blockIdx.y * WARPS + warp; y < place.rows; y += (uint64_t)gridDim.y * WARPS)
        tile_store_row(&lanes[warp], &page, &place, (uint32_t)y,
                       (const uint8_t *)tile.out + y * page.row_bytes, (uint8_t *)page.pixels);
}

static dim3 grid_of(const DecodeWork *there, uint32_t most_rows)
{
    const uint32_t blocks = (most_rows + CODED_ROWS - 1) / CODED_ROWS;
    return dim3((unsigned)there->n_tiles, blocks < GRID_Y_MOST ? blocks : GRID_Y_MOST);
}

cudaError_t launch_unpredict_tiles(const DecodeWork *there, uint32_t most_rows,
                                   DeflatedCheck *checks, cudaStream_t stream)
{
    if (there->n_tiles == 0)
        return load_kernel((const void *)unpredict_tiles);
    unpredict_tiles<<<grid_of(there, most_rows), THREADS, 0, stream>>>(there->pages, there->tiles,
                                                                       checks);
    return cudaGetLastError();
}

cudaError_t launch_store_tiles(const DecodeWork *there, uint32_t most_rows, DeflatedCheck *checks,
                               cudaStream_t stream)
{
    if (there->n_tiles == 0)
        return load_kernel((const void *)store_tiles);
    store_tiles<<<grid_of(there, most_rows), THREADS, 0, stream>>>(there->pages, there->tiles,
                                                                   checks);
    return cudaGetLastError();
}

/*
 * predict_tiles: makes strips and tiles of images.
 *
 *   Idea      A row a warp, a sample a lane; of floats, a plane of their bytes after the other. The
 *             pixel before comes from the cache.
 *   Work      about 20 instructions a sample, of TILE_FLOATS a byte.
 *   Memory    reads n bytes once, and once more from the cache, of TILE_FLOATS twice a plane; writes
 *             the tiles once.
 *   Launch    <<<dim3(ceil(rows / WARPS), images), CODED_THREADS>>>, rows of all tiles of an image.
 *   Requires  what TiledImage says.
 *   Result    what tiff/tile_writer.c compresses. Rows behind the last one of a strip are 0.
 */
static __global__ void __launch_bounds__(THREADS) predict_tiles(const TiledImage *images)
{
    const TiledImage &image = images[blockIdx.y];
    const TiledPage &page = image.page;
    const uint32_t row = blockIdx.x * WARPS + threadIdx.x / LANES;
    const uint32_t number = row / page.tile_height, y = row % page.tile_height;
    if (number >= page.n_tiles)
        return;
    const TilePlace place = tile_place(&page, number);
    tile_predict_row(&page, &place, y, (const uint8_t *)page.pixels,
                     (uint8_t *)image.to + number * image.tile_pitch +
                         (uint64_t)y * page.row_bytes);
}

cudaError_t launch_predict_tiles(const TiledImage *images, size_t n, uint32_t rows,
                                 cudaStream_t stream)
{
    const unsigned blocks = (unsigned)(((uint64_t)rows + WARPS - 1) / WARPS);
    return launch_images(predict_tiles, images, n, blocks, THREADS, stream);
}
