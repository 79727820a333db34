/* SPDX-License-Identifier: MIT */
/* histogram8/kernel.cu: records of 8-bit samples in one read: exact bins, and where the extrema
 * are.
 */
#include "common/dispatch.cuh"
#include "histogram8/count.cuh"
#include "histogram8/report.cuh"

/* A launch's only image. */
template <int C, bool PLAIN> DEVICE void measure_alone(const Work &work, Block8<C> *block)
{
    ImageState8<C> *held = &block->held[0];
    switch_image<C, PLAIN>(work, NULL, held, 0);
    count_alone<C, PLAIN>(work, held);
    after_all_before();
    if (threadIdx.x == 0) {
        held->items = 1;
        held->image.items = gridDim.x; /* reports there will be */
    }
    __syncthreads(); /* the table and what was seen are complete */
    switch_image<C, PLAIN>(work, held, &block->held[1], NONE);
}

/* Items of images, in order, while there are any. */
template <int C, bool PLAIN> DEVICE void measure_items(const Work &work, Block8<C> *block)
{
    if (threadIdx.x < 2) {
        block->full[threadIdx.x] = false;
        block->cursor[threadIdx.x] = 0;
    }
    uint32_t item = blockIdx.x, next = item + gridDim.x;
    ImageState8<C> *held = NULL;
    for (unsigned parity = 0; item < work.n_items; parity ^= 1) {
        const uint32_t wanted = work_image_of(work, item);
        if (!held || wanted != held->number || block->full[parity ^ 1]) {
            ImageState8<C> *other = &block->held[held == &block->held[0]];
            switch_image<C, PLAIN>(work, held, other, wanted);
            held = other;
        }
        uint64_t tile, end;
        item_tiles(held->image, item, &tile, &end);
        if (threadIdx.x == 0) {
            if (item >= gridDim.x) /* on its way while the item is counted */
                next = 2 * gridDim.x + atomicAdd(&work.shared->queue.next, 1u);
            held->items++;
            held->samples += (end - tile) * (PLAIN ? Shape8<C>::TILE / C : NARROW8_PIXELS);
        }
        count_item<C, PLAIN>(work, held, &block->cursor[parity], tile, (unsigned)(end - tile));
        after_all_before();
        if (threadIdx.x == 0) {
            block->next[parity] = next;
            block->full[parity] = held->samples > TABLE_SAMPLES;
            block->cursor[parity ^ 1] = 0;
        }
        __syncthreads(); /* the table holds the whole item; next[parity] is there */
        item = block->next[parity];
    }
    if (held)
        switch_image<C, PLAIN>(work, held, &block->held[held == &block->held[0]], NONE);
}

/*
 * measure_narrow8: the record of 8-bit samples, C interleaved channels at once.
 *
 *   Idea      Lane-private columns of counters: no two lanes of a warp ever meet in a bank,
 *             whatever the image (see column_of). 256 bytes a sample value, so one byte permutation
 *             makes an address; an increment of exactly 1 whose result is unused needs no return
 *             trip. Sums and moments follow from the bins. Extrema are tracked two bytes an
 *             instruction; when a tile goes beyond what its warp has seen, the block notes extremum
 *             and tile, and the block that reports an image last searches the one tile that holds
 *             it first.
 *   Work      2 instructions a sample to count, 1.25 for extrema.
 *   Memory    reads n bytes once, and 2 C tiles again; adds up to 256 C bins a block and image.
 *             Shared: 64 KiB.
 *   Launch    two persistent blocks of 512 an SM. An image alone: tiles in a fixed order, the last
 *             ones from queues. Several: items; the first is that of the block's number, the others
 *             come from a queue, in order.
 *   Requires  C <= 4; PLAIN: the image has C channels and no mask. Queue and states zero.
 *   Result    bins, n, masked, extrema added to the record; queue and states zero again. Integers:
 *             every order of blocks gives the same.
 */
template <int C, bool PLAIN>
static __global__ void __launch_bounds__(THREADS, BLOCKS)
    measure_narrow8(const __grid_constant__ Work work)
{
    __shared__ Block8<C> block;
    for (unsigned i = threadIdx.x; i < TABLE_BYTES / 16; i += THREADS)
        ((uint4 *)table)[i] = make_uint4(0, 0, 0, 0);
    if (!work.early)
        after_all_before();
    if (work.n_images == 1 && work.alone)
        measure_alone<C, PLAIN>(work, &block);
    else
        measure_items<C, PLAIN>(work, &block);
    if (threadIdx.x == 0)
        queue_release(work);
}

/* As many blocks an SM as its shared memory allows, two at most. */
template <int C, bool PLAIN>
static ImgstatResult launch_channels(const Launch *launch, ImgstatError *err)
{
    const int block_bytes = TABLE_BYTES + SHARED_RESERVED + (int)sizeof(Block8<C>);
    const cudaDeviceProp &properties = launch->device->properties;
    const bool two = 2 * block_bytes <= (int)properties.sharedMemPerMultiprocessor;
    Launch mine = *launch;
    Work *work = &mine.work;
    uint64_t wanted = work->n_items;
    work->alone = work->n_images == 1 && work->only.tiles < TABLE_TILES;
    if (work->alone)
        wanted = (work->only.tiles + WARPS - 1) / WARPS;
    const unsigned blocks = cuda_blocks(launch->device, wanted, two ? 2 : 1);
    assert(work->images || work->only.channels >= work->channel0 + C);
    assert(blocks > 0 && block_bytes <= launch->device->max_shared + SHARED_RESERVED);
    return launch_behind(&mine, measure_narrow8<C, PLAIN>, "measure_narrow8", blocks, THREADS,
                         TABLE_BYTES, err);
}

size_t narrow_state_bytes(void)
{
    return sizeof(NarrowState);
}

ImgstatResult launch_narrow8(const Launch *launch, unsigned channels, bool plain, ImgstatError *err)
{
    return dispatch_channels(channels, [&](auto c) {
        return plain ? launch_channels<decltype(c)::value, true>(launch, err)
                     : launch_channels<decltype(c)::value, false>(launch, err);
    });
}
