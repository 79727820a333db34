/* SPDX-License-Identifier: MIT */
/* luma/bytes.cu: RGB of 8 bits in one long row: counts of its luma, and its colours brought to a
 * new one. */
#include "common/lane_table.cuh"
#include "common/sm90.cuh"
#include "common/tuning.cuh"
#include "luma/tile.cuh"

enum { COUNT_THREADS = LUMA_COUNT_THREADS };
enum { APPLY_THREADS = LUMA_APPLY_THREADS, APPLY_BLOCKS = LUMA_APPLY_BLOCKS };
/* Shared memory beside what a launch asks for: what the driver keeps a block, and words. */
enum { OTHER_BYTES = 2048 };

/* ---- Counts ---------------------------------------------------------------------------------- */

enum { COUNT_BYTES = BINS * NARROW_ROW + COUNT_THREADS * TILE_VECTORS * 16 };

DEVICE void count_luma(uint32_t rounded)
{
    atomicAdd(row_of<NARROW_ROW>((uint32_t *)luma_memory, rounded, LUMA_SHIFT / 8, own_column()),
              1u);
}

/* Adds a key's counters to its bin. */
DEVICE void add_counts(uint64_t *bins)
{
    const uint32_t sum = sum_columns<COUNT_THREADS, NARROW_ROW>(luma_memory);
    const uint32_t key = threadIdx.x / (COUNT_THREADS / BINS);
    if (threadIdx.x % (COUNT_THREADS / BINS) == 0 && sum)
        atomicAdd((unsigned long long *)&bins[key], (unsigned long long)sum);
}

/*
 * count_luma_bytes: how many pixels have each luma.
 *
 *   Idea      No plane: lumas are counted as they are made. A lane has a column of counters, so no
 *             two of a warp meet in a bank, whatever the image. A warp's next tile is on its way
 *             while it counts one.
 *   Work      two products of pairs, a shift, a mask and an increment a pixel.
 *   Memory    reads each sample once, by vectors; adds up to 256 bins a block.
 *   Launch    <<<blocks, COUNT_THREADS, COUNT_BYTES>>>, any number of blocks; it may begin before
 *             the launch before has ended. A block counts fewer than 2^32 pixels, 12 GiB.
 *   Requires  p: three channels in one row, without mask and nodata. bins: zero, or what to add to.
 *   Result    the bins of the luma's record; integers, so the order of blocks cannot be seen.
 */
static __global__ void __launch_bounds__(COUNT_THREADS, 1)
    count_luma_bytes(ApplyPixels p, LumaRow row, uint64_t *bins)
{
    uint4 *const buffer = warp_buffer(BINS * NARROW_ROW);
    empty_columns<COUNT_THREADS, NARROW_ROW>(luma_memory);
    __syncthreads(); /* the counters are empty */
    after_launches_before();
    const uint4 *const tiles = (const uint4 *)(p.from + row.head * 3);
    const uint32_t stride = gridDim.x * (COUNT_THREADS / 32), warp = threadIdx.x / 32;
    uint32_t first = blockIdx.x * (COUNT_THREADS / 32);
    uint4 v[TILE_VECTORS];
    load_tile(tiles, first + warp, row.tiles, v);
    for (; first < row.tiles; first += stride) {
        uint32_t word[TILE_GROUPS][3];
        to_pixels(buffer, v, word);
        load_tile(tiles, first + stride + warp, row.tiles, v);
        if (first + warp < row.tiles)
#pragma unroll
            for (int x = 0; x < 4 * TILE_GROUPS; x++)
                count_luma(luma_rounded(word[x / 4], x % 4));
    }
    const uint64_t left = luma_row_left(row), threads = (uint64_t)gridDim.x * COUNT_THREADS;
    for (uint64_t i = (uint64_t)blockIdx.x * COUNT_THREADS + threadIdx.x; i < left; i += threads) {
        const unsigned char *const at = p.from + luma_row_pixel(row, i) * 3;
        count_luma(luma_key(at[0], at[1], at[2]) << LUMA_SHIFT);
    }
    __syncthreads(); /* the counts are whole */
    add_counts(bins);
}

/* ---- Colours --------------------------------------------------------------------------------- */

/* A wide row of the table a key: luma_wanted of the luma that it becomes, and behind its columns
 * those of luma_cap of it as the largest component. */
enum { TABLE_CAPS = NARROW_ROW };
enum { LUMA_APPLY_BYTES = BINS * WIDE_ROW + APPLY_THREADS * TILE_VECTORS * 16 };

/* One half of the table, CAPS or not: four lanes' columns of row i / COLUMN_VECTORS. */
enum { COLUMN_VECTORS = TABLE_CAPS / 16 };
DEVICE void fill_row(uint32_t half, uint32_t i, float value)
{
    *(float4 *)((unsigned char *)luma_memory + i / COLUMN_VECTORS * WIDE_ROW + half +
                i % COLUMN_VECTORS * 16) = make_float4(value, value, value, value);
}

/* The half of wanted lumas, or what leaves all colours as they are: factors of 1. */
DEVICE void fill_table(const uint32_t *by_key, bool unchanged)
{
    for (uint32_t i = threadIdx.x; i < BINS * COLUMN_VECTORS; i += APPLY_THREADS) {
        fill_row(0, i, unchanged ? INFINITY : luma_wanted(by_key[i / COLUMN_VECTORS]));
        if (unchanged)
            fill_row(TABLE_CAPS, i, 16777216.0f);
    }
}

/* Of the row that a byte of a word names. */
DEVICE float look_up(uint32_t half, uint32_t word, uint32_t byte)
{
    const uint32_t *const at = row_of<WIDE_ROW>((uint32_t *)luma_memory, word, byte, own_column());
    return __uint_as_float(at[half / 4]);
}

/* A component of four pixels in three words; for sure in one instruction. */
DEVICE uint32_t component(const uint32_t (&word)[3], int i)
{
    uint32_t byte;
    asm("prmt.b32 %0, %1, 0, %2;" : "=r"(byte) : "r"(word[i / 4]), "r"(0x4440 | i % 4));
    return byte;
}

DEVICE uint32_t largest_of(const uint32_t (&word)[3], int x)
{
    return max(max(component(word, 3 * x), component(word, 3 * x + 1)), component(word, 3 * x + 2));
}

/* Estimates of four pixels, one near a tie, as integers confirm them; black stays. The
 * pixels are read again, so that no register holds what is known of them for a rare branch. */
DEVICE void correct_ties(uint32_t top, const volatile uint32_t *from, uint32_t (&estimate)[12])
{
    const uint32_t word[3] = {from[0], from[1], from[2]};
#pragma unroll
    for (int x = 0; x < 4; x++) {
        const uint32_t rounded = luma_rounded(word, x), largest = largest_of(word, x);
        const uint32_t fine = rounded - (1u << (LUMA_SHIFT - 1));
        const float wanted = look_up(0, rounded, LUMA_SHIFT / 8);
        const uint32_t numerator = __float2uint_rn(__fmul_rn(wanted, 1.0f / 16777216.0f));
        const bool capped = numerator * largest > top * fine; /* below 2^32 */
        const uint32_t n = capped ? top : numerator, d = capped ? largest : fine;
#pragma unroll
        for (int i = 3 * x; i < 3 * x + 3; i++)
            estimate[i] = luma_settle(estimate[i], component(word, i), n, d);
    }
}

/* rescale_luma of four pixels, but for the range; black: the estimate of what black becomes; from:
 * where the pixels are. */
DEVICE void rescale_luma_quad(uint32_t top, uint32_t black, const uint32_t *from,
                              uint32_t (&word)[3])
{
    const uint32_t none = 1u << (LUMA_SHIFT - 1); /* luma_rounded of black alone */
    uint32_t estimate[12], rounded[4];
#pragma unroll
    for (int x = 0; x < 4; x++) {
        rounded[x] = luma_rounded(word, x);
        const float fine = __fadd_rn(__uint2float_rn(rounded[x]), -32768.0f); /* below 2^24 */
        const float wanted = look_up(0, rounded[x], LUMA_SHIFT / 8);
        const float cap = look_up(TABLE_CAPS, largest_of(word, x), 0);
        const uint32_t factor =
            __float2uint_rn(fminf(__fmul_rn(wanted, luma_reciprocal(fine)), cap));
#pragma unroll
        for (int i = 3 * x; i < 3 * x + 3; i++)
            estimate[i] = multiply_add(component(word, i), factor, (uint32_t)LUMA_HALF);
    }
    uint32_t low = 0xFFFFFFFFu; /* the least of what is below the quotients, in either half */
#pragma unroll
    for (int i = 0; i < 12; i += 4)
        low = __vimin3_u16x2(__byte_perm(estimate[i], estimate[i + 1], 0x6521),
                             __byte_perm(estimate[i + 2], estimate[i + 3], 0x6521), low);
    if (min(low & 0xFFFFu, low >> 16) <= LUMA_NEAR)
        correct_ties(top, from, estimate);
    if (min(min(min(rounded[0], rounded[1]), rounded[2]), rounded[3]) == none)
#pragma unroll
        for (int i = 0; i < 12; i++)
            estimate[i] = rounded[i / 3] == none ? black : estimate[i];
#pragma unroll
    for (int j = 0; j < 3; j++)
        word[j] =
            __byte_perm(__byte_perm(estimate[4 * j], estimate[4 * j + 1], 0x7373),
                        __byte_perm(estimate[4 * j + 2], estimate[4 * j + 3], 0x7373), 0x5410);
}

/*
 * apply_luma_bytes: colours get the luma that the transfer maps theirs to.
 *
 *   Idea      One approximate reciprocal a pixel gives all three quotients, 16 bits finer than they
 *             are wanted; integers decide where that is not enough (transfer/luma.h), which is
 *             tested for four pixels at a time. A warp's next tile is on its way while it maps one.
 *   Work      two lookups, a reciprocal, a conversion, three products and some 20 instructions
 *             around them a pixel.
 *   Memory    reads and writes each sample once, by vectors, which pass shared memory to and fro.
 *   Launch    <<<blocks, APPLY_THREADS, LUMA_APPLY_BYTES>>>, any number of blocks; it may begin
 *             before the launch before has ended.
 *   Requires  luma_bytes_fit. In place: a lane writes what its warp has read.
 *   Result    the bits of cpu/luma.c.
 */
static __global__ void __launch_bounds__(APPLY_THREADS, APPLY_BLOCKS)
    apply_luma_bytes(ApplyTransfer t, ApplyPixels p, LumaRow row, WordRange range)
{
    for (uint32_t i = threadIdx.x; i < BINS * COLUMN_VECTORS; i += APPLY_THREADS)
        fill_row(TABLE_CAPS, i, luma_cap(range.top, i / COLUMN_VECTORS));
    after_launches_before();
    const bool unchanged = t.maps[0].passthrough;
    fill_table(t.by_key, unchanged);
    const uint32_t black = (unchanged ? 0 : min(t.by_key[0], range.top)) << LUMA_PLACES;
    uint4 v[TILE_VECTORS];
    load_first_tile<APPLY_THREADS, IMGSTAT_U8>(p, row, v);
    __syncthreads(); /* the table is whole */
    rescale_luma_row<APPLY_THREADS, IMGSTAT_U8>(t, p, row, range, unchanged,
                                                warp_buffer(BINS * WIDE_ROW), v,
                                                [&](const uint32_t *at, uint32_t(&word)[3]) {
                                                    rescale_luma_quad(range.top, black, at, word);
                                                });
}

/* ---- Host side ------------------------------------------------------------------------------- */

bool luma_bytes_fit(const CudaDevice *device, const ApplyTransfer *t, const ApplyPixels *p)
{
    return luma_applies(t, p, IMGSTAT_U8) && device->max_shared >= LUMA_APPLY_BYTES + OTHER_BYTES;
}

ImgstatResult launch_apply_luma_bytes(CudaDevice *device, cudaStream_t stream,
                                      const ApplyTransfer *t, const ApplyPixels *p,
                                      ImgstatError *err)
{
    assert(luma_bytes_fit(device, t, p));
    const LumaRow row = luma_row(p, 1);
    const unsigned blocks = luma_blocks(device, row, APPLY_THREADS, APPLY_BLOCKS);
    return cuda_launch_early(device, stream, "apply_luma_bytes", apply_luma_bytes, blocks,
                             APPLY_THREADS, LUMA_APPLY_BYTES, err, *t, *p, row,
                             word_range(t->range, 0x01010101u));
}

bool luma_counts_fit(const CudaDevice *device, ImgstatSample sample, const ApplyPixels *p)
{
    return sample == IMGSTAT_U8 && luma_is_row(p) &&
           device->max_shared >= COUNT_BYTES + OTHER_BYTES;
}

ImgstatResult launch_count_luma(CudaDevice *device, cudaStream_t stream, const ApplyPixels *p,
                                uint64_t *bins, ImgstatError *err)
{
    assert(luma_is_row(p) && device->max_shared >= COUNT_BYTES + OTHER_BYTES);
    const LumaRow row = luma_row(p, 1);
    const unsigned blocks = luma_blocks(device, row, COUNT_THREADS, 1);
    return cuda_launch_early(device, stream, "count_luma_bytes", count_luma_bytes, blocks,
                             COUNT_THREADS, COUNT_BYTES, err, *p, row, bins);
}
