/* SPDX-License-Identifier: MIT */
/* common/histogram_block.cuh: what the histogram kernels of 8 and 16 bits share: a block's way
 * through the queue, where it saw its extrema, and how blocks agree on them. */
#ifndef IMGSTAT_KERNELS_COMMON_HISTOGRAM_BLOCK_CUH
#define IMGSTAT_KERNELS_COMMON_HISTOGRAM_BLOCK_CUH

#include "common/warp.cuh"
#include "common/work_queue.cuh"

enum { NARROW_CHANNELS = 4 }; /* a launch measures at most so many */

/* Of one image in one launch; all zero between launches. Extrema are rank and position in one word
 * (see narrow_offer), 2 c for the minimum of channel c and 2 c + 1 for its maximum. A block claims
 * with the step in which it met its extremum; only those that lead when they claim, few, look for
 * the position there. */
struct NarrowState {
    unsigned long long masked;
    unsigned items_done; /* reported */
    unsigned long long claim[2 * NARROW_CHANNELS], found[2 * NARROW_CHANNELS];
};

/* What a block knows of the image that its table holds samples of. Keys are ints, so that none is
 * "outside": low begins above every key, high at -1. */
struct NarrowBlock {
    WorkImage image;
    uint64_t step;    /* first tile of the step at work: of the item, or of a part of it */
    uint64_t samples; /* a channel, in the table; only thread 0 looks */
    uint32_t number;  /* of the image */
    uint32_t items;   /* of the image, done by this block since the last flush */
    int low[NARROW_CHANNELS], high[NARROW_CHANNELS];
    uint64_t low_step[NARROW_CHANNELS], high_step[NARROW_CHANNELS]; /* that brought them */
    int new_low[NARROW_CHANNELS], new_high[NARROW_CHANNELS];
    unsigned needs;   /* bit 2 c: the block must find its minimum of channel c; 2 c + 1: maximum */
    bool sole, last;  /* all the items of the image were this block's; it is the last to report */
    uint32_t left;    /* items that had not been reported when it did */
    uint32_t next[2]; /* items, alternately, and whether the table is to be flushed before */
    bool full[2];
    unsigned long long masked;
    /* Where they were found, counted from `from` (32 bits: there is an instruction for their
     * minimum); places are (row * row_pixels + x) * channels measured + channel. */
    unsigned found[2 * NARROW_CHANNELS];
    unsigned long long from[2 * NARROW_CHANNELS], offer[2 * NARROW_CHANNELS];
};

enum { NONE = 0xFFFFFFFF };

static __device__ __forceinline__ bool narrow_valid(const WorkImage &image, uint64_t key)
{
    const ImgstatSample sample = (ImgstatSample)image.sample;
    if (image.has_nodata && key == image.nodata_key)
        return false;
    return sample != IMGSTAT_F16 ||
           (key > sample_key_infinity(sample, true) && key < sample_key_infinity(sample, false));
}

/* Makes image `number` the block's own. All threads; the table is empty. */
static __device__ __forceinline__ void narrow_adopt(const Work &work, NarrowBlock *block,
                                                    uint32_t number)
{
    const uint32_t *from = (const uint32_t *)&work_image(work, number);
    uint32_t *to = (uint32_t *)&block->image;
    for (unsigned i = threadIdx.x; i < sizeof(WorkImage) / 4; i += blockDim.x)
        to[i] = from[i];
    if (threadIdx.x < NARROW_CHANNELS) {
        const unsigned c = threadIdx.x;
        block->low[c] = block->new_low[c] = 1 << 16;
        block->high[c] = block->new_high[c] = -1;
    }
    if (threadIdx.x == 0) {
        block->number = number;
        block->items = 0;
        block->samples = 0;
        block->masked = 0;
    }
    __syncthreads();
}

/* After a step: one thread a channel takes over extrema that the step brought. */
static __device__ __forceinline__ void narrow_improve(NarrowBlock *block, unsigned channels)
{
    const unsigned c = threadIdx.x;
    if (c >= channels)
        return;
    if (block->new_low[c] < block->low[c]) {
        block->low[c] = block->new_low[c];
        block->low_step[c] = block->step;
    }
    if (block->new_high[c] > block->high[c]) {
        block->high[c] = block->new_high[c];
        block->high_step[c] = block->step;
    }
}

/* Raster index that no pixel of the tile, nor of those behind it, lies before. tile_pixels: what a
 * tile covers, slack: pixels by which it may begin early. */
static __device__ __forceinline__ uint64_t tile_first_at(const WorkImage &image, uint64_t tile,
                                                         uint64_t tile_pixels, uint64_t slack)
{
    uint64_t row, place;
    tile_place(image, tile, &row, &place);
    const uint64_t x = place * tile_pixels;
    return image.first_at + row * image.row_pixels + (x > slack ? x - slack : 0);
}

/* Rank and position in one word, so that the largest is the extremum that comes first: 17 bits of
 * rank, never 0, and 47 of inverted position. */
static __device__ __forceinline__ unsigned long long narrow_offer(int key, uint64_t at,
                                                                  bool largest)
{
    const uint64_t rank = (uint64_t)(largest ? key : 65535 - key) + 1;
    return rank << 47 | (((1ull << 47) - 1) - at);
}

static __device__ __forceinline__ uint64_t offer_at(unsigned long long offer)
{
    return ((1ull << 47) - 1) - (offer & ((1ull << 47) - 1));
}

static __device__ __forceinline__ uint64_t offer_key(unsigned long long offer, bool largest)
{
    const uint64_t rank = (offer >> 47) - 1;
    return largest ? rank : 65535 - rank;
}

/* Which of its extrema must the block look for? found is set to "not yet" for all. */
static __device__ __forceinline__ void narrow_ask(NarrowBlock *block, NarrowState *state,
                                                  unsigned channels, uint64_t tile_pixels,
                                                  uint64_t slack)
{
    const unsigned i = threadIdx.x, c = i / 2;
    const bool largest = i % 2;
    if (i == 0) {
        block->needs = 0;
        block->sole = block->items == block->image.items;
    }
    __syncthreads();
    if (c < channels) {
        block->found[i] = NONE;
        if (block->low[c] <= block->high[c]) {
            const int key = largest ? block->high[c] : block->low[c];
            const uint64_t step = largest ? block->high_step[c] : block->low_step[c];
            const uint64_t at = tile_first_at(block->image, step, tile_pixels, slack);
            block->from[i] = (at - block->image.first_at) * channels;
            const unsigned long long claim = narrow_offer(key, at, largest);
            if (block->sole || atomicMax(&state->claim[i], claim) < claim)
                atomicOr(&block->needs, 1u << i);
        }
    }
    __syncthreads();
}

/* The place `flat` holds extremum i. */
static __device__ __forceinline__ void narrow_found(NarrowBlock *block, unsigned i, uint64_t flat)
{
    const unsigned place = (unsigned)(flat - block->from[i]);
    if (place < *(volatile unsigned *)&block->found[i])
        atomicMin(&block->found[i], place);
}

/* Whether extremum i has been found before `flat`, which is not before `from`. */
static __device__ __forceinline__ bool narrow_settled(const NarrowBlock *block, unsigned i,
                                                      uint64_t flat)
{
    const unsigned found = *(volatile const unsigned *)&block->found[i];
    return found != NONE && block->from[i] + found < flat;
}

/* Adds one channel to its tally, whose record is locked. offers: of the minimum and the maximum. */
static __device__ __forceinline__ void narrow_merge(Tally *tally, uint64_t n, uint64_t masked,
                                                    unsigned long long low, unsigned long long high)
{
    const uint64_t n0 = __ldcg((const unsigned long long *)&tally->n);
    const uint64_t masked0 = __ldcg((const unsigned long long *)&tally->masked);
    FoundExtrema found = {1, 0, 0, 0};
    if (low) {
        found.min_key = offer_key(low, false);
        found.min_at = offer_at(low);
        found.max_key = offer_key(high, true);
        found.max_at = offer_at(high);
    }
    tally_merge_extrema(tally, n, found);
    tally->n = n0 + n;
    tally->masked = masked0 + masked;
}

/* Offers what was found, and merges the image into its record if no other block is still at it.
 * first: of the launch's channels, the block's first. */
static __device__ __forceinline__ void narrow_finish(const Work &work, NarrowBlock *block,
                                                     NarrowState *state, unsigned channels,
                                                     unsigned first = 0)
{
    const unsigned i = threadIdx.x, c = i / 2;
    const WorkImage &image = block->image;
    if (c < channels) {
        const int key = i % 2 ? block->high[c] : block->low[c];
        unsigned long long offer = 0;
        if (block->needs >> i & 1)
            offer = narrow_offer(
                key, image.first_at + (block->from[i] + block->found[i]) / channels, i % 2);
        if (offer && !block->sole)
            atomicMax(&state->found[i], offer);
        block->offer[i] = offer;
    }
    __syncthreads(); /* the offers are made before the items are reported done */
    if (i == 0) {
        block->left = 0;
        if (!block->sole) {
            if (block->masked)
                atomicAdd(&state->masked, block->masked);
            __threadfence();
            block->left = image.items - atomicAdd(&state->items_done, block->items) - block->items;
            __threadfence();
        }
        block->last = block->left == 0;
    }
    __syncthreads();
    if (block->last && i < 32) { /* one warp: a lane a channel */
        unsigned long long masked = block->masked;
        unsigned long long low = block->offer[2 * i % (2 * NARROW_CHANNELS)];
        unsigned long long high = block->offer[(2 * i + 1) % (2 * NARROW_CHANNELS)];
        if (!block->sole && i < channels) {
            masked = __ldcg(&state->masked);
            low = __ldcg(&state->found[2 * i]);
            high = __ldcg(&state->found[2 * i + 1]);
        }
        unsigned *lock = record_lock(work, image.tally);
        if (i == 0 && work.images) /* the only image of a launch shares its record with nobody */
            lock_take(lock);
        __syncwarp();
        if (i < channels)
            narrow_merge(image.tally + work.channel0 + first + i,
                         image.rows * image.row_pixels - masked, masked, low, high);
        __syncwarp();
        if (i == 0 && work.images)
            lock_release(lock);
        if (!block->sole && i < channels) {
            state->claim[2 * i] = state->claim[2 * i + 1] = 0;
            state->found[2 * i] = state->found[2 * i + 1] = 0;
            state->masked = 0;
            state->items_done = 0;
        }
    }
    __syncthreads();
}

/* The first item of a block. Thereafter narrow_advance hands out one more while one is at work. */
static __device__ __forceinline__ void narrow_begin(const Work &work, NarrowBlock *block)
{
    if (threadIdx.x == 0) {
        block->next[0] = atomicAdd(&work.shared->queue.next, 1u);
        block->full[0] = false;
    }
    __syncthreads();
}

#endif
