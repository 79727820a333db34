/* SPDX-License-Identifier: MIT */
/* luma_bytes.cuh: RGB of 8 bits in one long row, four pixels in three words, sixteen in three
 * vectors a thread: loading, their luma, storing. */
#ifndef IMGSTAT_LUMA_BYTES_CUH
#define IMGSTAT_LUMA_BYTES_CUH

#include "apply.cuh"
#include "luma.h"

/* What a warp does at once: three vectors of 16 bytes a lane. */
enum {
    TILE_VECTORS = 3,
    TILE_PIXELS = 32 * TILE_VECTORS * 16 / 3,
    TILE_QUADS = TILE_VECTORS * 4 / 3
};

/* A row as tiles, which begin on 16 bytes, and the pixels before and behind them. */
struct LumaRow {
    uint64_t pixels;
    uint32_t tiles, head;
};

/* As many pixels are before the first boundary as there are: 3 * 11 = 2 * 16 + 1. */
static inline LumaRow luma_row(const ApplyPixels *p)
{
    LumaRow row;
    row.pixels = p->width;
    row.head = (uint32_t)((16 - (uintptr_t)p->from % 16) * 11 % 16);
    row.tiles = (uint32_t)(row.pixels < row.head ? 0 : (row.pixels - row.head) / TILE_PIXELS);
    return row;
}

/* Pixels outside of tiles, and which one the i-th of them is. */
static __device__ __forceinline__ uint64_t luma_row_left(const LumaRow &row)
{
    return row.pixels - (uint64_t)row.tiles * TILE_PIXELS;
}

static __device__ __forceinline__ uint64_t luma_row_pixel(const LumaRow &row, uint64_t i)
{
    return i < row.head ? i : (uint64_t)row.tiles * TILE_PIXELS + i;
}

/* A warp's tile, or nothing if there are not so many. */
static __device__ __forceinline__ void load_tile(const uint4 *row, uint32_t tile, uint32_t tiles,
                                                 uint4 (&v)[3])
{
    const uint4 *const from = row + (uint64_t)tile * (32 * TILE_VECTORS) + threadIdx.x % 32;
#pragma unroll
    for (int k = 0; k < TILE_VECTORS; k++)
        v[k] = tile < tiles ? from[k * 32] : make_uint4(0, 0, 0, 0);
}

static __device__ __forceinline__ void store_tile(uint4 *row, uint32_t tile, uint32_t tiles,
                                                  const uint4 (&v)[3])
{
    uint4 *const to = row + (uint64_t)tile * (32 * TILE_VECTORS) + threadIdx.x % 32;
    if (tile < tiles)
#pragma unroll
        for (int k = 0; k < TILE_VECTORS; k++)
            to[k * 32] = v[k];
}

/* From vectors as a warp loads them, those of a lane 32 apart, to words of sixteen pixels a lane,
 * and back, through the warp's piece of shared memory. Vectors 48 bytes apart: the eight lanes
 * that are served at a time do not meet in a bank. A lane writes back what it alone has read. */
static __device__ __forceinline__ void to_pixels(uint4 *piece, const uint4 (&v)[3],
                                                 uint32_t (&word)[TILE_QUADS][3])
{
    const uint32_t lane = threadIdx.x % 32;
    uint4 own[3];
    __syncwarp(); /* what to_vectors wrote has been read */
#pragma unroll
    for (int k = 0; k < TILE_VECTORS; k++)
        piece[k * 32 + lane] = v[k];
    __syncwarp();
#pragma unroll
    for (int k = 0; k < TILE_VECTORS; k++)
        own[k] = piece[lane * TILE_VECTORS + k];
    const uint32_t words[12] = {own[0].x, own[0].y, own[0].z, own[0].w, own[1].x, own[1].y,
                                own[1].z, own[1].w, own[2].x, own[2].y, own[2].z, own[2].w};
#pragma unroll
    for (int i = 0; i < 12; i++)
        word[i / 3][i % 3] = words[i];
}

static __device__ __forceinline__ void
to_vectors(uint4 *piece, const uint32_t (&word)[TILE_QUADS][3], uint4 (&v)[3])
{
    const uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (int k = 0; k < TILE_VECTORS; k++)
        piece[lane * TILE_VECTORS + k] = make_uint4(
            word[k * 4 / 3][k * 4 % 3], word[(k * 4 + 1) / 3][(k * 4 + 1) % 3],
            word[(k * 4 + 2) / 3][(k * 4 + 2) % 3], word[(k * 4 + 3) / 3][(k * 4 + 3) % 3]);
    __syncwarp();
#pragma unroll
    for (int k = 0; k < TILE_VECTORS; k++)
        v[k] = piece[k * 32 + lane];
}

/* luma_fine and a half of pixel x of four, whose key is in bits 16 to 23: two products an
 * instruction, of 16 bits and of a word's lower or upper bytes. */
static __device__ __forceinline__ uint32_t luma_rounded(const uint32_t (&word)[3], int x)
{
    const uint32_t red_green = (uint32_t)LUMA_GREEN << 16 | LUMA_RED, blue = LUMA_BLUE;
    const uint32_t red = (uint32_t)LUMA_RED << 16, half = 1u << (LUMA_SHIFT - 1);
    const uint32_t green_blue = (uint32_t)LUMA_BLUE << 16 | LUMA_GREEN;
    switch (x) {
    case 0:
        return __dp2a_lo(red_green, word[0], __dp2a_hi(blue, word[0], half));
    case 1:
        return __dp2a_hi(red, word[0], __dp2a_lo(green_blue, word[1], half));
    case 2:
        return __dp2a_hi(red_green, word[1], __dp2a_lo(blue, word[2], half));
    default:
        return __dp2a_lo(red, word[2], __dp2a_hi(green_blue, word[2], half));
    }
}

/* Whether these kernels take the pixels: to tell a launch which others. */
bool luma_bytes_fit(const CudaDevice *device, const ApplyTransfer *transfer,
                    const ApplyPixels *pixels);
ImgstatResult launch_apply_luma_bytes(CudaDevice *device, cudaStream_t stream,
                                      const ApplyTransfer *transfer, const ApplyPixels *pixels,
                                      ImgstatError *err);
/* Whether the luma can be counted without a plane; adds the counts of its keys to bins. */
bool luma_counts_fit(const CudaDevice *device, ImgstatSample sample, const ApplyPixels *pixels);
ImgstatResult launch_count_luma(CudaDevice *device, cudaStream_t stream, const ApplyPixels *pixels,
                                uint64_t *bins, ImgstatError *err);

#endif
