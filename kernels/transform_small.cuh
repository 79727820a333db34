/* SPDX-License-Identifier: MIT */
/* transform_small.cuh: what blocks that transform a small image together share: pieces of the
 * image, counts in global memory, and the map that each makes of them. */
#ifndef IMGSTAT_TRANSFORM_SMALL_CUH
#define IMGSTAT_TRANSFORM_SMALL_CUH

#include "transform.cuh"
#include "warp.cuh"

enum { BINS = 256, COLUMNS = 32 };
/* A warp of 32 finishes: so many keys a lane. */
enum { KEYS = BINS / 32 };

struct Small {
    const uint4 *from;
    uint4 *to;
    uint32_t vectors, tail; /* 16 samples each; samples behind them */
    uint32_t piece;         /* vectors a block */
    uint32_t shared;        /* vectors a thread keeps in shared memory */
};

/* What one block counts and maps; the tail is the last one's. */
struct Piece {
    const uint4 *from;
    uint4 *to;
    uint32_t vectors, tail;
};

static __device__ __forceinline__ Piece piece_of(const Small &s, uint32_t block)
{
    const uint32_t first = min(block * s.piece, s.vectors);
    return Piece{s.from + first, s.to + first, min(s.piece, s.vectors - first),
                 block == gridDim.x - 1 ? s.tail : 0};
}

static __device__ __forceinline__ uint32_t piece_samples(const Piece &p)
{
    return p.vectors * 16 + p.tail;
}

/* Counters as they are now, whatever a cache holds; asked anew each time. */
static __device__ __forceinline__ uint32_t load_count(const uint32_t *from)
{
    uint32_t v;
    asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(v) : "l"(from) : "memory");
    return v;
}

static __device__ __forceinline__ uint4 load_counts(const uint32_t *from)
{
    uint4 v;
    asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(from)
                 : "memory");
    return v;
}

/* An addition takes its slice of the cache about a cycle a counter, so counters are spread over
 * SMALL_LINES lines, which lie in different slices: as copies, whose blocks do not queue for each
 * other, or as one whose lines hold few. */
template <unsigned COPIES>
static __device__ __forceinline__ uint32_t *count_of(SmallState *state, uint32_t turn,
                                                     uint32_t copy, uint32_t key)
{
    enum { LINE = COPIES * BINS / SMALL_LINES };
    return &state->counts[turn][(copy * BINS + key) / LINE][key % LINE];
}

/* Pieces that a block has done beside its own. */
struct Helped {
    uint32_t any;
    unsigned char block[SMALL_BLOCKS];
};

/* ---- Whose piece is it ----------------------------------------------------------------------- */

/* What a block that begins is told: whether its piece is taken, in either turn, as this launch's is
 * still on its way; and how many blocks have begun. */
struct Begun {
    uint32_t taken[2], blocks;
};

/* One thread asks. It goes on without the answer, which comes no sooner than all pixels that were
 * asked for before it. */
static __device__ __forceinline__ Begun ask_for_piece(SmallState *state)
{
    Begun b;
    b.taken[0] = atomicExch(&state->taken[0][blockIdx.x], 1u);
    b.taken[1] = atomicExch(&state->taken[1][blockIdx.x], 1u);
    b.blocks = atomicAdd(&state->begun, 1u);
    return b;
}

/* The same thread. Another block may have done its piece: then it is not its own. The last block to
 * begin lets the next launch use the other counters. */
static __device__ __forceinline__ void take_own_piece(SmallState *state, const Begun &b,
                                                      uint32_t *turn, uint32_t *own)
{
    const uint32_t now = b.blocks / SMALL_TURN;
    state->taken[now ^ 1][blockIdx.x] = 0;
    if (b.blocks % SMALL_TURN == gridDim.x - 1)
        state->begun = (now ^ 1) * SMALL_TURN;
    *turn = now;
    *own = (now ? b.taken[1] : b.taken[0]) == 0;
}

/* A block, for the next launch. */
template <unsigned THREADS>
static __device__ __forceinline__ void empty_next(SmallState *state, uint32_t turn)
{
    uint4 *const counts = (uint4 *)state->counts[turn ^ 1];
    for (uint32_t i = threadIdx.x; i < sizeof state->counts[0] / 16; i += THREADS)
        counts[i] = make_uint4(0, 0, 0, 0);
    for (uint32_t i = gridDim.x + threadIdx.x; i < SMALL_BLOCKS; i += THREADS)
        state->taken[turn ^ 1][i] = 0;
    if (threadIdx.x == 0)
        state->samples[turn ^ 1][0] = 0;
}

/* One warp: the first block whose piece nobody has, and takes it; gridDim.x if there is none, or
 * another was faster. */
static __device__ __forceinline__ uint32_t take_piece(SmallState *state, uint32_t turn)
{
    const uint32_t lane = threadIdx.x % 32;
    for (uint32_t base = 0; base < gridDim.x; base += 32) {
        const bool left =
            base + lane < gridDim.x && load_count(&state->taken[turn][base + lane]) == 0;
        const uint32_t found = __ballot_sync(0xFFFFFFFFu, left);
        if (!found)
            continue;
        const uint32_t block = base + (uint32_t)__ffs((int)found) - 1;
        const uint32_t was = lane == 0 ? atomicExch(&state->taken[turn][block], 1u) : 0;
        return __shfl_sync(0xFFFFFFFFu, was, 0) ? gridDim.x : block;
    }
    return gridDim.x;
}

/* One warp counts the piece of a block that has not begun, straight into global memory: this is
 * rare, and may be slow. */
template <unsigned COPIES>
static __device__ __forceinline__ void help(const Small &s, SmallState *state, uint32_t turn,
                                            uint32_t flip, Helped *helped)
{
    const uint32_t lane = threadIdx.x % 32, block = take_piece(state, turn);
    if (block == gridDim.x)
        return;
    const Piece p = piece_of(s, block);
    const unsigned char *const samples = (const unsigned char *)p.from;
#pragma unroll 1
    for (uint32_t i = lane; i < piece_samples(p); i += 32)
        atomicAdd(count_of<COPIES>(state, turn, 0, samples[i] ^ flip), 1u);
    if (lane == 0) {
        helped->any = 1;
        helped->block[block] = 1;
        atomicAdd(state->samples[turn], piece_samples(p));
    }
}

/* ---- The counts of all blocks ---------------------------------------------------------------- */

/* A lane's counts of all copies, keys 8 lane to 8 lane + 7; returns how many all lanes have. */
template <unsigned COPIES>
static __device__ __forceinline__ uint32_t gather_counts(SmallState *state, uint32_t turn,
                                                         uint32_t counts[KEYS])
{
    uint32_t all = 0;
#pragma unroll
    for (int i = 0; i < KEYS; i++)
        counts[i] = 0;
#pragma unroll
    for (unsigned copy = 0; copy < COPIES; copy++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const uint4 v = load_counts(
                count_of<COPIES>(state, turn, copy, threadIdx.x % 32 * KEYS + half * 4));
            counts[half * 4] += v.x;
            counts[half * 4 + 1] += v.y;
            counts[half * 4 + 2] += v.z;
            counts[half * 4 + 3] += v.w;
            all += v.x + v.y + v.z + v.w;
        }
    return warp_sum(all);
}

/* One warp waits until the counts are whole. Reading them all the time would hold up those who
 * add: one word says when it is worth while. It is added to after the counts, but nothing keeps
 * that order, so their own sum decides. */
template <unsigned COPIES>
static __device__ __forceinline__ void await_counts(const Small &s, SmallState *state,
                                                    uint32_t turn, uint32_t flip,
                                                    uint32_t counts[KEYS], Helped *helped)
{
    /* Looks of some 0.4 us; blocks of a launch begin within a few of them, or much later. */
    enum { PATIENCE = 200 };
    const uint32_t all = s.vectors * 16 + s.tail;
    bool look = false;
    for (uint32_t looks = 0;; looks++) {
        look = look || __any_sync(0xFFFFFFFFu, load_count(state->samples[turn]) >= all);
        if (look && gather_counts<COPIES>(state, turn, counts) >= all)
            return;
        if (looks > PATIENCE)
            help<COPIES>(s, state, turn, flip, helped);
    }
}

/* ---- The map --------------------------------------------------------------------------------- */

/* clip_rank of fewer than 2^27 samples: n * nano < 2^64. */
static __device__ __forceinline__ uint32_t small_rank(uint32_t n, uint64_t nano)
{
    return (uint32_t)(n * nano / 100000000000u);
}

/* How many keys of all lanes have at most so many samples up to them: cdf_above. */
static __device__ __forceinline__ uint32_t keys_up_to(const uint32_t sums[KEYS], uint32_t count)
{
    uint32_t keys = 0;
    for (int i = 0; i < KEYS; i++)
        keys += sums[i] <= count;
    return warp_sum(keys);
}

/* What a warp makes of the counts, and a thread an entry of. */
struct Ramp {
    uint32_t sums[BINS]; /* inclusive, by key */
    uint32_t by_count;   /* entries rise with the sums; else with the key */
    uint32_t low, span;  /* from where, and how far */
    uint32_t unchanged;
};

/* One warp: map_clip_counts or map_equalize_counts. */
static __device__ __forceinline__ void make_ramp(const SmallMap &m, uint32_t counts[KEYS],
                                                 Ramp *ramp)
{
    const uint32_t lane = threadIdx.x % 32;
    uint32_t first = 0;
#pragma unroll
    for (int i = KEYS - 1; i >= 0; i--) {
        counts[i] = lane * KEYS + i == m.nodata ? 0 : counts[i];
        first = counts[i] ? counts[i] : first;
    }
    const uint32_t present = __ballot_sync(0xFFFFFFFFu, first > 0);
    first = __shfl_sync(0xFFFFFFFFu, first, present ? __ffs((int)present) - 1 : 0);
#pragma unroll
    for (int i = 1; i < KEYS; i++)
        counts[i] += counts[i - 1];
    uint32_t sum = counts[KEYS - 1];
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const uint32_t before = __shfl_up_sync(0xFFFFFFFFu, sum, step);
        sum += (int)lane >= step ? before : 0;
    }
    const uint32_t n = __shfl_sync(0xFFFFFFFFu, sum, 31), before = sum - counts[KEYS - 1];
#pragma unroll
    for (int i = 0; i < KEYS; i++)
        counts[i] += before;
    uint4 *const sums = (uint4 *)&ramp->sums[lane * KEYS];
    sums[0] = make_uint4(counts[0], counts[1], counts[2], counts[3]);
    sums[1] = make_uint4(counts[4], counts[5], counts[6], counts[7]);
    uint32_t low = first, span = n - first;
    if (!m.equalize) {
        low = keys_up_to(counts, small_rank(n, m.nano_lo));
        const uint32_t high = keys_up_to(counts, n - 1 - small_rank(n, m.nano_hi));
        span = high > low ? high - low : 0;
    }
    if (lane == 0) {
        ramp->by_count = m.equalize && span;
        ramp->low = span ? low : m.full_lo;
        ramp->span = span ? span : m.full_span;
        ramp->unchanged = !span && m.same;
    }
}

/* map_sample, from byte to byte. A 64-bit division would take longer than all the rest. */
static __device__ __forceinline__ uint32_t ramp_entry(const SmallMap &m, const Ramp &ramp,
                                                      uint32_t raw)
{
    const uint32_t key = raw ^ m.from_flip, at = ramp.by_count ? ramp.sums[key] : key;
    const uint32_t low = ramp.low, span = ramp.span, part = min(at > low ? at - low : 0, span);
    const float share = __fdividef((float)m.range, (float)span);
    uint32_t to = m.lo + ratio_even_near(part, m.range, span, share);
    to = to != m.avoid ? to : to >= m.lo + m.range ? to - 1 : to + 1;
    to = ramp.unchanged ? key : to;
    return (key == m.nodata ? m.nodata_to : to) ^ m.to_flip;
}

#endif
