/* SPDX-License-Identifier: MIT */
/* histogram8/block.cuh: what the parts of measure_narrow8 share: the shape of its work, what a
 * block holds, where a unit lies. */
#ifndef IMGSTAT_KERNELS_HISTOGRAM8_BLOCK_CUH
#define IMGSTAT_KERNELS_HISTOGRAM8_BLOCK_CUH

#include "common/histogram_block.cuh"
#include "common/lane_table.cuh"
#include "common/tuning.cuh"

enum { THREADS = HISTOGRAM8_THREADS, WARPS = THREADS / 32, BLOCKS = HISTOGRAM8_BLOCKS };
/* A lane's vectors in a unit (three channels: a multiple of three, so that the channel of a byte in
 * a vector is known at compile time), its bytes, and the warps that look for an extremum in it. */
template <int C> struct Shape {
    enum {
        STEPS = C == 3 ? HISTOGRAM8_STEPS3 : HISTOGRAM8_STEPS,
        UNIT = STEPS * 512,
        PARTS = C <= 2 ? 4 : 2
    };
};
static_assert((int)Shape<1>::UNIT == (int)NARROW8_UNIT && (int)Shape<3>::UNIT == (int)NARROW8_UNIT3,
              "the host cuts images");

enum { TABLE_BINS = 256, TABLE_BYTES = TABLE_BINS * WIDE_ROW };

/* Samples of a table that is not emptied: a column gets at most an 8th of them, so 32-bit counters
 * do not overflow. Units of an image that all blocks together, or one, count without emptying it.
 */
static const uint64_t TABLE_SAMPLES = 1ull << 34;
static const uint64_t TABLE_UNITS = TABLE_SAMPLES / NARROW8_UNIT3;

/* Counters: sample v has the row of WIDE_ROW bytes at v * WIDE_ROW. */
extern __shared__ __align__(128) unsigned char table[];

/* The extrema that a warp has seen, by channel. */
struct alignas(16) Limits {
    int16_t low[4], high[4];
};

/* What a block knows of an image. */
template <int C> struct Held8 {
    /* Extrema and the first units that hold them, by warp, then of all; 0: none. */
    unsigned long long seen[WARPS][2 * C], best[2 * C];
    unsigned long long offer[2 * C]; /* and their positions */
    Limits limits[WARPS];
    WorkImage image;
    uint64_t samples; /* a channel, in the table; only thread 0 looks */
    unsigned long long masked;
    uint32_t number; /* of the image */
    uint32_t items;  /* of the image, done by this block since the last report */
    bool sole, last; /* all the items of the image were this block's; it is the last to report */
};

template <int C> struct Block8 {
    Held8<C> held[2]; /* by turns: what is counted, and what is reported meanwhile */
    uint32_t next[2]; /* items, by turns, and whether the table is to be emptied before */
    bool full[2];
    unsigned cursor[2]; /* units of an item that warps have taken, by turns */
};

/* Where a plain unit lies in its row: bytes [address, address + UNIT) cut to [row, end), and the
 * channel of the byte at address + lane * 16. */
struct Place {
    const unsigned char *row, *end, *address;
    uint64_t number; /* of the row */
    unsigned phase;
};

template <int C>
static __device__ __forceinline__ Place plain_place(const WorkImage &image, uint64_t unit)
{
    uint64_t place;
    Place p;
    unit_place(image, unit, &p.number, &place);
    p.row = image.pixels + p.number * image.pitch;
    p.end = p.row + image.row_pixels * C;
    const unsigned early = (unsigned)((uintptr_t)p.row % 16);
    p.address = p.row - early + place * Shape<C>::UNIT;
    p.phase = (48 - early + threadIdx.x % 32 * 16) % C; /* UNIT is a multiple of C */
    return p;
}

#endif
