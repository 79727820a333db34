/* SPDX-License-Identifier: MIT */
/* histogram8/block.cuh: what the parts of measure_narrow8 share: the shape of its work, what a
 * block holds, where a tile lies. */
#ifndef IMGSTAT_KERNELS_HISTOGRAM8_BLOCK_CUH
#define IMGSTAT_KERNELS_HISTOGRAM8_BLOCK_CUH

#include "common/histogram_block.cuh"
#include "common/lane_table.cuh"
#include "common/tuning.cuh"

enum { THREADS = HISTOGRAM8_THREADS, WARPS = THREADS / 32, BLOCKS = HISTOGRAM8_BLOCKS };
/* A lane's vectors in a tile (three channels: a multiple of three, so that the channel of a byte in
 * a vector is known at compile time), its bytes, and the warps that look for an extremum in it. */
template <int C> struct Shape8 {
    enum {
        STEPS = C == 3 ? HISTOGRAM8_STEPS3 : HISTOGRAM8_STEPS,
        TILE = STEPS * 512,
        PARTS = C <= 2 ? 4 : 2
    };
};
static_assert((int)Shape8<1>::TILE == (int)NARROW8_TILE &&
                  (int)Shape8<3>::TILE == (int)NARROW8_TILE3,
              "the host cuts images");

enum { TABLE_BINS = 256, TABLE_BYTES = TABLE_BINS * WIDE_ROW };

/* Samples of a table that is not emptied: a column gets at most an 8th of them, so 32-bit counters
 * do not overflow. Tiles of an image that all blocks together, or one, count without emptying it.
 */
static const uint64_t TABLE_SAMPLES = 1ull << 34;
static const uint64_t TABLE_TILES = TABLE_SAMPLES / NARROW8_TILE3;

/* Counters: sample v has the row of WIDE_ROW bytes at v * WIDE_ROW. */
extern __shared__ __align__(128) unsigned char table[];

/* The extrema that a warp has seen, by channel. */
struct alignas(16) Limits {
    int16_t low[4], high[4];
};

/* What a block knows of an image. */
template <int C> struct ImageState8 {
    /* Extrema and the first tiles that hold them, by warp, then of all; 0: none. */
    unsigned long long seen[WARPS][2 * C], best[2 * C];
    unsigned long long position[2 * C]; /* and their positions */
    Limits limits[WARPS];
    WorkImage image;
    uint64_t samples; /* a channel, in the table; only thread 0 looks */
    unsigned long long masked;
    uint32_t number; /* of the image */
    uint32_t items;  /* of the image, done by this block since the last report */
    bool sole, last; /* all the items of the image were this block's; it is the last to report */
};

template <int C> struct Block8 {
    ImageState8<C> held[2]; /* alternately: what is counted, and what is reported meanwhile */
    uint32_t next[2];       /* items, alternately, and whether the table is to be emptied before */
    bool full[2];
    unsigned cursor[2]; /* tiles of an item that warps have fetched, alternately */
};

/* Where a plain tile lies in its row: bytes [address, address + TILE) cut to [row, end), and the
 * channel of the byte at address + lane * 16. */
struct TilePlace8 {
    const unsigned char *row, *end, *address;
    uint64_t number; /* of the row */
    unsigned phase;
};

template <int C> DEVICE TilePlace8 plain_place(const WorkImage &image, uint64_t tile)
{
    uint64_t place;
    TilePlace8 p;
    tile_place(image, tile, &p.number, &place);
    p.row = image.pixels + p.number * image.pitch;
    p.end = p.row + image.row_pixels * C;
    const unsigned early = (unsigned)((uintptr_t)p.row % 16);
    p.address = p.row - early + place * Shape8<C>::TILE;
    p.phase = (48 - early + threadIdx.x % 32 * 16) % C; /* TILE is a multiple of C */
    return p;
}

#endif
