/* SPDX-License-Identifier: MIT */
/* narrow.cuh: what the histogram kernels of 8 and 16 bits share: a block's way through the queue,
 * where it saw its extrema, and how blocks agree on them. */
#ifndef IMGSTAT_NARROW_CUH
#define IMGSTAT_NARROW_CUH

#include "work.cuh"

enum { NARROW_CHANNELS = 4 }; /* a launch measures at most so many */

/* Of one image in one launch; all zero between launches. */
struct NarrowState {
    unsigned long long masked;
    unsigned items_done, reserved;
    Extreme low[NARROW_CHANNELS], high[NARROW_CHANNELS];
};

/* What a block knows of the image that its table holds samples of. Keys are ints, so that none is
 * "outside": low begins above every key, high at -1. */
struct NarrowBlock {
    WorkImage image;
    uint64_t item;    /* at work */
    uint64_t samples; /* a channel, in the table */
    uint32_t number;  /* of the image */
    uint32_t items;   /* of the image, done by this block since the last flush */
    int low[NARROW_CHANNELS], high[NARROW_CHANNELS];
    uint64_t low_item[NARROW_CHANNELS], high_item[NARROW_CHANNELS];
    int new_low[NARROW_CHANNELS], new_high[NARROW_CHANNELS];
    unsigned needs;   /* bit 2 c: the block must find its minimum of channel c; 2 c + 1: maximum */
    uint64_t next[2]; /* items, by turns */
    unsigned long long masked;
    unsigned long long found[2 * NARROW_CHANNELS];
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

/* The units of an item. */
static __device__ __forceinline__ void item_units(const WorkImage &image, uint64_t item,
                                                  uint64_t *begin, uint64_t *end)
{
    *begin = (item - image.first_item) * image.units_per_item;
    *end = *begin + image.units_per_item;
    if (*end > image.units)
        *end = image.units;
}

/* After an item: one thread a channel takes over extrema that the item brought. */
static __device__ __forceinline__ void narrow_improve(NarrowBlock *block, unsigned channels)
{
    const unsigned c = threadIdx.x;
    if (c >= channels)
        return;
    if (block->new_low[c] < block->low[c]) {
        block->low[c] = block->new_low[c];
        block->low_item[c] = block->item;
    }
    if (block->new_high[c] > block->high[c]) {
        block->high[c] = block->new_high[c];
        block->high_item[c] = block->item;
    }
}

/* Raster index that no pixel of the item lies before. unit_pixels: a lower bound of what a unit
 * covers, slack: pixels by which a unit may begin early. */
static __device__ __forceinline__ uint64_t item_first_at(const WorkImage &image, uint64_t item,
                                                         uint64_t unit_pixels, uint64_t slack)
{
    uint64_t begin, end, row, place;
    item_units(image, item, &begin, &end);
    unit_place(image, begin, &row, &place);
    const uint64_t x = place * unit_pixels;
    return image.first_at + row * image.row_pixels + (x > slack ? x - slack : 0);
}

/* Which of the block's extrema could be those of the image: found is set to "not yet" for them. */
static __device__ __forceinline__ void narrow_ask(NarrowBlock *block, const NarrowState *state,
                                                  unsigned channels, uint64_t unit_pixels,
                                                  uint64_t slack)
{
    const unsigned c = threadIdx.x / 2;
    const bool largest = threadIdx.x % 2;
    if (threadIdx.x == 0)
        block->needs = 0;
    __syncthreads();
    if (c < channels && block->low[c] <= block->high[c]) {
        const int key = largest ? block->high[c] : block->low[c];
        const uint64_t item = largest ? block->high_item[c] : block->low_item[c];
        const uint64_t at = item_first_at(block->image, item, unit_pixels, slack);
        if (extreme_needs(largest ? &state->high[c] : &state->low[c], (uint64_t)key, at, largest))
            atomicOr(&block->needs, 1u << threadIdx.x);
        block->found[threadIdx.x] = ~0ull;
    }
    __syncthreads();
}

/* Offers what was found, and merges the image into its record if no other block is still at it. */
static __device__ __forceinline__ void narrow_finish(const Work &work, NarrowBlock *block,
                                                     NarrowState *state, unsigned channels)
{
    const unsigned c = threadIdx.x / 2;
    const bool largest = threadIdx.x % 2;
    const WorkImage &image = block->image;
    if (c < channels && (block->needs >> threadIdx.x & 1)) {
        const int key = largest ? block->high[c] : block->low[c];
        extreme_offer(largest ? &state->high[c] : &state->low[c], (uint64_t)key,
                      block->found[threadIdx.x], largest);
    }
    __syncthreads(); /* the offers are made before the items are reported done */
    if (threadIdx.x == 0) {
        if (block->masked)
            atomicAdd(&state->masked, block->masked);
        __threadfence();
        const unsigned before = atomicAdd(&state->items_done, block->items);
        block->needs = before + block->items == image.items;
        __threadfence();
    }
    __syncthreads();
    if (block->needs && threadIdx.x == 0) {
        const uint64_t masked = __ldcg(&state->masked);
        const uint64_t n = image.rows * image.row_pixels - masked;
        Tally *tally = image.tally + work.channel0;
        unsigned *lock = record_lock(work, image.tally);
        lock_take(lock);
        for (unsigned k = 0; k < channels; k++, tally++) {
            tally_merge_extrema(tally, n, extrema_take(&state->low[k], &state->high[k]));
            tally_add(&tally->n, n);
            tally_add(&tally->masked, masked);
        }
        lock_release(lock);
        state->masked = 0;
        state->items_done = 0;
    }
    __syncthreads();
}

/* The first item of a block. Thereafter narrow_advance hands out one more while one is at work. */
static __device__ __forceinline__ void narrow_begin(const Work &work, NarrowBlock *block)
{
    if (threadIdx.x == 0)
        block->next[0] = atomicAdd(&work.shared->queue.next, 1ull);
    __syncthreads();
}

#endif
