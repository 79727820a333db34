/* SPDX-License-Identifier: MIT */
/* moments/block.cuh: what a block of measure_wide adds up, reports, and merges into records. */
#ifndef IMGSTAT_KERNELS_MOMENTS_BLOCK_CUH
#define IMGSTAT_KERNELS_MOMENTS_BLOCK_CUH

#include "moments/exact_sums.cuh"

/* A block of C channels, or 0: of as many as the launch measures. Small blocks end together. */
template <int C> struct WideShape {
    enum { MOST = C > 0 ? C : 4, WARPS = wide_warps(MOST), THREADS = 32 * WARPS };
};

template <int C> DEVICE unsigned channels_of(const Work &work)
{
    return C > 0 ? C : work.group;
}

/* Segments that a block adds up before it reports: 2^17 * 4096 * 2^32 < 2^63. */
static const uint64_t BLOCK_SEGMENTS = 1ull << 17;

/* Extrema of the segments that one warp has done, and the segments that brought them. */
struct WarpExtrema {
    uint64_t low, low_tile, high, high_tile; /* tiles ~0: none */
};

enum Counter { N, NAN_, PINF, NINF, NODATA, OVERFLOW, OVERFLOW2, COUNTERS };

template <int C> struct WideBlock {
    enum { MOST = WideShape<C>::MOST };
    WorkImage image;
    uint32_t next[2]; /* items, alternately, and whether sums are to be flushed before */
    bool full[2];
    uint64_t segments; /* since the last flush; only thread 0 looks */
    uint32_t number, items;
    unsigned long long masked;
    unsigned long long count[MOST][COUNTERS];
    unsigned long long limb[MOST][2][EXACT_LIMBS]; /* floats: ExactSum; integers: sums of digits */
    WarpExtrema warp[WideShape<C>::WARPS][MOST];
    unsigned found[2 * MOST]; /* extrema of the image: pixels from the segment's first */
};

/* Of one image in one launch, followed by C channels; all zero between launches. Places of extrema
 * are those of their segments. */
struct WideChannel {
    Extreme low, high;
    unsigned long long count[COUNTERS];
    unsigned long long limb[2][EXACT_LIMBS];
};

struct WideState {
    unsigned long long masked;
    unsigned items_done, reserved;
};

DEVICE WideState *state_of(const Work &work, uint32_t number, unsigned channels)
{
    return (WideState *)((char *)work.state +
                         number * (sizeof(WideState) + channels * sizeof(WideChannel)));
}

/* Of equal extrema the first place counts. */
template <int C>
DEVICE void note_extrema(WideBlock<C> *block, int c, uint64_t low, uint64_t low_tile, uint64_t high,
                         uint64_t high_tile)
{
    WarpExtrema *best = &block->warp[threadIdx.x / 32][c];
    if (threadIdx.x % 32 != 0)
        return;
    if (low < best->low || (low == best->low && low_tile < best->low_tile)) {
        best->low = low;
        best->low_tile = low_tile;
    }
    if (high > best->high || (high == best->high && high_tile < best->high_tile)) {
        best->high = high;
        best->high_tile = high_tile;
    }
}

/* ---- Beginning an image ---------------------------------------------------------------------- */

template <int C> DEVICE void begin_sums(WideBlock<C> *block)
{
    enum { MOST = WideShape<C>::MOST };
    for (unsigned i = threadIdx.x; i < MOST * 2 * EXACT_LIMBS; i += WideShape<C>::THREADS)
        (&block->limb[0][0][0])[i] = 0;
    for (unsigned i = threadIdx.x; i < MOST * COUNTERS; i += WideShape<C>::THREADS)
        (&block->count[0][0])[i] = 0;
    for (unsigned i = threadIdx.x; i < WideShape<C>::WARPS * MOST; i += WideShape<C>::THREADS)
        (&block->warp[0][0])[i] = WarpExtrema{~0ull, ~0ull, 0, ~0ull};
    if (threadIdx.x == 0) {
        block->segments = 0;
        block->items = 0;
        block->masked = 0;
    }
}

template <int C> DEVICE void load_image(const Work &work, WideBlock<C> *block, uint32_t number)
{
    uint32_t *to = (uint32_t *)&block->image;
    for (unsigned i = threadIdx.x; i < sizeof(WorkImage) / 4; i += WideShape<C>::THREADS)
        to[i] = image_word(work, number, i);
    if (threadIdx.x == 0)
        block->number = number;
    begin_sums(block);
    __syncthreads();
}

/* ---- Reporting it ---------------------------------------------------------------------------- */

/* The block's extrema, from its warps', if they may be the image's. One thread each. */
template <int C> DEVICE void report_extrema(WideBlock<C> *block, WideChannel *channel)
{
    const unsigned i = threadIdx.x, c = i / 2;
    const bool largest = i % 2;
    if (i >= 2 * WideShape<C>::MOST)
        return;
    uint64_t key = 0, tile = ~0ull;
    for (int w = 0; w < WideShape<C>::WARPS; w++) {
        const WarpExtrema &best = block->warp[w][c];
        const uint64_t k = largest ? best.high : best.low;
        const uint64_t u = largest ? best.high_tile : best.low_tile;
        if (best.high_tile == ~0ull)
            continue;
        if (tile == ~0ull || (largest ? k > key : k < key) || (k == key && u < tile)) {
            key = k;
            tile = u;
        }
    }
    if (tile == ~0ull)
        return;
    uint64_t row, place;
    tile_place(block->image, tile, &row, &place);
    const uint64_t at = block->image.first_at + row * block->image.row_pixels + place * PIECE;
    Extreme *to = largest ? &channel[c].high : &channel[c].low;
    if (extreme_needs(to, key, at, largest))
        extreme_publish(to, key, at, largest);
}

/* Adds the block's sums to the state; integers as digits of 32 bits, so that they cannot overflow.
 * Those of channels that the launch does not measure are zero, and are not added. */
template <int C, int SAMPLE> DEVICE void report_sums(WideBlock<C> *block, WideChannel *channel)
{
    enum { MOST = WideShape<C>::MOST };
    for (unsigned i = threadIdx.x; i < MOST * COUNTERS; i += WideShape<C>::THREADS) {
        const unsigned long long n = (&block->count[0][0])[i];
        if (n)
            atomicAdd(&channel[i / COUNTERS].count[i % COUNTERS], n);
    }
    if constexpr (!WideType<SAMPLE>::FLOAT) {
        if (threadIdx.x < MOST) {
            unsigned long long *digit = block->limb[threadIdx.x][0];
            unsigned long long *digit2 = block->limb[threadIdx.x][1];
            if (sample_is_signed(block->image.sample))
                digits_unbias<SAMPLE>(digit, digit2, block->count[threadIdx.x][N]);
            digits_normalize(digit, false);
            digits_normalize(digit2, true);
        }
        __syncthreads(); /* normalized */
    }
    for (unsigned i = threadIdx.x; i < MOST * 2 * EXACT_LIMBS; i += WideShape<C>::THREADS) {
        const unsigned long long limb = (&block->limb[0][0][0])[i];
        if (limb)
            atomicAdd(&channel[i / (2 * EXACT_LIMBS)].limb[i / EXACT_LIMBS % 2][i % EXACT_LIMBS],
                      limb);
    }
}

/* ---- Merging a finished image into its record ------------------------------------------------ */

/* Finds the image's extrema in the segments that brought them. Warps deal them out; each looks from
 * the beginning and stops at the first. */
template <int C, int SAMPLE>
DEVICE void find_extrema(WideBlock<C> *block, const WideChannel *channel, unsigned channel0,
                         unsigned channels)
{
    typedef RawOf<SAMPLE> Raw;
    enum { WARPS = WideShape<C>::WARPS, MOST = WideShape<C>::MOST };
    enum { GROUPS = 2 * (int)MOST < (int)WARPS ? 2 * (int)MOST : (int)WARPS };
    enum { LOADS = 128 / sizeof(Raw) }; /* on their way at once: 32 registers */
    enum { MEMBERS = WARPS / GROUPS * 32 };
    const unsigned member = threadIdx.x % MEMBERS;
    if (threadIdx.x < 2 * MOST)
        block->found[threadIdx.x] = PIECE;
    __syncthreads(); /* nothing is found yet */
    for (unsigned i = threadIdx.x / MEMBERS; i < 2 * channels; i += GROUPS) {
        const Extreme *extreme = i % 2 ? &channel[i / 2].high : &channel[i / 2].low;
        const uint64_t place = __ldcg(&extreme->place), rank = __ldcg(&extreme->rank);
        if (place == 0)
            continue;
        const uint64_t key = i % 2 ? rank : ~rank, pixel = ~place - block->image.first_at;
        const uint64_t row = block->image.rows == 1 ? 0 : pixel / block->image.row_pixels;
        const RowSegment segment =
            segment_at(block->image, row, pixel - row * block->image.row_pixels, sizeof(Raw));
        const Raw *samples = (const Raw *)segment.samples + channel0 + i / 2;
        const Raw wanted = wide_raw<SAMPLE>(block->image, key);
        /* Zero is found with either sign. */
        const Raw bits = (Raw) ~(Raw)0 >> (WideType<SAMPLE>::FLOAT && wanted == 0);
        for (unsigned x0 = member; __any_sync(ALL_LANES, x0 < segment.n); x0 += MEMBERS * LOADS) {
            Raw raw[LOADS];
#pragma unroll
            for (int k = 0; k < LOADS; k++) {
                const unsigned x = min(x0 + k * MEMBERS, segment.n - 1);
                raw[k] = samples[(size_t)x * block->image.channels];
            }
            unsigned matches = 0;
#pragma unroll
            for (int k = 0; k < LOADS; k++)
                matches |= (((raw[k] ^ wanted) & bits) == 0) << k;
            unsigned first = PIECE;
            for (; matches && first == PIECE; matches &= matches - 1) {
                const unsigned x = x0 + (__ffs((int)matches) - 1) * MEMBERS;
                if (x < segment.n && (!segment.mask || segment.mask[x]))
                    first = x;
            }
            if (first != PIECE)
                atomicMin(&block->found[i], first);
            if (__any_sync(ALL_LANES, first != PIECE))
                break;
        }
    }
}

/* As exact_normalize, but what is read next does not wait for what is written. */
DEVICE void limbs_normalize(unsigned long long *limb)
{
    enum { AT_ONCE = 17 };
    static_assert(EXACT_LIMBS % AT_ONCE == 0, "limbs in whole steps");
    int64_t carry = 0;
#pragma unroll 1
    for (int i = 0; i < EXACT_LIMBS; i += AT_ONCE) {
        int64_t v[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            v[k] = (int64_t)limb[i + k];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            v[k] += carry;
            carry = v[k] >> 32;
            limb[i + k] = (unsigned long long)v[k];
            if (i + k < EXACT_LIMBS - 1)
                limb[i + k] &= 0xFFFFFFFFu;
        }
    }
}

DEVICE uint64_t *tally_counter(Tally *tally, unsigned counter)
{
    switch (counter) {
    case N:
        return &tally->n;
    case NAN_:
        return &tally->nan;
    case PINF:
        return &tally->pinf;
    case NINF:
        return &tally->ninf;
    case NODATA:
        return &tally->nodata;
    case OVERFLOW:
        return &tally->sum_overflow;
    default:
        return &tally->sum2_overflow;
    }
}

/* Merges the finished image into its record and leaves the state zero. All threads of one block,
 * while no other works any more: what can be done at the same time is done by different warps. */
template <int C, int SAMPLE>
DEVICE void merge_record(const Work &work, WideBlock<C> *block, WideState *state,
                         WideChannel *channel)
{
    enum { THREADS = WideShape<C>::THREADS, MOST = WideShape<C>::MOST };
    enum { EACH = (MOST * 2 * EXACT_LIMBS + THREADS - 1) / THREADS };
    static_assert(MOST * COUNTERS <= 32 && WideShape<C>::WARPS >= 4,
                  "a thread a counter, a warp a task");
    unsigned *lock = record_lock(work, block->image.tally);
    Tally *tally = block->image.tally + work.channel0;
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const unsigned channels = channels_of<C>(work), limbs = channels * 2 * EXACT_LIMBS;
    if (work.images) { /* a launch of one image needs no lock */
        if (threadIdx.x == 0)
            lock_acquire(lock);
        __syncthreads(); /* locked */
    }
    unsigned long long from[EACH], to[EACH]; /* on their way while positions are looked for */
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        const unsigned i = min(threadIdx.x + e * THREADS, limbs - 1), c = i / (2 * EXACT_LIMBS);
        const unsigned which = i / EXACT_LIMBS % 2, k = i % EXACT_LIMBS;
        const int64_t *limb = which ? tally[c].fsum2.limb : tally[c].fsum.limb;
        from[e] = __ldcg(&channel[c].limb[which][k]);
        to[e] = WideType<SAMPLE>::FLOAT ? (uint64_t)__ldcg((const long long *)&limb[k]) : 0;
    }
    find_extrema<C, SAMPLE>(block, channel, work.channel0, channels);
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        const unsigned i = threadIdx.x + e * THREADS;
        if (i < limbs) {
            (&block->limb[0][0][0])[i] = from[e] + to[e];
            channel[i / (2 * EXACT_LIMBS)].limb[i / EXACT_LIMBS % 2][i % EXACT_LIMBS] = 0;
        }
    }
    __syncthreads(); /* positions are found; every limb has been read */
    if (warp == 1 && lane < channels) {
        FoundExtrema found = extrema_fetch(&channel[lane].low, &channel[lane].high);
        found.min_at += block->found[2 * lane];
        found.max_at += block->found[2 * lane + 1];
        tally_merge_extrema(&tally[lane], __ldcg(&channel[lane].count[N]), found);
    }
    __syncthreads(); /* sums of limbs are there; the record's n has been looked at */

    if (threadIdx.x < 2 * channels) {
        const unsigned c = threadIdx.x / 2, which = threadIdx.x % 2;
        if (WideType<SAMPLE>::FLOAT)
            limbs_normalize(block->limb[c][which]);
        else
            digits_merge(block->limb[c][which], which ? tally[c].sum2 : tally[c].sum,
                         which ? 3 : 2);
    }
    if (warp == 2 && lane < channels * COUNTERS) {
        unsigned long long *count = &channel[lane / COUNTERS].count[lane % COUNTERS];
        tally_add(tally_counter(&tally[lane / COUNTERS], lane % COUNTERS), __ldcg(count));
        *count = 0;
    }
    if (warp == 3 && lane < channels)
        tally_add(&tally[lane].masked, __ldcg(&state->masked));
    __syncthreads(); /* normalized; masked has been read */

    if (WideType<SAMPLE>::FLOAT) {
        for (unsigned i = threadIdx.x; i < limbs; i += WideShape<C>::THREADS) {
            const unsigned c = i / (2 * EXACT_LIMBS), which = i / EXACT_LIMBS % 2;
            int64_t *limb = which ? tally[c].fsum2.limb : tally[c].fsum.limb;
            limb[i % EXACT_LIMBS] = (int64_t)block->limb[c][which][i % EXACT_LIMBS];
        }
    }
    if (threadIdx.x == 0) {
        state->masked = 0;
        state->items_done = 0;
    }
    if (work.images) {
        __threadfence();
        __syncthreads(); /* all is written */
        if (threadIdx.x == 0)
            lock_release(lock);
    }
}

template <int C, int SAMPLE>
static __device__ __noinline__ void flush(const Work &work, WideBlock<C> *block)
{
    WideState *state = state_of(work, block->number, channels_of<C>(work));
    WideChannel *channel = (WideChannel *)(state + 1);
    __syncthreads();                        /* the warps' segments are complete */
    report_sums<C, SAMPLE>(block, channel); /* no block waits for these */
    report_extrema(block, channel);
    __threadfence();
    __syncthreads(); /* everything is reported before the items are */
    bool last = false;
    if (threadIdx.x == 0) {
        if (block->masked)
            atomicAdd(&state->masked, block->masked);
        __threadfence();
        const unsigned before = atomicAdd(&state->items_done, block->items);
        last = before + block->items == block->image.items;
        __threadfence();
    }
    if (__syncthreads_or(last))
        merge_record<C, SAMPLE>(work, block, state, channel);
    __syncthreads();
}

#endif
