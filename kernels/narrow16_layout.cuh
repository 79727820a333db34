/* SPDX-License-Identifier: MIT */
/* narrow16_layout.cuh: how a block lays out its table: by a sample of the image. */
#ifndef IMGSTAT_NARROW16_LAYOUT_CUH
#define IMGSTAT_NARROW16_LAYOUT_CUH

#include "narrow16.cuh"

/* 32 bits that look random. */
static __device__ __forceinline__ uint32_t scatter(uint32_t v)
{
    v = (v ^ v >> 16) * 0x7FEB352Du;
    v = (v ^ v >> 15) * 0x846CA68Bu;
    return v ^ v >> 16;
}

/* Counts samples, spread over the image, by their leading 8 bits. All blocks together look at some
 * 70,000 places: more would take longer than what they tell saves. */
static __device__ __forceinline__ void take_sample(Block16 *block, unsigned channel)
{
    const WorkImage &image = block->narrow.image;
    const uint64_t pixels = image.rows * image.row_pixels;
    if (threadIdx.x < BUCKETS)
        block->bucket[threadIdx.x] = 0;
    if (threadIdx.x == 0)
        block->alike = 0;
    __syncthreads();
    if (threadIdx.x < SAMPLES) {
        /* Places at random, one in each stretch: regular ones see a part of regular images. */
        const uint64_t stride = pixels / SAMPLES + 1;
        const uint32_t place = scatter(blockIdx.x * SAMPLES + threadIdx.x);
        const uint64_t at = threadIdx.x * stride + __umul64hi(stride, (uint64_t)place << 32);
        if (at < pixels) {
            const uint64_t row = image.rows == 1 ? 0 : at / image.row_pixels;
            const uint64_t x = at - row * image.row_pixels;
            const uint16_t *samples = (const uint16_t *)(image.pixels + row * image.pitch);
            const unsigned bucket = samples[x * image.channels + channel] >> 8;
            const uint64_t beside = x > 0 ? x - 1 : x + 1 < image.row_pixels ? x + 1 : x;
            atomicAdd(&block->bucket[bucket], 1u);
            if (samples[beside * image.channels + channel] >> 8 == bucket)
                atomicAdd(&block->alike, 1u);
        }
    }
    __syncthreads();
}

/* Words of the table that two indices share, if there is a counter for all 65,536. */
static __device__ __forceinline__ uint32_t fold_of(uint32_t words)
{
    return words >= HALVES ? 0 : HALVES - words;
}

/* Whether all values can have counters. */
static __device__ __forceinline__ bool can_fold(uint32_t words)
{
    return fold_of(words) > 0 && 2 * fold_of(words) <= HALVES;
}

/* What one thread makes of the sample: a window if the image's values fit into few 32-bit counters,
 * else all 65,536, where the stretch that was met least shares words with what lies before it. */
static __device__ __forceinline__ Layout choose(const Block16 *block, uint32_t words)
{
    const uint32_t empty = block->gap >> 8, first = block->gap & 0xFF;
    /* The buckets met, one more on either side, and an eighth for what the sample missed. */
    uint32_t span = min(HALVES, (BUCKETS - empty + 2) * (HALVES / BUCKETS));
    span = min(HALVES, span + span / 8);
    if (2 * span <= words || !can_fold(words)) { /* else a window gains nothing */
        Layout window = {0, 2, words, words, words, 0, 0};
        while (window.shift < 7 && span << (window.shift - 1) <= words)
            window.shift++;
        window.wide = window.direct = min(HALVES, words >> (window.shift - 2)) - 1;
        const uint32_t values = (BUCKETS - empty) * (HALVES / BUCKETS);
        const uint32_t spare = window.direct > values ? window.direct - values : 0;
        window.base = (first * (HALVES / BUCKETS) - spare / 2) & 0xFFFFu;
        return window;
    }
    const uint32_t fold = fold_of(words);
    /* No value is frequent, nor are a warp's values close to each other. */
    const bool uniform = block->most < SAMPLES / 32 && block->alike < SAMPLES / 32;
    Layout layout = {0, 2, words - fold, words, words, uniform, fold};
    layout.base = ((block->least & 0xFF) * (HALVES / BUCKETS) - words) & 0xFFFFu;
    return layout;
}

/* How many empty buckets follow a bucket, cyclically; occupied: a bit a bucket. */
static __device__ __forceinline__ unsigned gap_after(const unsigned (&occupied)[BUCKETS / 32],
                                                     unsigned bucket)
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

/* full: without windows. All threads; the table is empty. */
static __device__ __noinline__ void choose_layout(Block16 *block, uint32_t words, unsigned channel,
                                                  bool full)
{
    const unsigned b = threadIdx.x;
    if (b == 0) {
        block->gap = block->missed = block->most = 0;
        block->least = NONE;
    }
    take_sample(block, channel);
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
        unsigned sum = 0;
#pragma unroll 8
        for (unsigned i = 0; i < stretch; i++)
            sum += block->bucket[(b + i) % BUCKETS];
        atomicMin(&block->least, sum << 8 | b);
        atomicMax(&block->most, block->bucket[b]);
    }
    __syncthreads();
    if (b == 0)
        block->layout = choose(block, words);
    __syncthreads();
}

#endif
