/* SPDX-License-Identifier: MIT */
/* histogram16/kernel.cu: records of 16-bit samples in one read: 65,536 exact bins, and where the
 * extrema are. */
#include "common/tuning.cuh"
#include "histogram16/count.cuh"
#include "histogram16/layout.cuh"
#include "histogram16/report.cuh"
#include "histogram16/static_schedule.cuh"

/* ---- Items ----------------------------------------------------------------------------------- */

/* What the block counts of an image: a share of the values of a channel. Blocks of different parts
 * go through the items side by side, so that all but the first find them in the cache. */
DEVICE unsigned part_of(const Work &work)
{
    return blockIdx.x % parts_of(work);
}

DEVICE unsigned channel_of(const Work &work)
{
    return work.channel0 + part_of(work) / work.shares;
}

DEVICE unsigned share_of(const Work &work)
{
    return part_of(work) % work.shares;
}

/* Asks for the item after the one that the block begins. One thread. */
DEVICE uint32_t request_item(const Work &work)
{
    return gridDim.x / parts_of(work) + atomicAdd(&work.shared->part_next[part_of(work)], 1u);
}

/* Called by one thread of each block when it is done with its queue. */
DEVICE void finish_block(const Work &work, Pack *packs)
{
    if (!queue_release(work) || !packs)
        return;
    for (unsigned c = 0; c < work.group; c++)
        packs[c].used = packs[c].ready = packs[c].slice = 0;
}

/* Makes image `number` the block's own. All threads; the table is empty. */
DEVICE void load_image(const Work &work, Block16 *block, uint32_t number)
{
    uint32_t *to = (uint32_t *)&block->image;
    for (unsigned i = threadIdx.x; i < sizeof(WorkImage) / 4; i += THREADS)
        to[i] = image_word(work, number, i);
    if (threadIdx.x < 2 * WARPS)
        (&block->seen[0][0])[threadIdx.x] = 0;
    if (threadIdx.x == 0) {
        block->key[0] = 1 << 16;
        block->key[1] = -1;
        block->number = number;
        block->items = 0;
        block->samples = 0;
        block->masked = 0;
    }
    __syncthreads(); /* the image is described */
}

/* Counts the tiles [begin, end) of an item, a step after the other; since: steps since shared words
 * were looked at. All threads; returns those steps. */
template <int CHANNELS>
static __device__ __noinline__ uint32_t count_item(Block16 *block, uint64_t *bins, uint64_t begin,
                                                   uint64_t end, unsigned channel, uint32_t since)
{
    unsigned masked = 0;
    for (uint64_t step = begin; step < end; step += WARPS) {
        const uint64_t tile = step + threadIdx.x / 32;
        if constexpr (CHANNELS > 0) {
            if (tile < end)
                count_single<CHANNELS>(block, bins, tile, channel);
        } else if (tile < end) {
            count_general(block, bins, tile, channel, &masked);
        }
        if (block->layout.fold)
            since = end_step(block, bins, since);
    }
    if (masked && block->share == 0)
        atomicAdd(&block->masked, (unsigned long long)masked);
    return since;
}

/*
 * measure_narrow16: the records of 16-bit samples, a channel a block.
 *
 *   Idea      65,536 counters of 32 bits are more than an SM holds, and which counters are hot
 *             decides the speed, so each block reads 512 samples first. If their values span
 *             little, it keeps 32-bit counters for a window around them, in as many columns as fit.
 *             Else all 65,536 have counters: the 8,192 or so that are met little share words with
 *             as many others, 16 bits each; the rest has words. Increments of exactly 1 merge
 *             within a warp, so frequent values cost nothing. What has no counter goes to the
 *             record in global memory; a block that meets much of it changes its layout. None of
 *             this can change the result, only the time. Where a block has less than 128 KiB, the
 *             values are divided into shares: a block counts those of one, for whom the others
 *             fall into a spare word, and blocks of all shares go through the image side by side.
 *   Work      8 to 16 instructions and 1 or 2 increments a sample; with shares some 6 and 1 a share.
 *   Memory    reads 2 n bytes once; of several channels or shares, blocks of all of them read the
 *             same items at about the same time, all but the first out of the cache. Few blocks
 *             read an item again to find an extremum. Adds up to 65,536 bins a block and image.
 *   Launch    one persistent block of 1,024 an SM, as many for each share of each channel; items of
 *             whole steps: the first is that of the block's number, the others come from a queue a
 *             share, in order. Begins while the launch before ends (after_all_before).
 *   Requires  CHANNELS: those of the image, no mask; or 0: any image. work.words: 32-bit words of
 *             the table, a multiple of 4,096. Samples aligned. Queues, states and packs zero.
 *   Result    bins, n, masked, extrema added to the records; queues, states and packs zero again.
 *             Integers: every order of blocks gives the same.
 */
template <int CHANNELS>
static __global__ void __launch_bounds__(THREADS, 1)
    measure_narrow16(const __grid_constant__ Work work)
{
    __shared__ Block16 block;
    const unsigned channel = channel_of(work);
    uint32_t number = NONE, since = 0; /* the image in the table; steps since a look at it */
    if (!work.early)
        after_all_before();
    if (threadIdx.x == 0) {
        block.is_static = false;
        block.share = share_of(work);
    }
    for (uint32_t item = blockIdx.x / parts_of(work); item < work.n_items; item = block.next) {
        const uint32_t wanted = work_image_of(work, item);
        /* 2^31 samples a flush at most: 32-bit counters hold them. */
        if (wanted != number || block.samples > 1ull << 31) {
            if (number != NONE)
                flush<CHANNELS>(work, &block, channel, true);
            else
                __syncthreads(); /* block.samples may have been read, whatever the order above */
            load_image(work, &block, wanted);
            if (threadIdx.x == 0) /* each share counts all of them */
                block.image.items *= work.shares;
            choose_layout(&block, work, probe_image(block.image, channel), false, number == NONE);
            number = wanted;
        } else if (block.missed > NARROW16_PIXELS && !block.layout.fold && can_fold(work.words)) {
            flush<CHANNELS>(work, &block, channel, false); /* the sample misled: counters for all */
            choose_layout(&block, work, probe_image(block.image, channel), true, false);
        }
        after_all_before();
        uint64_t begin, end;
        item_tiles(block.image, item, &begin, &end);
        __syncthreads(); /* all have read `next`, samples and missed */
        uint32_t next = 0;
        if (threadIdx.x == 0) { /* on its way while the item is counted */
            next = request_item(work);
            block.items++;
            block.samples += (end - begin) * NARROW16_PIXELS;
        }
        since = count_item<CHANNELS>(&block, block.image.bins + (uint64_t)channel * HALVES, begin,
                                     end, channel, since);
        if (threadIdx.x == 0)
            block.next = next;
        __syncthreads(); /* the item is counted, the next is known */
    }
    after_all_before();
    if (number != NONE)
        flush<CHANNELS>(work, &block, channel, true);
    if (threadIdx.x == 0)
        finish_block(work, NULL);
}

/*
 * measure_narrow16_static: the record of one image of 16-bit samples without gaps between its rows.
 *
 *   Idea      As measure_narrow16, but warps count tiles in a fixed order, and none waits for
 *             another before the end. No check after each round: if a half of a shared word
 *             overflows, the counters add up to fewer than the samples counted. Then the block
 *             counts again and checks after every second step. Only a queue and the record are
 *             shared with the launch before, so counting begins before that has ended.
 *   Work      as measure_narrow16; twice that after an overflow.
 *   Memory    as measure_narrow16; warps have no common item, so a block reads two tiles again.
 *   Launch    one persistent block of 1,024 an SM, as many for each share of each channel; fewer
 *             where there are not as many tiles.
 *   Requires  as measure_narrow16; one image, one row, no mask.
 *   Result    as measure_narrow16.
 */
template <int CHANNELS>
static __global__ void __launch_bounds__(THREADS, 1)
    measure_narrow16_static(const __grid_constant__ Work work)
{
    __shared__ Block16 block;
    const unsigned channel = channel_of(work);
    const StaticSchedule schedule = static_schedule_of(work, work.only);
    TileCursor cursor;
    cursor.tile = first_tile(schedule, blockIdx.x / parts_of(work));
    if (!work.early)
        after_all_before();
    const Probe probe = probe_image(work.only, channel);
    if (threadIdx.x == 0) {
        block.is_static = true;
        block.share = share_of(work);
        block.total = block.counted = 0;
    }
    load_image(work, &block, 0);
    if (threadIdx.x == 0) { /* each block has one item */
        block.items = 1;
        block.image.items = gridDim.x / work.group;
    }
    choose_layout(&block, work, probe, false, true);
    uint64_t *bins = block.image.bins + (uint64_t)channel * HALVES;
    if (cursor.tile < schedule.first)
        cursor.tile = tile_after(schedule, cursor.tile);
    cursor.next = tile_after(schedule, cursor.tile);
    for (;;) {
        const bool fold = block.layout.fold > 0;
        const uint64_t from = cursor.tile;
        const uint32_t in_order = count_phase<CHANNELS>(&block, bins, schedule, channel, &cursor);
        __syncthreads(); /* the table and its total are complete */
        if (fold && !adds_up(&block, work.words))
            count_again<CHANNELS>(&block, bins, schedule, channel, from, in_order);
        if (!__syncthreads_or(cursor.tile < schedule.last))
            break;
        const bool full = !fold && block.missed > NARROW16_PIXELS && can_fold(work.words);
        after_all_before();
        flush<CHANNELS>(work, &block, channel, false);
        if (full)
            choose_layout(&block, work, probe_image(block.image, channel), true, false);
    }
    after_all_before();
    if (blockIdx.x < parts_of(work) && block.share == 0) { /* late, since it goes to the record */
        if (schedule.first > 0)
            count_edge<CHANNELS>(&block, bins, 0, channel, true);
        for (uint64_t u = max(schedule.first, schedule.last); u < block.image.tiles; u++)
            count_edge<CHANNELS>(&block, bins, u, channel, true);
    }
    flush<CHANNELS>(work, &block, channel, true);
    if (threadIdx.x == 0)
        finish_block(work, (Pack *)((NarrowState *)work.state + work.group));
}

/* Blocks of several channels find in the cache what the others have read if all begin together. So
 * those of an image of so many tiles, 256 MiB, begin when the launch before has ended: that costs
 * less than reading more than once (docs/lab/2026-11-24-kernels.md). */
template <int CHANNELS>
static ImgstatResult launch_blocks(const Launch *launch, unsigned channels, ImgstatError *err)
{
    enum { RESERVE = sizeof(Block16) + BEHIND_BYTES };
    enum { ROUND = 4096 }; /* whole buckets, warps and vectors */
    static_assert(4 * shares_of((99 * 1024 - RESERVE) / 4 / ROUND * ROUND) == MEASURE_PARTS,
                  "the least that a block has");
    CudaDevice *device = launch->device;
    Launch mine = *launch;
    Work &work = mine.work;
    work.group = channels;
    work.words = (unsigned)(device->max_shared - RESERVE) / 4 / ROUND * ROUND;
    work.shares = shares_of(work.words);
    const unsigned parts = channels * work.shares;
    auto kernel = measure_narrow16<CHANNELS>;
    uint64_t wanted = work.n_items;
    if constexpr (CHANNELS > 0) {
        if (!work.images && work.n_images == 1 && work.only.rows == 1) {
            kernel = measure_narrow16_static<CHANNELS>;
            wanted = work.only.tiles;
        }
    }
    /* As many blocks for each part. */
    const uint64_t most = (uint64_t)device->properties.multiProcessorCount / parts;
    const unsigned each = (unsigned)(wanted < most ? wanted : most > 0 ? most : 1);
    const int bytes = (int)work.words * 4 + BEHIND_BYTES;
    assert(wanted > 0 && work.words > 0 && work.words % ROUND == 0 && parts <= MEASURE_PARTS);
    assert(work.images || work.only.channels >= work.channel0 + channels);
    assert(work.images || (uintptr_t)work.only.pixels % 2 == 0);
    if (parts == 1 || work.n_images > 1 ||
        work.only.tiles < device->tuning->together_bytes / NARROW16_TILE)
        return launch_behind(&mine, kernel, "measure_narrow16", each * parts, THREADS, bytes, err);
    return cuda_launch(device, launch->stream, "measure_narrow16", kernel, each * parts, THREADS,
                       (size_t)bytes, err, work);
}

ImgstatResult launch_narrow16(const Launch *launch, unsigned channels, bool plain,
                              ImgstatError *err)
{
    switch (plain ? channels : 0) {
    case 1:
        return launch_blocks<1>(launch, channels, err);
    case 2:
        return launch_blocks<2>(launch, channels, err);
    case 3:
        return launch_blocks<3>(launch, channels, err);
    case 4:
        return launch_blocks<4>(launch, channels, err);
    default:
        return launch_blocks<0>(launch, channels, err);
    }
}
