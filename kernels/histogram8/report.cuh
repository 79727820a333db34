/* SPDX-License-Identifier: MIT */
/* histogram8/report.cuh: where in its tile an extremum is, and how a block adds what it has of an
 * image to the record. */
#ifndef IMGSTAT_KERNELS_HISTOGRAM8_REPORT_CUH
#define IMGSTAT_KERNELS_HISTOGRAM8_REPORT_CUH

#include "histogram8/extrema.cuh"

#include <stddef.h>

/* ---- Positions ------------------------------------------------------------------------------- */

/* Bytes of the channel in word w of a vector, whose first byte is of channel `phase`. */
template <int C> DEVICE uint32_t channel_bytes(unsigned channel, unsigned phase, unsigned w)
{
    const unsigned first = (channel + 4 * C - phase + (C == 3 ? 2 * w : 0)) % C;
    if (C == 1)
        return NONE;
    return (C == 4 ? 0xFFu : C == 2 ? 0xFF00FFu : first == 0 ? 0xFF0000FFu : 0xFFu) << 8 * first;
}

/* Offset of the first byte `value` of the channel in vectors part, part + PARTS and so on of a
 * plain tile, from its first byte; NONE: the lane meets none. Short code: it runs once, so what it
 * costs is being fetched. */
template <int C>
DEVICE unsigned find_plain(const TilePlace8 &place, unsigned channel, unsigned value, unsigned part)
{
    enum { AHEAD = 2, PARTS = Shape8<C>::PARTS };
    unsigned first = NONE;
#pragma unroll 1
    for (unsigned k = part; k < Shape8<C>::STEPS && first == NONE; k += AHEAD * PARTS) {
        uint4 v[AHEAD];
        bool whole[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            const unsigned step = k + i * PARTS;
            const unsigned char *from = place.address + step * 512 + threadIdx.x % 32 * 16;
            whole[i] = step < Shape8<C>::STEPS && from >= place.row && from + 16 <= place.end;
            if (whole[i])
                v[i] = __ldcg((const uint4 *)from);
        }
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            const unsigned step = k + i * PARTS, offset = step * 512 + threadIdx.x % 32 * 16;
            const unsigned phase = (place.phase + step * 512) % C;
            if (whole[i]) {
                const uint32_t word[4] = {v[i].x, v[i].y, v[i].z, v[i].w};
#pragma unroll
                for (unsigned w = 0; w < 4; w++) {
                    const uint32_t other =
                        (word[w] ^ value * 0x01010101u) | ~channel_bytes<C>(channel, phase, w);
                    /* The lowest flag is that of the lowest byte that is 0. */
                    const uint32_t flags = (other - 0x01010101u) & ~other & 0x80808080u;
                    if (flags)
                        first = min(first, offset + 4 * w + (unsigned)__ffs((int)flags) / 8 - 1);
                }
            } else if (step < Shape8<C>::STEPS) {
#pragma unroll 1
                for (unsigned p = 0; p < 16; p++) {
                    const unsigned char *byte = place.address + offset + p;
                    if (byte >= place.row && byte < place.end && (phase + p) % C == channel &&
                        *byte == value)
                        first = min(first, offset + p);
                }
            }
        }
    }
    return first;
}

/* The same in pixels of any tile, from its first. */
template <int C>
DEVICE unsigned find_general(const WorkImage &image, uint64_t row, uint64_t begin, unsigned channel,
                             unsigned value, unsigned part)
{
    const unsigned char *samples = image.pixels + row * image.pitch + channel;
    const uint8_t *mask = image.mask ? image.mask + row * image.mask_pitch : NULL;
    const uint64_t end = min(begin + NARROW8_PIXELS, image.row_pixels);
    for (uint64_t x = begin + part * 32 + threadIdx.x % 32; x < end; x += 32 * Shape8<C>::PARTS) {
        if (samples[x * image.channels] == value && (!mask || mask[x]))
            return (unsigned)(x - begin);
    }
    return NONE;
}

/* Raster index, from the image's first pixel, of the first `value` of the channel that a warp meets
 * in its part of a tile; all ones: it meets none. */
template <int C, bool PLAIN>
static __device__ __noinline__ uint64_t find_first(const WorkImage &image, uint64_t tile,
                                                   unsigned channel, unsigned channel0,
                                                   unsigned value, unsigned part)
{
    if (PLAIN) {
        const TilePlace8 place = plain_place<C>(image, tile);
        const unsigned first = warp_min(find_plain<C>(place, channel, value, part));
        if (first == NONE)
            return ~0ull;
        return place.number * image.row_pixels + (uint64_t)(place.address + first - place.row) / C;
    }
    uint64_t row, place;
    tile_place(image, tile, &row, &place);
    const uint64_t begin = place * NARROW8_PIXELS;
    const unsigned first =
        warp_min(find_general<C>(image, row, begin, channel0 + channel, value, part));
    return first == NONE ? ~0ull : row * image.row_pixels + begin + first;
}

/* ---- Reports --------------------------------------------------------------------------------- */

/* One warp: publishes what this block found; returns whether it is the last to do so. */
template <int C> DEVICE void report(const Work &work, ImageState8<C> *held)
{
    NarrowState *state = (NarrowState *)work.state + held->number;
    const unsigned lane = threadIdx.x % 32;
    const bool sole = held->items == held->image.items;
    unsigned long long best = 0;
    if (lane < 2 * C) {
#pragma unroll
        for (int w = 0; w < WARPS; w++)
            best = max(best, held->seen[w][lane]);
        held->best[lane] = best;
    }
    if (!sole) {
        if (best)
            atomicMax(&state->found[lane], best);
        if (lane == 0 && held->masked)
            atomicAdd(&state->masked, held->masked);
        __syncwarp();
    }
    if (lane == 0) {
        held->sole = held->last = sole;
        if (!sole) {
            __threadfence();
            held->last =
                atomicAdd(&state->items_done, held->items) + held->items == held->image.items;
            __threadfence();
        }
    }
    __syncwarp();
}

/* Adds up the counters in vectors of 16 bytes, from number `first` on, and empties them. */
template <int VECTORS> DEVICE uint64_t fetch_counters(uint4 *vectors, unsigned first)
{
    uint64_t sum = 0;
#pragma unroll
    for (unsigned k = 0; k < VECTORS; k++) {
        uint4 *at = &vectors[(first + k) % VECTORS];
        const uint4 v = *at;
        *at = make_uint4(0, 0, 0, 0);
        sum += (uint64_t)v.x + v.y + v.z + v.w;
    }
    return sum;
}

/* Adds the table to the bins of the record and empties it. A lane takes the columns of one bin;
 * lanes side by side begin at different vectors, so that they do not meet in a bank: either 32 bins
 * of a channel, or, where a channel has so few columns that this is not enough, 16 bins of two.
 * Each block begins elsewhere: otherwise all meet at the same. */
template <int C> DEVICE void add_table(const ImageState8<C> *held, unsigned channel0)
{
    /* Vectors of a bin, and of a channel of it: the last of three channels has two columns a lane.
     */
    enum { ROW = WIDE_ROW / 16, WIDE = C == 1 ? 8 : ROW / 2, SLIM = ROW / 4 };
    enum { TASKS = C == 3 ? 24 : C * 8 };
    const unsigned lane = threadIdx.x % 32;
    const unsigned flip = held->image.sample == IMGSTAT_I8 ? 0x80 : 0;
#pragma unroll 1
    for (unsigned task = threadIdx.x / 32; task < TASKS; task += WARPS) {
        uint64_t n;
        unsigned bin, channel;
        if (C == 4 || (C == 3 && task < 16)) {
            bin = (task + blockIdx.x) % 16 * 16 + lane / 8 * 4 + lane % 4;
            channel = task / 16 * 2 + lane / 4 % 2;
            n = fetch_counters<SLIM>((uint4 *)table + bin * ROW + channel * SLIM, lane);
        } else {
            bin = (task + blockIdx.x) % 8 * 32 + lane;
            channel = C == 3 ? 2 : task / 8;
            n = fetch_counters<WIDE>((uint4 *)table + bin * ROW + (C == 3 ? 1 : channel) * WIDE,
                                     lane);
        }
        if (n)
            bin_add(&held->image.bins[(channel0 + channel) * TABLE_BINS + (bin ^ flip)], n);
    }
}

/* Looks for extremum i of an image in the one tile that holds it first. One warp. */
template <int C, bool PLAIN>
DEVICE void find_extremum(const Work &work, ImageState8<C> *held, unsigned i, unsigned part)
{
    const WorkImage &image = held->image;
    const NarrowState *state = (const NarrowState *)work.state + held->number;
    const unsigned flip = image.sample == IMGSTAT_I8 ? 0x80 : 0;
    const unsigned long long best = held->sole ? held->best[i] : __ldcg(&state->found[i]);
    if (best) {
        const bool largest = i % 2;
        const int key = (int)extremum_key(best, largest);
        const uint64_t at = find_first<C, PLAIN>(image, extremum_at(best), i / 2, work.channel0,
                                                 (unsigned)key ^ flip, part);
        if (threadIdx.x % 32 == 0 && at != ~0ull)
            atomicMax(&held->position[i], extremum_word(key, image.first_at + at, largest));
    }
    __syncwarp();
}

/* Merges the tallies of a finished image, whose extrema have been found, into its record. One
 * warp. */
template <int C> DEVICE void merge_tallies(const Work &work, const ImageState8<C> *held)
{
    const WorkImage &image = held->image;
    NarrowState *state = (NarrowState *)work.state + held->number;
    const unsigned lane = threadIdx.x % 32;
    const uint64_t masked = held->sole ? held->masked : __ldcg(&state->masked);
    unsigned *lock = record_lock(work, image.tally);
    if (lane == 0 && !work.distinct)
        lock_acquire(lock);
    __syncwarp();
    if (lane < C)
        narrow_merge(image.tally + work.channel0 + lane, image.rows * image.row_pixels - masked,
                     masked, held->position[2 * lane], held->position[2 * lane + 1]);
    __syncwarp();
    if (lane == 0 && !work.distinct)
        lock_release(lock);
    if (!held->sole && lane < C)
        state->found[2 * lane] = state->found[2 * lane + 1] = 0;
    if (!held->sole && lane == 0) {
        state->masked = 0;
        state->items_done = 0;
    }
}

/* Both by 2 C PARTS warps of the block that is last to report an image. */
template <int C, bool PLAIN>
static __device__ __noinline__ void merge(const Work &work, ImageState8<C> *held)
{
    enum { PARTS = Shape8<C>::PARTS };
    const unsigned warp = threadIdx.x / 32;
    find_extremum<C, PLAIN>(work, held, warp / PARTS, warp % PARTS);
    asm volatile("barrier.sync 1, %0;" ::"n"(2 * C * PARTS * 32) : "memory"); /* these alone */
    if (warp == 0)
        merge_tallies<C>(work, held);
}

/* Reports what the block has of the image that it holds, `before` (NULL: none), and makes image
 * `number` (NONE: none) its own. All threads; the table and what was seen are complete. */
template <int C, bool PLAIN>
static __device__ __noinline__ void switch_image(const Work &work, ImageState8<C> *before,
                                                 ImageState8<C> *held, uint32_t number)
{
    enum { WORDS = sizeof(WorkImage) / 4 };
    const unsigned i = threadIdx.x;
    uint32_t word = 0; /* on its way meanwhile */
    if (i < WORDS && number != NONE)
        word = image_word(work, number, i);
    if (before) {
        if (i < 32)
            report<C>(work, before);
        add_table<C>(before, work.channel0);
    }
    if (i < WORDS)
        ((uint32_t *)&held->image)[i] = word;
    clear_extrema<C>(held, i, THREADS);
    if (i == 0) {
        held->number = number;
        held->items = 0;
        held->samples = 0;
        held->masked = 0;
    }
    __syncthreads(); /* the table is empty, `last` is known, `held` is ready */
    if (before && before->last && i < 2 * C * Shape8<C>::PARTS * 32)
        merge<C, PLAIN>(work, before); /* the other warps count already */
}

#endif
