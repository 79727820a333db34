/* SPDX-License-Identifier: MIT */
/* narrow8_report.cuh: where in its unit an extremum is, and how a block adds what it has of an
 * image to the record. */
#ifndef IMGSTAT_NARROW8_REPORT_CUH
#define IMGSTAT_NARROW8_REPORT_CUH

#include "narrow8.cuh"

#include <stddef.h>

/* ---- Positions ------------------------------------------------------------------------------- */

/* Offset of the first byte `value` of the channel in vectors part, part + PARTS and so on of a
 * plain unit, from its first byte; NONE: it is not there. Short code: it runs once, so what it
 * costs is being fetched. */
template <int C>
static __device__ __forceinline__ unsigned find_plain(const Place &place, unsigned channel,
                                                      unsigned value, unsigned part)
{
    enum { AHEAD = 2 };
    const unsigned lane = threadIdx.x % 32;
    unsigned first = NONE;
#pragma unroll 1
    for (unsigned k = part; k < Shape<C>::STEPS && first == NONE; k += AHEAD * Shape<C>::PARTS) {
        uint4 v[AHEAD];
        bool whole[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            const unsigned step = k + i * Shape<C>::PARTS;
            const unsigned char *from = place.address + step * 512 + lane * 16;
            whole[i] = step < Shape<C>::STEPS && from >= place.row && from + 16 <= place.end;
            v[i] = make_uint4(0, 0, 0, 0);
            if (whole[i])
                v[i] = __ldcg((const uint4 *)from);
        }
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            const unsigned step = k + i * Shape<C>::PARTS, offset = step * 512 + lane * 16;
            const uint32_t word[4] = {v[i].x, v[i].y, v[i].z, v[i].w};
#pragma unroll
            for (int w = 0; w < 4; w++) {
                uint32_t equal = NONE;
                if (whole[i])
                    equal = __vcmpeq4(word[w], value * 0x01010101u);
                else if (step >= Shape<C>::STEPS)
                    equal = 0;
                while (equal && first == NONE) {
                    const unsigned p = (unsigned)(__ffs((int)equal) - 1) / 8,
                                   at = offset + 4 * w + p;
                    equal &= ~(0xFFu << 8 * p);
                    const unsigned char *byte = place.address + at;
                    if ((place.phase + step * 512 + 4 * w + p) % C != channel)
                        continue;
                    if (whole[i] || (byte >= place.row && byte < place.end && *byte == value))
                        first = at;
                }
            }
        }
    }
    return first;
}

/* Raster index, from the image's first pixel, of the first `value` of the channel that a lane meets
 * in its part of a unit; all ones: it meets none. */
template <int C, bool PLAIN>
static __device__ __noinline__ uint64_t find_first(const WorkImage &image, uint64_t unit,
                                                   unsigned channel, unsigned channel0,
                                                   unsigned value, unsigned part)
{
    if (PLAIN) {
        const Place place = plain_place<C>(image, unit);
        const unsigned first = find_plain<C>(place, channel, value, part);
        if (first == NONE)
            return ~0ull;
        return place.number * image.row_pixels + (uint64_t)(place.address + first - place.row) / C;
    }
    uint64_t row, place;
    unit_place(image, unit, &row, &place);
    const unsigned char *samples = image.pixels + row * image.pitch + channel0 + channel;
    const uint8_t *mask = image.mask ? image.mask + row * image.mask_pitch : NULL;
    const uint64_t begin = place * NARROW8_PIXELS;
    const uint64_t end = min(begin + NARROW8_PIXELS, image.row_pixels);
    for (uint64_t x = begin + part * 32 + threadIdx.x % 32; x < end; x += 32 * Shape<C>::PARTS) {
        if (samples[x * image.channels] == value && (!mask || mask[x]))
            return row * image.row_pixels + x;
    }
    return ~0ull;
}

/* ---- Reports --------------------------------------------------------------------------------- */

/* One warp: tells other blocks what this one found, and whether it is the last to do so. */
template <int C>
static __device__ __forceinline__ void report(Block8<C> *block, const Held8<C> *held,
                                              NarrowState *state)
{
    const unsigned lane = threadIdx.x;
    const bool sole = held->items == held->image.items;
    if (!sole) {
        if (lane < 2 * C && held->best[lane])
            atomicMax(&state->found[lane], held->best[lane]);
        if (lane == 0 && held->masked)
            atomicAdd(&state->masked, held->masked);
        __syncwarp();
    }
    if (lane == 0) {
        block->sole = block->last = sole;
        if (!sole) {
            __threadfence();
            block->last =
                atomicAdd(&state->items_done, held->items) + held->items == held->image.items;
            __threadfence();
        }
    }
}

/* Adds up the columns of the table and empties it. */
template <int C, int SHIFT> static __device__ __forceinline__ void sum_columns(Block8<C> *block)
{
    /* Vectors of 16 bytes a bin, of them in use, and in groups of a channel (the last of three
     * channels has two). */
    enum { VECTORS = 1 << (SHIFT - 4), USED = C == 1 ? 8 : VECTORS, GROUPS = C > 2 ? 4 : C };
    enum { GROUP = USED / GROUPS };
    const unsigned q = threadIdx.x % USED, group = q / GROUP;
#pragma unroll 4
    for (unsigned i = threadIdx.x; i < TABLE_BINS * USED; i += THREADS) {
        const unsigned bin = i / USED;
        uint4 *at = (uint4 *)table + bin * VECTORS + q;
        const uint4 v = *at;
        uint64_t sum = (uint64_t)v.x + v.y + v.z + v.w;
        *at = make_uint4(0, 0, 0, 0);
#pragma unroll
        for (int h = GROUP / 2; h > 0; h /= 2)
            sum += __shfl_xor_sync(NONE, sum, h);
        if (C == 3) {
            const uint64_t other = __shfl_xor_sync(NONE, sum, GROUP);
            sum += group >= 2 ? other : 0;
        }
        if (q % GROUP == 0 && !(C == 3 && group == 3))
            block->sum[group * TABLE_BINS + bin] = sum;
    }
}

/* Adds them to the bins of the record. */
template <int C>
static __device__ __forceinline__ void add_bins(const Block8<C> *block, const WorkImage &image,
                                                unsigned channel0)
{
    const unsigned flip = image.sample == IMGSTAT_I8 ? 0x80 : 0;
    uint64_t *bins = image.bins + channel0 * TABLE_BINS;
    /* Whole warps, and each block begins elsewhere: otherwise all meet at the same bins. */
    for (unsigned i = threadIdx.x; i < C * TABLE_BINS; i += THREADS) {
        const unsigned bin = (i + blockIdx.x * 32) % (C * TABLE_BINS);
        if (block->sum[bin])
            bin_add(&bins[bin ^ flip], block->sum[bin]);
    }
}

/* Merges a finished image into its record. 2 C PARTS warps of the block that is last. */
template <int C, bool PLAIN>
static __device__ __noinline__ void merge(const Work &work, Block8<C> *block, const Held8<C> *held)
{
    const WorkImage &image = held->image;
    NarrowState *state = (NarrowState *)work.state + held->number;
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, i = warp / Shape<C>::PARTS;
    const unsigned flip = image.sample == IMGSTAT_I8 ? 0x80 : 0;
    const unsigned long long best = block->sole ? held->best[i] : __ldcg(&state->found[i]);
    const uint64_t masked = block->sole ? held->masked : __ldcg(&state->masked);
    if (best) {
        const bool largest = i % 2;
        const int key = (int)offer_key(best, largest);
        uint64_t at = find_first<C, PLAIN>(image, offer_at(best), i / 2, work.channel0,
                                           (unsigned)key ^ flip, warp % Shape<C>::PARTS);
#pragma unroll 1
        for (int h = 16; h > 0; h /= 2)
            at = min(at, (uint64_t)__shfl_xor_sync(NONE, at, h));
        if (lane == 0 && at != ~0ull)
            atomicMax(&block->offer[i], narrow_offer(key, image.first_at + at, largest));
    }
    __syncwarp();
    asm volatile("barrier.sync 1, %0;" ::"n"(2 * C * Shape<C>::PARTS * 32)
                 : "memory"); /* these alone */
    if (warp != 0)
        return;
    unsigned *lock = record_lock(work, image.tally);
    if (lane == 0 && !work.distinct)
        lock_take(lock);
    __syncwarp();
    if (lane < C)
        narrow_merge(image.tally + work.channel0 + lane, image.rows * image.row_pixels - masked,
                     masked, block->offer[2 * lane], block->offer[2 * lane + 1]);
    __syncwarp();
    if (lane == 0 && !work.distinct)
        lock_release(lock);
    if (!block->sole && lane < C)
        state->found[2 * lane] = state->found[2 * lane + 1] = 0;
    if (!block->sole && lane == 0) {
        state->masked = 0;
        state->items_done = 0;
    }
}

/* Word i of the description of an image. */
static __device__ __forceinline__ uint32_t image_word(const Work &work, uint32_t number, unsigned i)
{
    const unsigned half = i % 2;
    if (!work.places)
        return ((const uint32_t *)&work_image(work, number))[i];
    const WorkPlace *place = &work.places[number];
    switch (i / 2 * 8) {
    case offsetof(WorkImage, pixels):
        return ((const uint32_t *)&place->pixels)[half];
    case offsetof(WorkImage, first_at):
        return ((const uint32_t *)&place->first_at)[half];
    case offsetof(WorkImage, tally):
        return ((const uint32_t *)&place->tally)[half];
    case offsetof(WorkImage, bins):
        return ((const uint32_t *)&place->bins)[half];
    case offsetof(WorkImage, first_item):
        return half ? 0 : number;
    default:
        return ((const uint32_t *)&work.only)[i];
    }
}

/* Reports what the block has of the image that it holds, `before` (NULL: none), and makes image
 * `number` (NONE: none) its own. All threads; the table and `best` are complete. */
template <int C, int SHIFT, bool PLAIN>
static __device__ __noinline__ void turn_over(const Work &work, Block8<C> *block,
                                              const Held8<C> *before, Held8<C> *held,
                                              uint32_t number)
{
    enum { WORDS = sizeof(WorkImage) / 4 };
    const unsigned i = threadIdx.x;
    uint32_t word = 0; /* on its way meanwhile */
    if (i < WORDS && number != NONE)
        word = image_word(work, number, i);
    if (before) {
        if (i < 32)
            report<C>(block, before, (NarrowState *)work.state + before->number);
        sum_columns<C, SHIFT>(block);
    }
    if (i < WORDS)
        ((uint32_t *)&held->image)[i] = word;
    for (unsigned k = i; k < WARPS * C; k += THREADS) {
        block->low[k / C][k % C] = TABLE_BINS;
        block->high[k / C][k % C] = -1;
    }
    if (i < 2 * C)
        held->best[i] = block->offer[i] = 0;
    if (i == 0) {
        held->number = number;
        held->items = 0;
        held->samples = 0;
        held->masked = 0;
    }
    __syncthreads(); /* the table is empty, `last` is known, `held` is ready */
    if (before)
        add_bins<C>(block, before->image, work.channel0);
    if (before && block->last && i < 2 * C * Shape<C>::PARTS * 32)
        merge<C, PLAIN>(work, block, before); /* the other warps count already */
}

#endif
