/* SPDX-License-Identifier: MIT */
/* moments/kernel.cuh: the kernel that measures wide samples, whichever way its warps add up. */
#ifndef IMGSTAT_KERNELS_MOMENTS_KERNEL_CUH
#define IMGSTAT_KERNELS_MOMENTS_KERNEL_CUH

#include "common/dispatch.cuh"
#include "common/tuning.cuh"
#include "moments/stream.cuh"

/* ---- Extrema of a thread's classes ----------------------------------------------------------- */

/* A thread's extrema of an image, and the segments that brought them. Values or keys, whatever
 * compares. */
template <typename T, int CLASSES> struct ClassExtrema {
    T low[CLASSES], high[CLASSES];
    uint32_t low_tile[CLASSES], high_tile[CLASSES]; /* NO_TILE: none */
};

/* Segments of an image are fewer: there are fewer than 2^32 rows, and of two segments in a row one
 * has 16 KiB. */
static const uint32_t NO_TILE = UINT32_MAX;

template <typename T, int CLASSES>
DEVICE void extrema_begin(ClassExtrema<T, CLASSES> *best, T most, T least)
{
#pragma unroll
    for (int j = 0; j < CLASSES; j++) {
        best->low[j] = most;
        best->high[j] = least;
        best->low_tile[j] = best->high_tile[j] = NO_TILE;
    }
}

/* Those of a segment; low > high: none. Segments come in order, so the first that has a value keeps
 * it. */
template <typename T, int CLASSES>
DEVICE void extrema_note(ClassExtrema<T, CLASSES> *best, int j, uint64_t tile, T low, T high)
{
    const bool any = low <= high;
    if (any && (low < best->low[j] || best->low_tile[j] == NO_TILE)) {
        best->low[j] = low;
        best->low_tile[j] = (uint32_t)tile;
    }
    if (any && (high > best->high[j] || best->high_tile[j] == NO_TILE)) {
        best->high[j] = high;
        best->high_tile[j] = (uint32_t)tile;
    }
}

/* Of channel c in all lanes of a warp, to the block. Keys. */
template <int C, int SAMPLE>
DEVICE void extrema_report(WideBlock<C> *block, int c, uint64_t low, uint32_t low_tile,
                           uint64_t high, uint32_t high_tile)
{
    const uint64_t least = warp_min(low_tile == NO_TILE ? ~0ull : low);
    const uint64_t most = warp_max(high_tile == NO_TILE ? 0 : high);
    const uint32_t least_tile = warp_min(low == least ? low_tile : NO_TILE);
    const uint32_t most_tile = warp_min(high == most ? high_tile : NO_TILE);
    if (least_tile != NO_TILE)
        note_extrema(block, c, least, least_tile, most, most_tile);
}

/* ---- Sample by sample, whatever the samples are ---------------------------------------------- */

template <int C, int SAMPLE> struct Careful {
    enum { GROUP = 1, SHARED = 0 }; /* warps that share a segment; bytes of shared memory */
    unsigned channel0, channels;
};

template <int C, int SAMPLE>
DEVICE void way_begin(Careful<C, SAMPLE> *way, const Work &work, unsigned char *)
{
    way->channel0 = work.channel0;
    way->channels = channels_of<C>(work);
}

template <int C, int SAMPLE> DEVICE void way_begin_image(Careful<C, SAMPLE> *, const WorkImage &)
{
}

template <int C, int SAMPLE>
DEVICE void way_measure(Careful<C, SAMPLE> *way, WideBlock<C> *block, uint64_t tile, uint64_t)
{
    for (unsigned c = 0; c < way->channels; c++)
        measure_careful<C, SAMPLE>(block, tile, way->channel0, (int)c, c == 0);
}

template <int C, int SAMPLE> DEVICE void way_report(Careful<C, SAMPLE> *, WideBlock<C> *)
{
}

/* ---- The kernel ------------------------------------------------------------------------------ */

/*
 * measure_wide: tallies of 32- and 64-bit samples, C channels at once; 0: work.group channels.
 *
 *   Idea      Warps measure segments (docs/float-sums.md) in one of three ways: groups of warps add
 *             floats that are assumed finite, or integers; one warp adds any samples one by one.
 *             Extrema are kept with their segments; the last block to report an image looks for
 *             their positions in the segments that brought them.
 *   Work      f32: 4 double operations and 3 others a sample; u32: 6 instructions, u64: 19.
 *   Memory    reads n samples once; Way::SHARED bytes of dynamic shared memory.
 *   Launch    persistent blocks, which begin while the launch before ends; items of some segments,
 *             the first ones by the number of the block, the others from a queue, in order; the
 *             next is known while one is measured.
 *   Requires  C <= 4, samples aligned. SAMPLE: F32, F64, or U32 and U64 for all integers of the
 *             width. All ways but Careful: the image has C channels, no mask and
 *             no nodata, and its rows begin on 16-byte boundaries. Queue and states zero.
 *   Result    all of the tally but bins added to the record; queue and states zero again.
 */
template <int C, int SAMPLE, class Way, int PER_SM>
static __global__ void __launch_bounds__(WideShape<C>::THREADS, PER_SM)
    measure_wide(const __grid_constant__ Work work)
{
    enum { GROUPS_OF_BLOCK = WideShape<C>::WARPS / Way::GROUP }; /* of segments */
    extern __shared__ __align__(128) unsigned char memory[];     /* whole lines */
    __shared__ WideBlock<C> block;
    const unsigned group = threadIdx.x / (32 * Way::GROUP);
    Way way;
    way_begin(&way, work, memory);
    if (!work.early)
        after_all_before();
    const uint32_t own = work.n_items >= MOMENTS_FEW_ITEMS * gridDim.x ? MOMENTS_OWN_ITEMS : 2;
    const uint32_t queued = own * gridDim.x; /* items from here on come from the queue */
    uint32_t item = blockIdx.x, next = item + gridDim.x;
    uint32_t number = ~0u; /* of the image that is added up */
    for (unsigned parity = 1; item < work.n_items; parity ^= 1) {
        const uint32_t wanted = work_image_of(work, item);
        if (wanted != number || block.full[parity ^ 1]) {
            if (number != ~0u) {
                way_report(&way, &block);
                after_all_before();
                flush<C, SAMPLE>(work, &block);
            }
            load_image(work, &block, wanted);
            way_begin_image(&way, block.image);
            number = wanted;
        }
        unsigned after = next + gridDim.x;
        if (threadIdx.x == 0) {
            if (next >= queued) /* on its way while the item is measured */
                after = queued + atomicAdd(&work.shared->queue.next, 1u);
            block.items++;
            block.segments += block.image.tiles_per_item;
        }
        uint64_t tile, end, next_tile = 0, next_end = 0;
        item_tiles(block.image, item, &tile, &end);
        if (next < work.n_items && work_image_of(work, next) == number)
            item_tiles(block.image, next, &next_tile, &next_end);
        for (tile += group, next_tile += group; tile < end; tile += GROUPS_OF_BLOCK) {
            const uint64_t following = tile + GROUPS_OF_BLOCK < end ? tile + GROUPS_OF_BLOCK
                                       : next_tile < next_end       ? next_tile
                                                                    : ~0ull;
            way_measure(&way, &block, tile, following);
        }
        if (next < queued && next + gridDim.x >= queued) { /* the first from the queue */
            after_all_before();
            if (threadIdx.x == 0)
                after = queued + atomicAdd(&work.shared->queue.next, 1u);
        }
        if (threadIdx.x == 0) {
            block.next[parity] = after;
            block.full[parity] = block.segments > BLOCK_SEGMENTS;
        }
        __syncthreads(); /* next[parity] is there; items and segments may change */
        item = next;
        next = block.next[parity];
    }
    if (number != ~0u) {
        way_report(&way, &block);
        after_all_before();
        flush<C, SAMPLE>(work, &block);
    }
    if (threadIdx.x == 0)
        queue_release(work);
}

template <int C, int SAMPLE, class Way, int ALL_THREADS>
static ImgstatResult launch_way(const Launch *launch, unsigned channels, ImgstatError *err)
{
    enum { THREADS = WideShape<C>::THREADS, PER_SM = ALL_THREADS / THREADS };
    Launch mine = *launch;
    mine.work.group = channels;
    const unsigned blocks = cuda_blocks(mine.device, mine.work.n_items, PER_SM);
    assert(blocks > 0 && channels >= 1 && channels <= WideShape<C>::MOST);
    assert(Way::SHARED <= mine.device->max_shared);
    assert(mine.work.images || mine.work.only.channels >= mine.work.channel0 + channels);
    return launch_behind(&mine, measure_wide<C, SAMPLE, Way, PER_SM>, "measure_wide", blocks,
                         THREADS, Way::SHARED, err);
}

/* Plain images by Way, others sample by sample. */
template <int SAMPLE, template <int, int> class Way>
static ImgstatResult launch_sample(const Launch *launch, unsigned channels, bool plain,
                                   ImgstatError *err)
{
    if (!plain)
        return launch_way<0, SAMPLE, Careful<0, SAMPLE>, MOMENTS_CAREFUL_THREADS>(launch, channels,
                                                                                  err);
    return dispatch_channels(channels, [&](auto c) {
        constexpr int C = decltype(c)::value;
        return launch_way<C, SAMPLE, Way<C, SAMPLE>, MOMENTS_STREAM_THREADS>(launch, channels, err);
    });
}

#endif
