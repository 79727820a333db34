/* SPDX-License-Identifier: MIT */
/* equalize/bytes_fused.cuh: what blocks that transform a small image together share: items of the
 * image, counts in global memory, and the map that each makes of them. */
#ifndef IMGSTAT_KERNELS_EQUALIZE_BYTES_FUSED_CUH
#define IMGSTAT_KERNELS_EQUALIZE_BYTES_FUSED_CUH

#include "common/lane_table.cuh"
#include "common/tuning.cuh"
#include "common/warp.cuh"
#include "equalize/chain.cuh"
#include "equalize/ramp.cuh"

struct Small {
    const uint4 *from;
    uint4 *to;
    uint32_t vectors, tail; /* 16 samples each; samples behind them */
    uint32_t item;          /* vectors a block */
    uint32_t shared;        /* vectors a thread keeps in shared memory */
    uint32_t rounds;        /* of as many as a thread has registers for: what it reads twice */
};

/* What one block counts and maps; the tail is the last one's. */
struct Item {
    const uint4 *from;
    uint4 *to;
    uint32_t vectors, tail;
};

DEVICE Item item_of(const Small &s, uint32_t block)
{
    const uint32_t first = min(block * s.item, s.vectors);
    return Item{s.from + first, s.to + first, min(s.item, s.vectors - first),
                block == gridDim.x - 1 ? s.tail : 0};
}

DEVICE uint32_t item_samples(const Item &p)
{
    return p.vectors * 16 + p.tail;
}

/* A counter as it is now: each call reads it again, past the first-level cache. */
DEVICE uint32_t load_count(const uint32_t *from)
{
    uint32_t v;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(from) : "memory");
    return v;
}

/* An addition takes its slice of the cache about a cycle a counter, so counters are spread over
 * SMALL_LINES lines, which lie in different slices. */
DEVICE uint32_t *count_of(SmallState *state, uint32_t parity, uint32_t key)
{
    enum { LINE = BINS / SMALL_LINES };
    return &state->counts[parity][key / LINE][key % LINE];
}

/* Items that a block has counted beside its own. */
struct Helped {
    uint32_t any;
    unsigned char block[SMALL_BLOCKS];
};

/* ---- Which block does an item ------------------------------------------------------------------
 */

/* What a block learns when it begins: whether another block has reserved its item, for
 * either parity, as this launch's is still on its way; and how many blocks have begun. */
struct Begun {
    uint32_t reserved[2], blocks;
};

/* One thread asks. It goes on without the answer, which comes no sooner than all pixels that were
 * asked for before it. */
DEVICE Begun request_item(SmallState *state)
{
    Begun b;
    b.reserved[0] = atomicExch(&state->reserved[0][blockIdx.x], 1u);
    b.reserved[1] = atomicExch(&state->reserved[1][blockIdx.x], 1u);
    b.blocks = atomicAdd(&state->begun, 1u);
    return b;
}

/* The thread that requested it. Another block may have done the item: then it is not its own. The
 * last block to begin lets the next launch use the other counters. */
DEVICE void resolve_own_item(SmallState *state, const Begun &b, uint32_t *parity, uint32_t *own)
{
    const uint32_t now = b.blocks / SMALL_LAUNCH;
    state->reserved[now ^ 1][blockIdx.x] = 0;
    if (b.blocks % SMALL_LAUNCH == gridDim.x - 1)
        state->begun = (now ^ 1) * SMALL_LAUNCH;
    *parity = now;
    *own = (now ? b.reserved[1] : b.reserved[0]) == 0;
}

/* A block, for the next launch. */
template <unsigned THREADS> DEVICE void empty_next(SmallState *state, uint32_t parity)
{
    uint4 *const counts = (uint4 *)state->counts[parity ^ 1];
    for (uint32_t i = threadIdx.x; i < sizeof state->counts[0] / 16; i += THREADS)
        counts[i] = make_uint4(0, 0, 0, 0);
    for (uint32_t i = gridDim.x + threadIdx.x; i < SMALL_BLOCKS; i += THREADS)
        state->reserved[parity ^ 1][i] = 0;
    if (threadIdx.x == 0)
        state->samples[parity ^ 1][0] = 0;
}

/* One warp: reserves the first item that no block has reserved, and returns its block; gridDim.x if
 * there is none, or another warp was faster. */
DEVICE uint32_t reserve_item(SmallState *state, uint32_t parity)
{
    const uint32_t lane = threadIdx.x % 32;
    for (uint32_t base = 0; base < gridDim.x; base += 32) {
        const bool left =
            base + lane < gridDim.x && load_count(&state->reserved[parity][base + lane]) == 0;
        const uint32_t found = __ballot_sync(0xFFFFFFFFu, left);
        if (!found)
            continue;
        const uint32_t block = base + (uint32_t)__ffs((int)found) - 1;
        const uint32_t was = lane == 0 ? atomicExch(&state->reserved[parity][block], 1u) : 0;
        return __shfl_sync(0xFFFFFFFFu, was, 0) ? gridDim.x : block;
    }
    return gridDim.x;
}

/* ---- The counts of all blocks ---------------------------------------------------------------- */

/* One warp waits until all samples have been counted, or nearly: this word is added to after the
 * counts, but nothing keeps that order. Reading the counts all the time would hold up those who
 * add. After a while, `looks` of all times that it waits, it reserves the item of a block that has
 * not begun: returns that, for its own block to count, or gridDim.x where it need not. */
DEVICE uint32_t await_samples(SmallState *state, uint32_t parity, uint32_t all, uint32_t *looks)
{
    uint32_t block = gridDim.x;
    while (block == gridDim.x && !__any_sync(ALL_LANES, load_count(state->samples[parity]) >= all))
        if (++*looks > SMALL_PATIENCE)
            block = reserve_item(state, parity);
    return block;
}

/* What a block finds out about the counts; nodata is not counted. */
struct Cdf {
    uint32_t of_warp[MANY_THREADS / 32];
    uint32_t first, n; /* of the lowest key that has any; of all keys */
};

/* All threads: leave out nodata, and say what is known of the counts. */
template <unsigned THREADS>
DEVICE uint32_t finish_cdf(uint32_t count, uint32_t sum, uint32_t nodata, Cdf *cdf)
{
    const uint32_t key = threadIdx.x;
    if (nodata < BINS) {
        count = key == nodata ? 0 : count;
        sum = block_inclusive(count, cdf->of_warp);
    }
    if (count > 0 && sum == count)
        cdf->first = count;
    if (key == THREADS - 1)
        cdf->n = sum;
    __syncthreads(); /* both are known */
    return sum;
}

/* All threads: wait until the sum of the counts shows that they are whole. Returns how many samples
 * are up to the key that is a thread's number. */
template <unsigned THREADS>
DEVICE uint32_t gather_counts(SmallState *state, uint32_t parity, uint32_t all, uint32_t nodata,
                              Cdf *cdf)
{
    const uint32_t key = threadIdx.x;
    uint32_t count, sum;
    do {
        count = key < BINS ? load_count(count_of(state, parity, key)) : 0;
        sum = block_inclusive(count, cdf->of_warp);
    } while (__syncthreads_or(key == THREADS - 1 && sum < all));
    return finish_cdf<THREADS>(count, sum, nodata, cdf);
}

/* ---- The map --------------------------------------------------------------------------------- */

/* map_clip_counts or map_equalize_counts. All threads; sum: see gather_counts. */
DEVICE Ramp find_ramp(const SmallMap &m, const Cdf &cdf, uint32_t sum)
{
    if (m.equalize)
        return Ramp{cdf.first, cdf.n - cdf.first};
    /* How many keys have at most so many samples up to them: cdf_above. */
    const uint32_t low = small_rank(cdf.n, m.nano_lo);
    const uint32_t high = cdf.n - 1 - small_rank(cdf.n, m.nano_hi);
    const uint32_t from = __syncthreads_count(threadIdx.x < BINS && sum <= low);
    const uint32_t to = __syncthreads_count(threadIdx.x < BINS && sum <= high);
    return Ramp{from, to > from ? to - from : 0};
}

#endif
