/* SPDX-License-Identifier: MIT */
/* histogram8/extrema.cuh: the extrema of what a lane counts, two bytes an instruction, and the tile
 * in which a block met them first. */
#ifndef IMGSTAT_KERNELS_HISTOGRAM8_EXTREMA_CUH
#define IMGSTAT_KERNELS_HISTOGRAM8_EXTREMA_CUH

#include "histogram8/block.cuh"

/* Extrema of what a lane counts of a tile: of pairs of bytes, in the upper bytes of halves of
 * words. Channels are counted from that of the lane's first byte. Three channels: the halves are of
 * channels (1, 0), (0, 2) and (2, 1); two, four: of even bytes, of odd ones. */
template <int C> struct Extent {
    enum { WORDS = C == 1 ? 1 : C == 3 ? 3 : 2 };
    uint32_t least[WORDS], most[WORDS];
};

template <int C> DEVICE Extent<C> extent_none()
{
    Extent<C> extent;
#pragma unroll
    for (int i = 0; i < Extent<C>::WORDS; i++) {
        extent.least[i] = 0xFFFFFFFF;
        extent.most[i] = 0;
    }
    return extent;
}

/* Adds a word whose first byte is of channel ROTATE. low, high: the word, but for bytes that
 * are no sample, which are 0xFF and 0. */
template <int C, int ROTATE> DEVICE void extend(Extent<C> *extent, uint32_t low, uint32_t high)
{
    constexpr int odd = C == 1 ? 0 : C == 3 ? (3 - ROTATE % 3) % 3 : 1;
    constexpr int even = C == 3 ? (4 - ROTATE % 3) % 3 : 0;
    extent->least[odd] = __vminu2(extent->least[odd], low);
    extent->least[even] = __vminu2(extent->least[even], low << 8);
    extent->most[odd] = __vmaxu2(extent->most[odd], high);
    extent->most[even] = __vmaxu2(extent->most[even], high << 8);
}

DEVICE int upper(uint32_t word, int half)
{
    return (int)(half ? word >> 24 : word >> 8 & 0xFF);
}

/* The extrema of each channel; phase: the channel of the lane's first byte. */
template <int C>
DEVICE void extent_keys(const Extent<C> &extent, unsigned phase, int (&low)[C], int (&high)[C])
{
    int least[C], most[C]; /* from the lane's first channel on */
#pragma unroll
    for (int j = 0; j < C; j++) {
        /* Words and halves that hold channel j. */
        const int a = C == 1 ? 0 : C == 3 ? (j == 0 ? 0 : j == 1 ? 0 : 1) : j % 2;
        const int b = C == 1 ? 0 : C == 3 ? (j == 0 ? 1 : 2) : j % 2;
        const int at = C == 3 ? j != 1 : C == 4 ? j / 2 : 0;
        const int bt = C == 3 ? j == 1 : C == 4 ? j / 2 : 1;
        least[j] = min(upper(extent.least[a], at), upper(extent.least[b], bt));
        most[j] = max(upper(extent.most[a], at), upper(extent.most[b], bt));
    }
#pragma unroll
    for (int c = 0; c < C; c++) {
        low[c] = least[c];
        high[c] = most[c];
#pragma unroll
        for (int s = 1; s < C; s++) {
            if (phase == (unsigned)s) {
                low[c] = least[(c + C - s) % C];
                high[c] = most[(c + C - s) % C];
            }
        }
    }
}

/* The warps of the block have seen nothing of an image. Thread i of n. */
template <int C> DEVICE void clear_extrema(ImageState8<C> *held, unsigned i, unsigned n)
{
    const Limits none = {{TABLE_BINS, TABLE_BINS, TABLE_BINS, TABLE_BINS}, {-1, -1, -1, -1}};
    for (unsigned k = i; k < WARPS * 2 * C; k += n)
        held->seen[k / (2 * C)][k % (2 * C)] = 0;
    for (unsigned k = i; k < 2 * C; k += n)
        held->position[k] = 0;
    for (unsigned k = i; k < WARPS; k += n)
        held->limits[k] = none;
}

/* After a tile: where it goes beyond what the warp has seen, the warp notes it. Tiles of a warp
 * ascend, so that an equal extremum is never the first. low > high: no sample. */
template <int C>
DEVICE void update_limits(ImageState8<C> *held, const int (&low)[C], const int (&high)[C],
                          uint64_t tile)
{
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    Limits *limits = &held->limits[warp];
    const Limits before = *limits;
    bool news = false;
#pragma unroll
    for (int c = 0; c < C; c++)
        news |= low[c] < before.low[c] || high[c] > before.high[c];
    if (!__any_sync(NONE, news)) /* and all have read what is written now */
        return;
    int least = 1, most = 0; /* of the channel that the lane looks after: two a channel */
#pragma unroll
    for (int c = 0; c < C; c++) {
        const int l = warp_min(low[c]), h = -warp_min(-high[c]);
        least = lane / 2 == (unsigned)c ? l : least;
        most = lane / 2 == (unsigned)c ? h : most;
    }
    if (least <= most) {
        const bool largest = lane % 2;
        int16_t *limit = largest ? &limits->high[lane / 2] : &limits->low[lane / 2];
        if (largest ? most > *limit : least < *limit) {
            *limit = (int16_t)(largest ? most : least);
            held->seen[warp][lane] = extremum_word(*limit, tile, largest);
        }
    }
    __syncwarp();
}

#endif
