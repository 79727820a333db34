/* SPDX-License-Identifier: MIT */
/* histogram16/layout.cuh: how a block lays out its table: by a sample of the image. */
#ifndef IMGSTAT_KERNELS_HISTOGRAM16_LAYOUT_CUH
#define IMGSTAT_KERNELS_HISTOGRAM16_LAYOUT_CUH

#include "histogram16/table.cuh"

/* 32 bits that look random. */
DEVICE uint32_t scatter(uint32_t v)
{
    v = (v ^ v >> 16) * 0x7FEB352Du;
    v = (v ^ v >> 15) * 0x846CA68Bu;
    return v ^ v >> 16;
}

/* A thread's sample of the image. */
struct Probe {
    uint32_t raw;
    bool there;
};

/* All blocks together look at some 70,000 places: more would cost more time than a
 * better layout saves. */
DEVICE Probe probe_image(const WorkImage &image, unsigned channel)
{
    const uint64_t pixels = image.rows * image.row_pixels;
    /* Places at random, one in each stretch: regular places would sample only a part of regular
     * images. */
    const uint64_t stride = pixels / SAMPLES + 1;
    const uint32_t place = scatter(blockIdx.x * SAMPLES + threadIdx.x);
    const uint64_t at = threadIdx.x * stride + __umul64hi(stride, (uint64_t)place << 32);
    Probe probe = {0, threadIdx.x < SAMPLES && at < pixels};
    if (probe.there) {
        const uint64_t row = image.rows == 1 ? 0 : at / image.row_pixels;
        const uint64_t x = at - row * image.row_pixels;
        const uint16_t *samples = (const uint16_t *)(image.pixels + row * image.pitch);
        probe.raw = samples[x * image.channels + channel];
    }
    return probe;
}

/* Counts the samples by their leading 8 bits. */
DEVICE void count_probe(Block16 *block, const Probe &probe)
{
    if (threadIdx.x < BUCKETS)
        block->bucket[threadIdx.x] = 0;
    __syncthreads();
    if (probe.there)
        atomicAdd(&block->bucket[probe.raw >> 8], 1u);
    __syncthreads();
}

/* Words of the table that two indices share, if there is a counter for all 65,536. */
static constexpr __host__ __device__ uint32_t fold_of(uint32_t words)
{
    return words >= HALVES ? 0 : HALVES - words;
}

/* Whether all values can have counters. */
static constexpr __host__ __device__ bool can_fold(uint32_t words)
{
    return fold_of(words) > 0 && 2 * fold_of(words) <= HALVES;
}

/* What one thread makes of the sample: a window if the image's values fit into few 32-bit counters,
 * else all 65,536, where the stretch that was met least shares words with what lies before it. */
DEVICE Layout choose(const Block16 *block, uint32_t words)
{
    const uint32_t empty = block->gap >> 8, first = block->gap & 0xFF;
    /* The buckets met, one more on either side, and an eighth for what the sample missed. */
    uint32_t span = min(HALVES, (BUCKETS - empty + 2) * (HALVES / BUCKETS));
    span = min(HALVES, span + span / 8);
    if (2 * span <= words || !can_fold(words)) { /* else a window gains nothing */
        Layout window = {0, 2, words, words, words, 0, false};
        while (window.shift < 7 && span << (window.shift - 1) <= words)
            window.shift++;
        window.wide = min(HALVES, words >> (window.shift - 2));
        window.direct = window.wide - 1;
        const uint32_t values = (BUCKETS - empty) * (HALVES / BUCKETS);
        const uint32_t spare = window.direct > values ? window.direct - values : 0;
        window.base = (first * (HALVES / BUCKETS) - spare / 2) & 0xFFFCu;
        return window;
    }
    const uint32_t fold = fold_of(words);
    Layout layout = {0, 2, words - fold, words, words, fold, false};
    layout.base = ((block->least & 0xFF) * (HALVES / BUCKETS) - words) & 0xFFFFu;
    return layout;
}

/* Values of a share, but for the last one: whole warps. */
static constexpr __host__ __device__ uint32_t share_values(uint32_t shares)
{
    return (HALVES / shares + 31) / 32 * 32;
}

/* Shares into which values are divided if no block can count all: one word more than a share has
 * values is for the others. */
static constexpr uint32_t shares_of(uint32_t words)
{
    uint32_t shares = 1;
    while (!can_fold(words) && share_values(shares) >= words)
        shares++;
    return shares;
}

/* A block counts the values of its share alone, whatever the image has. */
DEVICE Layout share_layout(uint32_t words, uint32_t shares, uint32_t share)
{
    const uint32_t values = share_values(shares), base = share * values;
    const Layout layout = {base, 2, words, min(values, HALVES - base), words, 0, true};
    return layout;
}

/* How many empty buckets follow a bucket, cyclically; occupied: a bit a bucket. */
DEVICE unsigned gap_after(const unsigned (&occupied)[BUCKETS / 32], unsigned bucket)
{
    for (unsigned i = 0; i <= BUCKETS / 32; i++) {
        const unsigned from = bucket + 1 + i * 32, shift = from % 32, word = from / 32;
        const unsigned low = occupied[word % (BUCKETS / 32)];
        const unsigned high = occupied[(word + 1) % (BUCKETS / 32)];
        const unsigned next = __funnelshift_r(low, high, shift);
        if (next)
            return i * 32 + (unsigned)__ffs((int)next) - 1;
    }
    return BUCKETS - 1;
}

/* full: without windows. fresh: the table is to be emptied before; else it is empty. All threads.
 */
static __device__ __noinline__ void choose_layout(Block16 *block, const Work &work,
                                                  const Probe &probe, bool full, bool fresh)
{
    const uint32_t words = work.words;
    const unsigned b = threadIdx.x;
    for (unsigned i = b; fresh && i < (words * 4 + BEHIND_BYTES) / 16; i += THREADS)
        ((uint4 *)table)[i] = make_uint4(0, 0, 0, 0);
    if (b == 0) {
        block->gap = block->missed = 0;
        block->least = NONE;
        block->layout = share_layout(words, work.shares, block->share);
    }
    if (work.shares > 1) {
        __syncthreads(); /* the layout is known, the table empty */
        return;
    }
    count_probe(block, probe);
    if (b < BUCKETS) {
        const unsigned there = __ballot_sync(NONE, block->bucket[b] != 0);
        if (b % 32 == 0)
            block->occupied[b / 32] = there;
    }
    __syncthreads(); /* occupied is complete */
    if (b < BUCKETS) {
        const unsigned stretch = fold_of(words) / (HALVES / BUCKETS);
        if (!full && block->bucket[b]) {
            const unsigned empty = gap_after(block->occupied, b);
            atomicMax(&block->gap, empty << 8 | (b + 1 + empty) % BUCKETS);
        }
        /* Samples cost time in the stretch; many in one bucket, there or in the stretch before,
         * with which it shares words, may be one value that overflows its half. */
        enum { MANY = SAMPLES / 85, PENALTY = 4096 };
        unsigned cost = 0;
#pragma unroll 4
        for (unsigned i = 0; i < stretch; i++) {
            const unsigned n = block->bucket[(b + i) % BUCKETS];
            const unsigned before = block->bucket[(b - 1 - i) % BUCKETS];
            cost += 32 * n + n * n + before * before;
            cost += (n >= MANY ? PENALTY : 0) + (before >= MANY ? PENALTY : 0);
        }
        atomicMin(&block->least, cost << 8 | b);
    }
    __syncthreads();
    if (b == 0)
        block->layout = choose(block, words);
    __syncthreads();
}

#endif
