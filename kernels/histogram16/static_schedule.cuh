/* SPDX-License-Identifier: MIT */
/* histogram16/static_schedule.cuh: counting an image that has a launch to itself and no gaps
 * between its rows: warps take tiles in a fixed order, and never wait for each other. */
#ifndef IMGSTAT_KERNELS_HISTOGRAM16_STATIC_SCHEDULE_CUH
#define IMGSTAT_KERNELS_HISTOGRAM16_STATIC_SCHEDULE_CUH

#include "common/tuning.cuh"
#include "histogram16/count.cuh"
#include "histogram16/layout.cuh"

/* After so many steps the table is emptied: 2^31 samples at most in 32 bits. Where words are
 * shared, as many as leave their halves far from full as a rule: 2^23. */
enum { WINDOW_STEPS = 1 << 16, SHARED_STEPS = (1 << 23) / (WARPS * NARROW16_PIXELS) };
static_assert((uint64_t)WINDOW_STEPS * WARPS * NARROW16_PIXELS <= 1ull << 31, "32 bits do");

static const uint64_t NO_TAIL = 1ull << 40; /* more tiles than there are */

/* The tiles of an image, and how warps share them: most go in a fixed order, the last ones to
 * the warp that asks first, so that all end together. */
struct StaticSchedule {
    const unsigned char *base; /* of tile 0 */
    uint64_t first, last;      /* whole tiles: from first to before last */
    uint64_t fixed;            /* those before go in a fixed order; NO_TAIL: all */
    unsigned *queue;           /* of the others, which one in `queues` is in */
    uint32_t queues, number;   /* number: of the queue */
    uint32_t stride;           /* from one of the warp's to the next */
    uint32_t before;           /* samples by which tile 0 begins before the image */
};

/* A warp's tile to be counted, and the one to follow; schedule.last or more: none. */
struct TileCursor {
    uint64_t tile, next;
};

DEVICE StaticSchedule static_schedule_of(const Work &work, const WorkImage &image)
{
    const uint32_t parts = parts_of(work), part = blockIdx.x % parts, block = blockIdx.x / parts;
    const uint32_t blocks = gridDim.x / parts;
    const uint32_t early = (uint32_t)((uintptr_t)image.pixels % 16);
    StaticSchedule schedule;
    schedule.base = image.pixels - early;
    schedule.first = early ? 1 : 0;
    schedule.last = (early + image.row_pixels * image.channels * 2) / NARROW16_TILE;
    schedule.stride = blocks * WARPS;
    const uint64_t most = schedule.last - min(schedule.last / HISTOGRAM16_TAIL_SHARE,
                                              (uint64_t)65535); /* noted in 16 bits */
    schedule.fixed =
        max((most + schedule.stride - 1) / schedule.stride, (uint64_t)1) * schedule.stride;
    if (schedule.fixed >= schedule.last)
        schedule.fixed = NO_TAIL;
    schedule.queues = min(blocks, TAIL_QUEUES / parts);
    schedule.number = block % schedule.queues;
    schedule.queue = &work.shared->tail[(part * schedule.queues + schedule.number) * TAIL_STRIDE];
    schedule.before = early / 2;
    return schedule;
}

/* A warp's first tile. Few tiles go to all blocks. */
DEVICE uint64_t first_tile(const StaticSchedule &schedule, uint32_t block)
{
    const uint32_t warp = threadIdx.x / 32;
    return schedule.last < schedule.stride ? warp * (schedule.stride / WARPS) + block
                                           : block * WARPS + warp;
}

/* The warp's tile after one; `asked` is what its first lane has got from the queue. */
DEVICE uint64_t queued_tile(const StaticSchedule &schedule, unsigned asked)
{
    return schedule.fixed + schedule.number +
           (uint64_t)__shfl_sync(NONE, asked, 0) * schedule.queues;
}

/* One lane. The launch before may be at work with the queue. */
DEVICE unsigned request_tile(const StaticSchedule &schedule)
{
    after_all_before();
    return atomicAdd(schedule.queue, 1u);
}

DEVICE uint64_t tile_after(const StaticSchedule &schedule, uint64_t tile)
{
    unsigned asked = 0;
    if (tile + schedule.stride < schedule.fixed)
        return tile + schedule.stride;
    if (threadIdx.x % 32 == 0)
        asked = request_tile(schedule);
    return queued_tile(schedule, asked);
}

/* What is the same in all lanes, so that the compiler knows. */
DEVICE uint64_t uniform(uint64_t v)
{
    return (uint64_t)__shfl_sync(NONE, (uint32_t)(v >> 32), 0) << 32 |
           __shfl_sync(NONE, (uint32_t)v, 0);
}

/* Counts the tiles of a cursor, `most` of them at most. Windows that miss much are given up unless
 * `fixed`. Where words are shared, tiles that did not come in a fixed order are noted. Returns how
 * many were in a fixed order. PLAIN: U16 without nodata. All lanes. (These are part of the kernel
 * and call nothing: otherwise registers do not suffice, and what a step needs is kept in memory.)
 */
template <int CHANNELS, bool FOLD, bool PLAIN>
DEVICE uint32_t count_static(Block16 *block, uint64_t *bins, const StaticSchedule &schedule,
                             unsigned channel, TileCursor *cursor, uint32_t most, bool fixed)
{
    enum { UNROLL = !FOLD || CHANNELS > 1 ? 1 : 2 };
    const unsigned char *const base = (const unsigned char *)uniform((uint64_t)schedule.base);
    const unsigned char *const end = base + uniform(schedule.last) * NARROW16_TILE;
    const unsigned char *const in_order_end = base + uniform(schedule.fixed) * NARROW16_TILE;
    const uint32_t step = schedule.stride * NARROW16_TILE;
    const Fast fast = fast_layout(block->layout);
    const uint32_t own = first_own<CHANNELS>(channel, schedule.before);
    const ExtremaMode mode = PLAIN ? EXTREMA_U16 : extrema_mode(block->image);
    const unsigned lane = threadIdx.x % 32;
    const unsigned char *at = base + uniform(cursor->tile) * NARROW16_TILE;
    const unsigned char *next = base + uniform(cursor->next) * NARROW16_TILE;
    uint32_t done = 0, noted = 0;
    bool go = true;
    RunningExtrema running = {no_extrema(), 0, 0};
    uint4 now[STEPS], then[STEPS];
    if (at >= end) {
        if (lane == 0)
            block->notes[threadIdx.x / 32] = 0;
        return 0;
    }
    load_tile((const uint4 *)at + lane, now);
#pragma unroll UNROLL
    do {
        load_tile((const uint4 *)(next < end ? next : at) + lane, then);
        const unsigned missed = !FOLD ? *(volatile unsigned *)&block->missed : 0;
        const unsigned char *after = next + step;
        unsigned asked = 0;
        if (after >= in_order_end && lane == 0)
            asked = request_tile(schedule);
        if (CHANNELS == 1 || !FOLD)
            __syncwarp(); /* or the compiler would have the loads begin behind the increments */
        LaneExtrema seen = running.seen;
        count_tile<CHANNELS, FOLD>(block, fast, bins, now, (const uint4 *)at + lane, own, mode,
                                   &seen);
        update_running(&running, seen, (uint32_t)((at - base) / NARROW16_TILE));
#pragma unroll
        for (int i = 0; i < STEPS; i++)
            now[i] = then[i];
        if (!FOLD) {
            go = fixed || missed <= NARROW16_PIXELS;
        } else if (at >= in_order_end) {
            if (lane == 0)
                block->noted[threadIdx.x / 32][noted] =
                    (uint16_t)((at - in_order_end) / NARROW16_TILE);
            go = ++noted < NOTED;
        }
        if (after >= in_order_end)
            after = base + queued_tile(schedule, asked) * NARROW16_TILE;
        at = next;
        next = after;
        done++;
    } while (go && done < most && at < end);
    if (FOLD && lane == 0) {
        block->notes[threadIdx.x / 32] = noted;
        atomicAdd(&block->counted, done * (NARROW16_PIXELS / CHANNELS));
    }
    __syncwarp();
    note_running(block, running);
    cursor->tile = (uint64_t)(at - base) / NARROW16_TILE;
    cursor->next = (uint64_t)(next - base) / NARROW16_TILE;
    return done - noted;
}

/* By a called function: samples that are not plain, and several channels where words are shared,
 * whose loop is the slower one within the kernel (docs/lab/2026-11-24-kernels.md). */
template <int CHANNELS, bool FOLD, bool PLAIN>
static __device__ __noinline__ uint32_t count_others(Block16 *block, uint64_t *bins,
                                                     const StaticSchedule &schedule,
                                                     unsigned channel, TileCursor *cursor,
                                                     uint32_t most, bool fixed)
{
    return count_static<CHANNELS, FOLD, PLAIN>(block, bins, schedule, channel, cursor, most, fixed);
}

template <int CHANNELS, bool FOLD>
DEVICE uint32_t count_styled(Block16 *block, uint64_t *bins, const StaticSchedule &schedule,
                             unsigned channel, TileCursor *cursor, uint32_t most, bool fixed)
{
    constexpr bool CALL = CHANNELS > 1 && FOLD;
    if (extrema_mode(block->image) != EXTREMA_U16)
        return count_others<CHANNELS, FOLD, false>(block, bins, schedule, channel, cursor, most,
                                                   fixed);
    if constexpr (CALL)
        return count_others<CHANNELS, FOLD, true>(block, bins, schedule, channel, cursor, most,
                                                  fixed);
    else
        return count_static<CHANNELS, FOLD, true>(block, bins, schedule, channel, cursor, most,
                                                  fixed);
}

/* count_static in the style of the layout. */
template <int CHANNELS>
DEVICE uint32_t count_phase(Block16 *block, uint64_t *bins, const StaticSchedule &schedule,
                            unsigned channel, TileCursor *cursor)
{
    const Layout &layout = block->layout;
    if (!layout.fold)
        return count_styled<CHANNELS, false>(block, bins, schedule, channel, cursor, WINDOW_STEPS,
                                             !can_fold(layout.words));
    return count_styled<CHANNELS, true>(block, bins, schedule, channel, cursor, SHARED_STEPS, true);
}

/* Whether counters add up to the samples that were counted. Halves that overflow lose 65,536, or
 * 65,535 to the other half, so that any of them shows. All threads; nothing is counted
 * meanwhile. */
static __device__ __noinline__ bool adds_up(Block16 *block, uint32_t words)
{
    const uint32_t wide = block->layout.wide;
    const uint4 *vectors = (const uint4 *)table;
    uint32_t sum = 0;
#pragma unroll 7
    for (uint32_t i = threadIdx.x; i < words / 4; i += THREADS) {
        const uint4 v = vectors[i];
        if (4 * i < wide)
            sum += v.x + v.y + v.z + v.w;
        else
            sum += (v.x & HALF_MASK) + (v.x >> 16) + (v.y & HALF_MASK) + (v.y >> 16) +
                   (v.z & HALF_MASK) + (v.z >> 16) + (v.w & HALF_MASK) + (v.w >> 16);
    }
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0)
        atomicAdd(&block->total, sum);
    __syncthreads(); /* the total is complete */
    const bool same = block->total == block->counted;
    __syncthreads(); /* all know it */
    if (threadIdx.x == 0)
        block->total = block->counted = 0;
    return same;
}

/* Counts tiles again, with a look at the shared words after each round: so many in order from
 * `tile` on, and those noted. All threads. */
template <int CHANNELS>
static __device__ __noinline__ void count_again(Block16 *block, uint64_t *bins,
                                                const StaticSchedule &schedule, unsigned channel,
                                                uint64_t tile, uint32_t in_order)
{
    const Fast fast = fast_layout(block->layout);
    const uint32_t own = first_own<CHANNELS>(channel, schedule.before);
    const unsigned warp = threadIdx.x / 32;
    const uint32_t n = in_order + block->notes[warp];
    uint32_t since = 0;
    after_all_before(); /* halves are emptied to the bins */
    for (unsigned i = threadIdx.x; i < block->layout.words / 4; i += THREADS)
        ((uint4 *)table)[i] = make_uint4(0, 0, 0, 0);
    for (uint32_t i = 0; __syncthreads_or(i < n); i++) {
        if (i < n) {
            uint4 v[STEPS];
            uint32_t word[Own<CHANNELS>::WORDS];
            const uint64_t u = i < in_order ? tile + (uint64_t)i * schedule.stride
                                            : schedule.fixed + block->noted[warp][i - in_order];
            load_tile((const uint4 *)(schedule.base + u * NARROW16_TILE) + threadIdx.x % 32, v);
            gather<CHANNELS>(v, own, word);
            count_mixed(fast, word);
        }
        since = end_step(block, bins, since);
    }
}

#endif
