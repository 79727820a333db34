/* SPDX-License-Identifier: MIT */
/* luma/tile.cuh: RGB in one long row, tiles of it, which are three vectors a thread: four times
 * four pixels of 8 bits, or two of 16, in three words. */
#ifndef IMGSTAT_KERNELS_LUMA_TILE_CUH
#define IMGSTAT_KERNELS_LUMA_TILE_CUH

#include "common/tuning.cuh"
#include "luma/luma.cuh"

/* What a warp does at once: three vectors of 16 bytes a lane, which are four times three words. */
enum {
    TILE_VECTORS = LUMA_VECTORS,
    TILE_GROUPS = TILE_VECTORS * 4 / 3,
    TILE_BYTES = 32 * TILE_VECTORS * 16
};

/* A row as tiles, which begin on 16 bytes, and the pixels before and behind them. */
struct LumaRow {
    uint64_t pixels;
    uint32_t tiles, tile_pixels, head;
};

/* RGB of so many bytes a sample, on whose boundaries they are. As many pixels are before the first
 * boundary of 16 bytes as there are samples, times 11: 3 * 11 = 2 * 16 + 1. */
static inline LumaRow luma_row(const ApplyPixels *p, uint32_t bytes)
{
    LumaRow row;
    row.pixels = p->width;
    row.tile_pixels = TILE_BYTES / (3 * bytes);
    row.head = (uint32_t)(16 - (uintptr_t)p->from % 16) / bytes * 11 % (16 / bytes);
    row.tiles = (uint32_t)(row.pixels < row.head ? 0 : (row.pixels - row.head) / row.tile_pixels);
    return row;
}

/* As many blocks as have work, or all that run at once. */
static inline unsigned luma_blocks(const CudaDevice *device, const LumaRow &row, unsigned threads,
                                   unsigned each)
{
    const uint64_t wanted = ((uint64_t)row.tiles + threads / 32 - 1) / (threads / 32);
    return cuda_blocks(device, wanted < 1 ? 1 : wanted, each);
}

static inline bool luma_is_row(const ApplyPixels *p)
{
    return p->rows == 1 && p->channels == 3 && !p->mask && !p->has_nodata;
}

/* Whether a transfer of one type, which copies what it does not map, finds both on like places. */
static inline bool luma_applies(const ApplyTransfer *t, const ApplyPixels *p, ImgstatSample sample)
{
    return t->from == sample && t->to == sample && t->copies && luma_is_row(p) && p->aligned &&
           (uintptr_t)p->from % 16 == (uintptr_t)p->to % 16;
}

/* A range of keys that a word holds several of. */
struct WordRange {
    uint32_t top, low;         /* the highest; the least, in all places */
    uint32_t avoided, instead; /* in all places; alike where nothing is avoided */
    uint32_t adjusts;          /* whether the last three matter */
};

/* ones: 1 in each place of a word. */
static inline WordRange word_range(const MapRange &range, uint32_t ones)
{
    WordRange w = {(uint32_t)range.hi_key, (uint32_t)range.lo_key * ones, 0, 0, 0};
    if (range.has_nodata) {
        w.avoided = (uint32_t)range.nodata_key * ones;
        w.instead = (uint32_t)range_avoid(&range, range.nodata_key) * ones;
    }
    w.adjusts = w.low != 0 || w.avoided != w.instead;
    return w;
}

/* Pixels outside of tiles, and which one the i-th of them is. */
DEVICE uint64_t luma_row_left(const LumaRow &row)
{
    return row.pixels - (uint64_t)row.tiles * row.tile_pixels;
}

DEVICE uint64_t luma_row_pixel(const LumaRow &row, uint64_t i)
{
    return i < row.head ? i : (uint64_t)row.tiles * row.tile_pixels + i;
}

/* A table, and then the buffers through which warps pass their tiles. Named where
 * it is used, so that it needs no address in registers. */
extern __shared__ __align__(128) uint4 luma_memory[];

DEVICE uint4 *warp_buffer(uint32_t table_bytes)
{
    return luma_memory + table_bytes / 16 + threadIdx.x / 32 * (32 * TILE_VECTORS);
}

/* A warp's tile, or nothing if there are not so many. */
DEVICE void load_tile(const uint4 *row, uint32_t tile, uint32_t tiles, uint4 (&v)[3])
{
    const uint4 *const from = row + (uint64_t)tile * (32 * TILE_VECTORS) + threadIdx.x % 32;
#pragma unroll
    for (int k = 0; k < TILE_VECTORS; k++)
        v[k] = tile < tiles ? from[k * 32] : make_uint4(0, 0, 0, 0);
}

DEVICE void store_tile(uint4 *row, uint32_t tile, uint32_t tiles, const uint4 (&v)[3])
{
    uint4 *const to = row + (uint64_t)tile * (32 * TILE_VECTORS) + threadIdx.x % 32;
    if (tile < tiles)
#pragma unroll
        for (int k = 0; k < TILE_VECTORS; k++)
            to[k * 32] = v[k];
}

/* From vectors as a warp loads them, those of a lane 32 apart, to words of whole pixels a lane, and
 * back, through the warp's buffer in shared memory. Vectors 48 bytes apart: the eight lanes
 * that are served at a time do not meet in a bank. A lane writes back what it alone has read. */
DEVICE void to_pixels(uint4 *buffer, const uint4 (&v)[3], uint32_t (&word)[TILE_GROUPS][3])
{
    const uint32_t lane = threadIdx.x % 32;
    uint4 own[3];
    __syncwarp(); /* what to_vectors wrote has been read */
#pragma unroll
    for (int k = 0; k < TILE_VECTORS; k++)
        buffer[k * 32 + lane] = v[k];
    __syncwarp();
#pragma unroll
    for (int k = 0; k < TILE_VECTORS; k++)
        own[k] = buffer[lane * TILE_VECTORS + k];
    const uint32_t words[12] = {own[0].x, own[0].y, own[0].z, own[0].w, own[1].x, own[1].y,
                                own[1].z, own[1].w, own[2].x, own[2].y, own[2].z, own[2].w};
#pragma unroll
    for (int i = 0; i < 12; i++)
        word[i / 3][i % 3] = words[i];
}

DEVICE void to_vectors(uint4 *buffer, const uint32_t (&word)[TILE_GROUPS][3], uint4 (&v)[3])
{
    const uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (int k = 0; k < TILE_VECTORS; k++)
        buffer[lane * TILE_VECTORS + k] = make_uint4(
            word[k * 4 / 3][k * 4 % 3], word[(k * 4 + 1) / 3][(k * 4 + 1) % 3],
            word[(k * 4 + 2) / 3][(k * 4 + 2) % 3], word[(k * 4 + 3) / 3][(k * 4 + 3) % 3]);
    __syncwarp();
#pragma unroll
    for (int k = 0; k < TILE_VECTORS; k++)
        v[k] = buffer[k * 32 + lane];
}

DEVICE float luma_reciprocal(float v)
{
    float inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(v));
    return inverse;
}

/* Pixels outside of tiles, one a thread. */
template <ImgstatSample SAMPLE>
DEVICE void rescale_luma_left(const ApplyTransfer &t, const ApplyPixels &p, const LumaRow &row,
                              bool unchanged)
{
    const uint32_t bytes = sample_bits(SAMPLE) / 8;
    const uint64_t left = luma_row_left(row), threads = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < left; i += threads) {
        const uint64_t at = luma_row_pixel(row, i) * 3 * bytes;
        uint64_t key[3];
        for (uint32_t c = 0; c < 3; c++)
            key[c] = load_sample(p.from + at + c * bytes, bytes, true);
        if (!unchanged)
            rescale_luma(SAMPLE, SAMPLE, t.range,
                         t.by_key[luma_key((uint32_t)key[0], (uint32_t)key[1], (uint32_t)key[2])],
                         key);
        for (uint32_t c = 0; c < 3; c++)
            store_sample(p.to + at + c * bytes, bytes, key[c], true);
    }
}

/* The components in a word brought into the range's keys: they are not above the highest. */
template <ImgstatSample SAMPLE> DEVICE uint32_t adjust(const WordRange &range, uint32_t word)
{
    const bool bytes = SAMPLE == IMGSTAT_U8;
    const uint32_t raised = bytes ? __vmaxu4(word, range.low) : __vmaxu2(word, range.low);
    const uint32_t is = bytes ? __vcmpeq4(raised, range.avoided) : __vcmpeq2(raised, range.avoided);
    return (raised & ~is) | (range.instead & is);
}

/* A warp's first tile, for rescale_luma_row. */
template <unsigned THREADS, ImgstatSample SAMPLE>
DEVICE void load_first_tile(const ApplyPixels &p, const LumaRow &row, uint4 (&v)[TILE_VECTORS])
{
    const uint32_t pixel = 3 * sample_bits(SAMPLE) / 8, first = blockIdx.x * (THREADS / 32);
    load_tile((const uint4 *)(p.from + row.head * pixel), first + threadIdx.x / 32, row.tiles, v);
}

/* A block's tiles, every so many of all, and then pixels outside of tiles. v: the warp's
 * first tile. rescale_luma_group brings the pixels of three words, which are at its first argument
 * as well, to what they become but for the range. */
template <unsigned THREADS, ImgstatSample SAMPLE, typename LumaRescale>
DEVICE void rescale_luma_row(const ApplyTransfer &t, const ApplyPixels &p, const LumaRow &row,
                             const WordRange &range, bool unchanged, uint4 *buffer,
                             uint4 (&v)[TILE_VECTORS], const LumaRescale &rescale_luma_group)
{
    const uint32_t pixel = 3 * sample_bits(SAMPLE) / 8;
    const uint4 *const from = (const uint4 *)(p.from + row.head * pixel);
    uint4 *const to = (uint4 *)(p.to + row.head * pixel);
    const uint32_t stride = gridDim.x * (THREADS / 32), warp = threadIdx.x / 32;
    for (uint32_t first = blockIdx.x * (THREADS / 32); first < row.tiles; first += stride) {
        uint32_t word[TILE_GROUPS][3];
        uint4 made[TILE_VECTORS];
        to_pixels(buffer, v, word);
        load_tile(from, first + stride + warp, row.tiles, v);
#pragma unroll
        for (int k = 0; k < TILE_GROUPS; k++)
            rescale_luma_group((const uint32_t *)(buffer + threadIdx.x % 32 * TILE_VECTORS) + 3 * k,
                               word[k]);
        if (range.adjusts)
#pragma unroll
            for (int i = 0; i < 3 * TILE_GROUPS; i++)
                word[i / 3][i % 3] =
                    unchanged ? word[i / 3][i % 3] : adjust<SAMPLE>(range, word[i / 3][i % 3]);
        to_vectors(buffer, word, made);
        store_tile(to, first + warp, row.tiles, made);
    }
    rescale_luma_left<SAMPLE>(t, p, row, unchanged);
}

/* luma_fine and a half of pixel x of four, whose key is in bits 16 to 23: two products an
 * instruction, of 16 bits and of a word's lower or upper bytes. */
DEVICE uint32_t luma_rounded(const uint32_t (&word)[3], int x)
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

/* Whether these kernels can do a transfer of the pixels. */
bool luma_bytes_fit(const CudaDevice *device, const ApplyTransfer *transfer,
                    const ApplyPixels *pixels);
ImgstatResult launch_apply_luma_bytes(CudaDevice *device, cudaStream_t stream,
                                      const ApplyTransfer *transfer, const ApplyPixels *pixels,
                                      ImgstatError *err);
bool luma_words_fit(const CudaDevice *device, const ApplyTransfer *transfer,
                    const ApplyPixels *pixels);
ImgstatResult launch_apply_luma_words(CudaDevice *device, cudaStream_t stream,
                                      const ApplyTransfer *transfer, const ApplyPixels *pixels,
                                      ImgstatError *err);
/* Whether the luma can be counted without a plane; adds the counts of its keys to bins. */
bool luma_counts_fit(const CudaDevice *device, ImgstatSample sample, const ApplyPixels *pixels);
ImgstatResult launch_count_luma(CudaDevice *device, cudaStream_t stream, const ApplyPixels *pixels,
                                uint64_t *bins, ImgstatError *err);

#endif
