/* SPDX-License-Identifier: MIT */
/* histogram16/static_schedule.cuh: counting an image that has a launch to itself and no gaps
 * between its rows: warps take units by turns, and never wait for each other. */
#ifndef IMGSTAT_KERNELS_HISTOGRAM16_STATIC_SCHEDULE_CUH
#define IMGSTAT_KERNELS_HISTOGRAM16_STATIC_SCHEDULE_CUH

#include "common/tuning.cuh"
#include "histogram16/count.cuh"
#include "histogram16/layout.cuh"

/* After so many steps the table is emptied: 2^31 samples at most in 32 bits. Where words are
 * shared, as many as leave their halves far from full as a rule: 2^23. */
enum { WINDOW_STEPS = 1 << 16, SHARED_STEPS = (1 << 23) / (WARPS * NARROW16_PIXELS) };
static_assert((uint64_t)WINDOW_STEPS * WARPS * NARROW16_PIXELS <= 1ull << 31, "32 bits do");

static const uint64_t NO_TAIL = 1ull << 40; /* more units than there are */

/* The units of an image, and how warps share them: most go by turns, the last ones to whoever asks
 * for them, so that all end together. */
struct Turns {
    const unsigned char *base; /* of unit 0 */
    uint64_t first, last;      /* whole units: from first to before last */
    uint64_t fixed;            /* those before go by turns; NO_TAIL: all */
    unsigned *queue;           /* of the others, which one in `queues` is in */
    uint32_t queues, number;   /* number: of the queue */
    uint32_t stride;           /* from one of the warp's to the next */
    uint32_t before;           /* samples by which unit 0 begins before the image */
};

/* A warp's unit to be counted, and the one to follow; turns.last or more: none. */
struct Course {
    uint64_t unit, next;
};

static __device__ __forceinline__ Turns turns_of(const Work &work, const WorkImage &image,
                                                 unsigned part)
{
    const uint32_t blocks = gridDim.x / work.group;
    const uint32_t early = (uint32_t)((uintptr_t)image.pixels % 16);
    Turns turns;
    turns.base = image.pixels - early;
    turns.first = early ? 1 : 0;
    turns.last = (early + image.row_pixels * image.channels * 2) / NARROW16_UNIT;
    turns.stride = blocks * WARPS;
    const uint64_t most = turns.last - min(turns.last / HISTOGRAM16_TAIL_SHARE,
                                           (uint64_t)65535); /* noted in 16 bits */
    turns.fixed = max((most + turns.stride - 1) / turns.stride, (uint64_t)1) * turns.stride;
    if (turns.fixed >= turns.last)
        turns.fixed = NO_TAIL;
    turns.queues = min(blocks, TAIL_QUEUES / work.group);
    turns.number = blockIdx.x / work.group % turns.queues;
    turns.queue = &work.shared->tail[(part * turns.queues + turns.number) * TAIL_STRIDE];
    turns.before = early / 2;
    return turns;
}

/* A warp's first unit. Few units go to all blocks. */
static __device__ __forceinline__ uint64_t first_turn(const Turns &turns, uint32_t block)
{
    const uint32_t warp = threadIdx.x / 32;
    return turns.last < turns.stride ? warp * (turns.stride / WARPS) + block : block * WARPS + warp;
}

/* The warp's unit after one; `asked` is what its first lane has got from the queue. */
static __device__ __forceinline__ uint64_t turns_asked(const Turns &turns, unsigned asked)
{
    return turns.fixed + turns.number + (uint64_t)__shfl_sync(NONE, asked, 0) * turns.queues;
}

/* One lane. The launch before may be at work with the queue. */
static __device__ __forceinline__ unsigned ask_queue(const Turns &turns)
{
    after_all_before();
    return atomicAdd(turns.queue, 1u);
}

static __device__ __forceinline__ uint64_t turns_after(const Turns &turns, uint64_t unit)
{
    unsigned asked = 0;
    if (unit + turns.stride < turns.fixed)
        return unit + turns.stride;
    if (threadIdx.x % 32 == 0)
        asked = ask_queue(turns);
    return turns_asked(turns, asked);
}

/* What is the same in all lanes, so that the compiler knows. */
static __device__ __forceinline__ uint64_t uniform(uint64_t v)
{
    return (uint64_t)__shfl_sync(NONE, (uint32_t)(v >> 32), 0) << 32 |
           __shfl_sync(NONE, (uint32_t)v, 0);
}

/* Counts the units of a course, `most` of them at most. Windows that miss much are given up unless
 * `fixed`. Where words are shared, units that did not come by turns are noted. Returns how many
 * were by turns. PLAIN: U16 without nodata. All lanes. (These are part of the kernel and call
 * nothing: otherwise registers do not suffice, and what a step needs is kept in memory.) */
template <int CHANNELS, int STYLE, bool PLAIN>
static __device__ __forceinline__ uint32_t count_turns(Block16 *block, uint64_t *bins,
                                                       const Turns &turns, unsigned channel,
                                                       Course *course, uint32_t most, bool fixed)
{
    enum { UNROLL = STYLE == WINDOW || CHANNELS > 1 ? 1 : 2 };
    const unsigned char *const base = (const unsigned char *)uniform((uint64_t)turns.base);
    const unsigned char *const end = base + uniform(turns.last) * NARROW16_UNIT;
    const unsigned char *const by_turns_end = base + uniform(turns.fixed) * NARROW16_UNIT;
    const uint32_t step = turns.stride * NARROW16_UNIT;
    const Fast fast = fast_layout(block->layout);
    const uint32_t own = first_own<CHANNELS>(channel, turns.before);
    const Look look = PLAIN ? LOOK_U16 : look_at(block->narrow.image, true);
    const unsigned lane = threadIdx.x % 32;
    const unsigned char *at = base + uniform(course->unit) * NARROW16_UNIT;
    const unsigned char *next = base + uniform(course->next) * NARROW16_UNIT;
    uint32_t done = 0, noted = 0;
    bool go = true;
    Kept kept = {see_nothing(), 0, 0};
    uint4 now[STEPS], then[STEPS];
    if (at >= end) {
        if (lane == 0)
            block->notes[threadIdx.x / 32] = 0;
        return 0;
    }
    load_unit((const uint4 *)at + lane, now);
#pragma unroll UNROLL
    do {
        load_unit((const uint4 *)(next < end ? next : at) + lane, then);
        const unsigned missed = STYLE == WINDOW ? *(volatile unsigned *)&block->missed : 0;
        const unsigned char *after = next + step;
        unsigned asked = 0;
        if (after >= by_turns_end && lane == 0)
            asked = ask_queue(turns);
        if (CHANNELS == 1 || STYLE == WINDOW)
            __syncwarp(); /* or the compiler would have the loads begin behind the increments */
        Seen seen = kept.seen;
        count_unit<CHANNELS, STYLE>(block, fast, bins, now, (const uint4 *)at + lane, own, look,
                                    &seen);
        keep_seen(&kept, seen, (uint32_t)((at - base) / NARROW16_UNIT));
#pragma unroll
        for (int i = 0; i < STEPS; i++)
            now[i] = then[i];
        if (STYLE == WINDOW) {
            go = fixed || missed <= NARROW16_PIXELS;
        } else if (at >= by_turns_end) {
            if (lane == 0)
                block->noted[threadIdx.x / 32][noted] =
                    (uint16_t)((at - by_turns_end) / NARROW16_UNIT);
            go = ++noted < NOTED;
        }
        if (after >= by_turns_end)
            after = base + turns_asked(turns, asked) * NARROW16_UNIT;
        at = next;
        next = after;
        done++;
    } while (go && done < most && at < end);
    if (STYLE != WINDOW && lane == 0) {
        block->notes[threadIdx.x / 32] = noted;
        atomicAdd(&block->counted, done * (NARROW16_PIXELS / CHANNELS));
    }
    __syncwarp();
    offer_kept(block, kept);
    course->unit = (uint64_t)(at - base) / NARROW16_UNIT;
    course->next = (uint64_t)(next - base) / NARROW16_UNIT;
    return done - noted;
}

/* By a called function: samples that are not plain, and several channels where words are shared,
 * whose loop is the slower one within the kernel (docs/kernels.md). */
template <int CHANNELS, int STYLE, bool PLAIN>
static __device__ __noinline__ uint32_t count_others(Block16 *block, uint64_t *bins,
                                                     const Turns &turns, unsigned channel,
                                                     Course *course, uint32_t most, bool fixed)
{
    return count_turns<CHANNELS, STYLE, PLAIN>(block, bins, turns, channel, course, most, fixed);
}

template <int CHANNELS, int STYLE>
static __device__ __forceinline__ uint32_t count_styled(Block16 *block, uint64_t *bins,
                                                        const Turns &turns, unsigned channel,
                                                        Course *course, uint32_t most, bool fixed)
{
    constexpr bool CALL = CHANNELS > 1 && STYLE != WINDOW;
    if (look_at(block->narrow.image, true) != LOOK_U16)
        return count_others<CHANNELS, STYLE, false>(block, bins, turns, channel, course, most,
                                                    fixed);
    if constexpr (CALL)
        return count_others<CHANNELS, STYLE, true>(block, bins, turns, channel, course, most,
                                                   fixed);
    else
        return count_turns<CHANNELS, STYLE, true>(block, bins, turns, channel, course, most, fixed);
}

/* count_turns in the style of the layout. */
template <int CHANNELS>
static __device__ __forceinline__ uint32_t count_phase(Block16 *block, uint64_t *bins,
                                                       const Turns &turns, unsigned channel,
                                                       Course *course)
{
    const Layout &layout = block->layout;
    if (!layout.fold)
        return count_styled<CHANNELS, WINDOW>(block, bins, turns, channel, course, WINDOW_STEPS,
                                              !can_fold(layout.words));
    if (layout.uniform)
        return count_styled<CHANNELS, UNIFORM>(block, bins, turns, channel, course, SHARED_STEPS,
                                               true);
    return count_styled<CHANNELS, MIXED>(block, bins, turns, channel, course, SHARED_STEPS, true);
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

/* Counts units again, with a look at the shared words after each round: so many by turns from
 * `unit` on, and those noted. All threads. */
template <int CHANNELS>
static __device__ __noinline__ void count_again(Block16 *block, uint64_t *bins, const Turns &turns,
                                                unsigned channel, uint64_t unit, uint32_t by_turns)
{
    const Fast fast = fast_layout(block->layout);
    const uint32_t own = first_own<CHANNELS>(channel, turns.before);
    const unsigned warp = threadIdx.x / 32;
    const uint32_t n = by_turns + block->notes[warp];
    uint32_t since = 0;
    after_all_before(); /* halves are emptied to the bins */
    for (unsigned i = threadIdx.x; i < block->layout.words / 4; i += THREADS)
        ((uint4 *)table)[i] = make_uint4(0, 0, 0, 0);
    for (uint32_t i = 0; __syncthreads_or(i < n); i++) {
        if (i < n) {
            uint4 v[STEPS];
            uint32_t word[Own<CHANNELS>::WORDS];
            const uint64_t u = i < by_turns ? unit + (uint64_t)i * turns.stride
                                            : turns.fixed + block->noted[warp][i - by_turns];
            load_unit((const uint4 *)(turns.base + u * NARROW16_UNIT) + threadIdx.x % 32, v);
            gather<CHANNELS>(v, own, word);
            count_mixed(fast, word);
        }
        since = end_step(block, bins, since);
    }
}

#endif
