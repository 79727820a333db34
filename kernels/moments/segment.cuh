/* SPDX-License-Identifier: MIT */
/* moments/segment.cuh: a segment of wide samples added up: its terms, and the way that fits all
 * samples.
 */
#ifndef IMGSTAT_KERNELS_MOMENTS_SEGMENT_CUH
#define IMGSTAT_KERNELS_MOMENTS_SEGMENT_CUH

#include "moments/block.cuh"

/* Adds to a sum in shared memory, which knows no 64-bit additions: a loop around compare-and-swap
 * repeats for every lane at the same address, and the lanes of a segment are. */
DEVICE void shared_add(unsigned long long *sum, uint64_t v)
{
    unsigned *const half = (unsigned *)sum; /* the lower one first */
    const unsigned low = (unsigned)v, before = atomicAdd(&half[0], low);
    const unsigned high = (unsigned)(v >> 32) + (before + low < low);
    if (high)
        atomicAdd(&half[1], high);
}

/* What lane i < PIECE_TERMS of a warp has added up of term i of segments: three limbs, from `limb`
 * on. Most terms are of the size of those before them, so that shared memory is seldom needed. */
struct TermSums {
    uint32_t limb;
    int64_t part[3]; /* below 2^32 a segment, and BLOCK_SEGMENTS of those */
};

/* Hands them to the block. */
template <int C> DEVICE void terms_report(WideBlock<C> *block, int c, TermSums *sums)
{
    const unsigned lane = threadIdx.x % 32;
    unsigned long long *to = block->limb[c][lane < PIECE_SUM_TERMS ? 0 : 1] + sums->limb;
#pragma unroll
    for (int i = 0; i < 3; i++) {
        if (sums->part[i])
            shared_add(&to[i], (uint64_t)sums->part[i]);
        sums->part[i] = 0;
    }
}

/* Adds the terms of a float segment: 10 lanes, a term each. n > 0; all the same in all lanes but
 * sums. */
template <int C>
DEVICE void add_terms(WideBlock<C> *block, int c, TermSums *sums, unsigned n, double pivot,
                      double d, double q)
{
    const unsigned lane = threadIdx.x % 32;
    double term[PIECE_TERMS], mine = 0;
    piece_terms((double)n, pivot, d, q, term);
#pragma unroll
    for (int i = 0; i < PIECE_TERMS; i++)
        mine = lane == i ? term[i] : mine;
    const unsigned bad = __ballot_sync(ALL_LANES, !isfinite(mine));
    const unsigned sum_terms = (1u << PIECE_SUM_TERMS) - 1;
    if (bad) {
        const bool first = lane < PIECE_SUM_TERMS;
        if (lane == 0 && (bad & sum_terms))
            shared_add(&block->count[c][OVERFLOW], 1);
        if (lane == 0 && (bad & ~sum_terms))
            shared_add(&block->count[c][OVERFLOW2], 1);
        if (bad & (first ? sum_terms : ~sum_terms))
            mine = 0;
    }
    if (mine != 0) {
        uint32_t limb;
        int64_t part[3];
        exact_split(mine, &limb, part);
        if (limb != sums->limb) {
            terms_report(block, c, sums);
            sums->limb = limb;
        }
#pragma unroll
        for (int i = 0; i < 3; i++)
            sums->part[i] += part[i];
    }
}

/* Adds the sums of a warp's lanes to the digits of the block: a lane a digit, all at once. */
template <int C, int SAMPLE>
DEVICE void add_sums(WideBlock<C> *block, int c, const IntegerSums<SAMPLE> &sums)
{
    enum { DIGITS = IntegerSums<SAMPLE>::DIGITS, ALL = DIGITS + IntegerSums<SAMPLE>::DIGITS2 };
    const unsigned lane = threadIdx.x % 32;
    uint64_t digit[ALL], mine = 0;
    sums.digits(digit, digit + DIGITS);
#pragma unroll
    for (int i = 0; i < ALL; i++) {
        const uint64_t sum = warp_sum(digit[i]);
        mine = lane == i ? sum : mine;
    }
    if (lane < ALL)
        shared_add(lane < DIGITS ? &block->limb[c][0][lane] : &block->limb[c][1][lane - DIGITS],
                   mine);
}

template <int C> DEVICE void add_count(WideBlock<C> *block, int c, unsigned n)
{
    if (threadIdx.x % 32 == 0)
        shared_add(&block->count[c][N], n);
}

/* The first valid sample of a channel in a segment, as a double; false if there is none. */
template <int SAMPLE>
DEVICE bool find_pivot(const WorkImage &image, const RowSegment &segment, unsigned channel,
                       double *pivot)
{
    typedef RawOf<SAMPLE> Raw;
    const Raw *samples = (const Raw *)segment.samples + channel;
    for (unsigned x0 = 0; x0 < segment.n; x0 += 32) {
        const unsigned x = x0 + threadIdx.x % 32;
        Raw raw = 0;
        bool valid = false;
        if (x < segment.n && (!segment.mask || segment.mask[x])) {
            raw = samples[(size_t)x * image.channels];
            valid = key_valid(image, (ImgstatSample)SAMPLE, wide_key<SAMPLE>(image, raw));
        }
        const unsigned valids = __ballot_sync(ALL_LANES, valid);
        if (valids) {
            raw = __shfl_sync(ALL_LANES, raw, __ffs((int)valids) - 1);
            *pivot = wide_double<SAMPLE>(image, raw) + 0.0; /* +0 for -0 */
            return true;
        }
    }
    return false;
}

/* A channel of a segment sample by sample, whatever the samples are. One warp. */
template <int C, int SAMPLE>
static __device__ __noinline__ void measure_careful(WideBlock<C> *block, uint64_t tile,
                                                    unsigned channel0, int c, bool count_masked)
{
    typedef RawOf<SAMPLE> Raw;
    const WorkImage &image = block->image;
    const RowSegment segment = tile_segment(image, tile, sizeof(Raw));
    const Raw *samples = (const Raw *)segment.samples + channel0 + c;
    const ImgstatSample type = (ImgstatSample)SAMPLE;
    unsigned count[COUNTERS] = {0}, masked = 0;
    uint64_t low = ~0ull, high = 0;
    double d[4] = {0}, q[4] = {0}, pivot = 0;
    IntegerSums<SAMPLE> sums = {};
    if constexpr (WideType<SAMPLE>::FLOAT)
        find_pivot<SAMPLE>(image, segment, channel0 + c, &pivot);

    for (unsigned x0 = threadIdx.x % 32; x0 < segment.n; x0 += PIECE_LANES) {
#pragma unroll
        for (unsigned i = 0; i < 4; i++) {
            const unsigned x = x0 + 32 * i;
            if (x >= segment.n)
                continue;
            if (segment.mask && !segment.mask[x]) {
                masked++;
                continue;
            }
            const Raw raw = samples[(size_t)x * image.channels];
            const uint64_t key = wide_key<SAMPLE>(image, raw);
            if (key_valid(image, (ImgstatSample)SAMPLE, key)) {
                count[N]++;
                low = min(low, key);
                high = max(high, key);
                if constexpr (WideType<SAMPLE>::FLOAT) {
                    const double distance = wide_double<SAMPLE>(image, raw) - pivot;
                    d[i] += distance;
                    q[i] += distance * distance;
                } else {
                    sums.add((Raw)key);
                }
            } else if (image.has_nodata && key == image.nodata_key) {
                count[NODATA]++;
            } else if (key == sample_key_infinity(type, false)) {
                count[PINF]++;
            } else if (key == sample_key_infinity(type, true)) {
                count[NINF]++;
            } else {
                count[NAN_]++;
            }
        }
    }
    for (int i = NAN_; i <= NODATA; i++) {
        const uint64_t sum = warp_sum((uint64_t)count[i]);
        if (threadIdx.x % 32 == 0 && sum)
            shared_add(&block->count[c][i], sum);
    }
    if (count_masked && masked)
        shared_add(&block->masked, masked);
    const unsigned n = (unsigned)warp_sum((uint64_t)count[N]);
    if (n == 0)
        return;
    note_extrema(block, c, warp_min(low), tile, warp_max(high), tile);
    add_count(block, c, n);
    if constexpr (WideType<SAMPLE>::FLOAT) {
        TermSums terms = {};
        double sum, sum2;
        lanes_fold(d, q, &sum, &sum2);
        add_terms(block, c, &terms, n, pivot, sum, sum2);
        terms_report(block, c, &terms);
    } else {
        add_sums<C, SAMPLE>(block, c, sums);
    }
}

#endif
