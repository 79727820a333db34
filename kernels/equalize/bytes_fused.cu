/* SPDX-License-Identifier: MIT */
/* equalize/bytes_fused.cu: 8-bit images that the multiprocessors hold, all or much of them: from
 * pixels to pixels in one launch that reads what they hold once. */
#include "equalize/bytes_fused_pixels.cuh"

/* Ranks of fewer than 2^27 samples fit 64 bits (small_rank). */
enum { SMALL_VECTORS = (1 << 27) / 16 };

/* ---- Counts of a item ----------------------------------------------------------------------- */

/* A block adds the counts in its table to those of all blocks. */
template <unsigned THREADS>
DEVICE void add_counts(SmallState *state, uint32_t parity, uint32_t flip, const Item &p,
                       const uint4 *table)
{
    const uint32_t sum = sum_columns<THREADS, WIDE_ROW>(table);
    const uint32_t bin = threadIdx.x / (THREADS / BINS);
    if (threadIdx.x % (THREADS / BINS) == 0 && sum)
        atomicAdd(count_of(state, parity, bin ^ flip), sum);
    if (threadIdx.x == THREADS - 32)
        atomicAdd(state->samples[parity], item_samples(p));
}

/* A block counts the item of one that has not begun. */
template <unsigned THREADS>
DEVICE void help(const Small &s, SmallState *state, uint32_t parity, uint32_t flip, uint32_t block,
                 uint4 *memory, Helped *helped)
{
    const Item p = item_of(s, block);
    uint32_t *const table = (uint32_t *)memory;
    empty_columns<THREADS, WIDE_ROW>(memory);
    __syncthreads(); /* the table is empty */
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < p.vectors; i += THREADS)
        count_vector(table, p.from[i], own_column());
    if (threadIdx.x < p.tail)
        count_one(table, ((const unsigned char *)(p.from + p.vectors))[threadIdx.x]);
    if (threadIdx.x == 0) {
        helped->any = 1;
        helped->block[block] = 1;
    }
    __syncthreads(); /* the counts are whole */
    add_counts<THREADS>(state, parity, flip, p, memory);
}

/* ---- The kernel ------------------------------------------------------------------------------ */

/* Samples of items that other blocks should have done, through the finished table. */
template <unsigned THREADS>
DEVICE void map_helped(const Small &s, uint32_t *table, const unsigned char *entry,
                       const Helped &helped)
{
#pragma unroll 1
    for (uint32_t block = 0; block < gridDim.x; block++) {
        if (!helped.block[block])
            continue;
        const Item p = item_of(s, block);
#pragma unroll 1
        for (uint32_t i = threadIdx.x; i < p.vectors; i += THREADS)
            p.to[i] = map_vector(table, p.from[i]);
        if (threadIdx.x < p.tail)
            ((unsigned char *)(p.to + p.vectors))[threadIdx.x] =
                entry[((const unsigned char *)(p.from + p.vectors))[threadIdx.x]];
    }
}

/*
 * transform_small: measures an image of 8-bit samples, makes its map and applies it.
 *
 *   Idea      A block keeps its part of the image in registers and, where these are too few, in
 *             shared memory, and counts it while it arrives. It adds its counts to those of all
 *             blocks, and their sum shows when they are complete: each is a total that only grows,
 *             so no other barrier and no fence is needed. Every block then makes the same table and
 *             maps what it kept. A lane has a column of the counters and of the table: no bank
 *             conflicts. If LARGE, image and result exceed the second-level cache: what is read for
 *             the last time leaves it first. If TWICE, blocks read what they have no room for twice
 *             and count it before all else; its registers then get pixels that stay, while shared
 *             memory is counted.
 *   Work      an increment and a lookup a sample; 256 ratios a block.
 *   Memory    reads and writes each sample once, or what it does not keep twice; 257 atomic
 *             additions a block.
 *   Launch    <<<blocks, THREADS, BINS * WIDE_ROW + 16 * shared * THREADS or more>>>, at most
 *             SMALL_BLOCKS; it may begin before the launch before has ended. Blocks wait for
 *             blocks, but not for any that has not begun: after some time they do its part, and it
 *             finds that done. So there need not be room for all of them, and two such launches in
 *             two streams cannot keep each other from ending.
 *   Requires  one long row on 16-byte boundaries, fewer than 2^27 samples. In place: a part is
 *             written by the block that has read it, when all are counted.
 *   Result    the bytes of transfer_create and transfer_apply.
 */
template <unsigned THREADS, unsigned KEPT, unsigned SURE, Residency RESIDENCY>
static __global__ void __launch_bounds__(THREADS, THREADS <= FEW_THREADS ? 2 : 1)
    transform_small(SmallMap m, Small s, SmallState *state)
{
    extern __shared__ __align__(128) uint4 memory[];
    __shared__ Cdf cdf;
    __shared__ __align__(4) unsigned char entry[BINS];
    __shared__ Helped helped;
    __shared__ uint32_t parity, own, left;
    __shared__ uint64_t arrived[SHARED_VECTORS];
    uint32_t *const table = (uint32_t *)memory;
    uint4 *const kept = memory + BINS * WIDE_ROW / 16 + threadIdx.x;
    const Item p = item_of(s, blockIdx.x);
    uint4 v[KEPT];
    Begun begun = {};
    if (RESIDENCY != IN_REGISTERS && threadIdx.x == 0)
        prepare_copies(s, arrived);
    empty_columns<THREADS, WIDE_ROW>(memory);
    for (uint32_t i = threadIdx.x; i < sizeof helped / 4; i += THREADS)
        ((uint32_t *)&helped)[i] = 0;
    if (threadIdx.x == 0)
        cdf.first = 0; /* which stays if there is nothing but nodata */
    __syncthreads();   /* the table is empty, and barriers are ready */
    after_launches_before();
    if (threadIdx.x == 0)
        begun = request_item(state);
    const uint32_t last = count_item<THREADS, KEPT, SURE, RESIDENCY>(s, p, table, v, kept, arrived);
    if (threadIdx.x == 0)
        resolve_own_item(state, begun, &parity, &own);
    __syncthreads(); /* the counts are whole */

    if (own)
        add_counts<THREADS>(state, parity, m.from_flip, p, memory);
    if (blockIdx.x == 0)
        empty_next<THREADS>(state, parity); /* no other launch runs */
    if (!own)
        return;
    const uint32_t all = s.vectors * 16 + s.tail;
    for (uint32_t looks = 0;;) {
        if (threadIdx.x < 32)
            left = await_samples(state, parity, all, &looks);
        __syncthreads(); /* no warp polls the counts before it is worth while */
        if (left == gridDim.x)
            break;
        help<THREADS>(s, state, parity, m.from_flip, left, memory, &helped);
    }
    const uint32_t sum = gather_counts<THREADS>(state, parity, all, m.nodata, &cdf);
    make_table(m, cdf, sum, entry, memory);
    map_item<THREADS, KEPT, RESIDENCY>(s, p, table, entry, v, kept, last);
    if (helped.any)
        map_helped<THREADS>(s, table, entry, helped);
}

/* ---- Host side ------------------------------------------------------------------------------- */

static uint32_t most_blocks(const CudaDevice *device)
{
    const int most = device->properties.multiProcessorCount;
    return most < SMALL_BLOCKS ? (uint32_t)most : SMALL_BLOCKS;
}

/* Vectors of a block, whole lines of the cache. */
static uint32_t vectors_per_item(uint32_t vectors, uint32_t blocks)
{
    enum { LINE = 128 / 16 };
    return (vectors + blocks * LINE - 1) / (blocks * LINE) * LINE;
}

bool transform_is_small(const CudaDevice *device, const Finish *f, const ApplyPixels *p)
{
    const uint64_t vectors = p->width * p->channels / 16;
    const uint64_t address = (uint64_t)(uintptr_t)p->from | (uint64_t)(uintptr_t)p->to;
    return device->max_shared > BINS * WIDE_ROW + OTHER_BYTES && sample_bits(f->from) == 8 &&
           sample_bits(f->to) == 8 && f->n_maps == 1 && p->alpha < 0 && !p->mask && p->rows == 1 &&
           address % 16 == 0 && vectors < SMALL_VECTORS;
}

SmallMap small_map(const Map *blank, const Finish *f)
{
    const ImgstatSample from = f->from, to = f->to;
    SmallMap m;
    m.from_flip = (uint32_t)sample_key(from, 0);
    m.to_flip = (uint32_t)sample_key(to, 0);
    m.nodata = f->has_nodata ? (uint32_t)f->nodata_key : sample_record_bins(from);
    m.nodata_to = f->has_nodata ? (uint32_t)map_unchanged(blank, f->nodata_key) : 0;
    m.avoid = blank->to.has_nodata ? (uint32_t)blank->to.nodata_key : sample_record_bins(to);
    m.lo = (uint32_t)blank->to.lo_key;
    m.range = (uint32_t)(blank->to.hi_key - blank->to.lo_key);
    m.full_lo = (uint32_t)blank->full_lo;
    m.full_span = (uint32_t)(blank->full_hi - blank->full_lo);
    m.same = blank->same_scale;
    m.equalize = f->equalize;
    m.nano_lo = f->nano_lo;
    m.nano_hi = f->nano_hi;
    return m;
}

template <unsigned THREADS, unsigned KEPT, unsigned SURE, Residency RESIDENCY>
static ImgstatResult launch(CudaDevice *device, cudaStream_t stream, const SmallMap &m, Small s,
                            SmallState *state, ImgstatError *err)
{
    const auto kernel = transform_small<THREADS, KEPT, SURE, RESIDENCY>;
    const uint32_t most = most_blocks(device), wanted = (s.vectors + THREADS - 1) / THREADS;
    const uint32_t blocks = wanted < 1 ? 1 : wanted < most ? wanted : most;
    s.item = vectors_per_item(s.vectors, blocks);
    size_t bytes = plan_vectors(device, &s, (s.item + THREADS - 1) / THREADS, KEPT, THREADS);
    /* Room for two blocks a multiprocessor, not for three: launches after the next one would be
     * spread unevenly over what the present one leaves. */
    if (THREADS == FEW_THREADS && bytes < (size_t)device->max_shared / 3)
        bytes = (size_t)device->max_shared / 3;
    assert(s.vectors < SMALL_VECTORS && blocks <= SMALL_BLOCKS);
    assert(((uintptr_t)s.from | (uintptr_t)s.to) % 16 == 0);
    return cuda_launch_early(device, stream, "transform_small", kernel, blocks, THREADS, bytes, err,
                             m, s, state);
}

ImgstatResult launch_transform_small(CudaDevice *device, cudaStream_t stream, const SmallMap *map,
                                     SmallState *state, const ApplyPixels *p, ImgstatError *err)
{
    const uint64_t samples = p->width * p->channels;
    const uint64_t few = (uint64_t)most_blocks(device) * FEW_THREADS;
    const uint64_t many = (uint64_t)most_blocks(device) * MANY_THREADS;
    Small s;
    s.from = (const uint4 *)p->from;
    s.to = (uint4 *)p->to;
    s.vectors = (uint32_t)(samples / 16);
    s.tail = (uint32_t)(samples % 16);
    s.item = s.shared = s.rounds = 0;
    if (s.vectors <= few * KEPT_FEW)
        return launch<FEW_THREADS, KEPT_FEW, 1, IN_REGISTERS>(device, stream, *map, s, state, err);
    if (s.vectors <= few * KEPT_MORE)
        return launch<FEW_THREADS, KEPT_MORE, KEPT_FEW + 1, IN_REGISTERS>(device, stream, *map, s,
                                                                          state, err);
    if (s.vectors <= many * KEPT_MANY)
        return launch<MANY_THREADS, KEPT_MANY, KEPT_MORE * FEW_THREADS / MANY_THREADS + 1,
                      IN_REGISTERS>(device, stream, *map, s, state, err);
    const uint64_t room = shared_room(device);
    /* An eighth of the cache is for what else there is. */
    const uint64_t cached = (uint64_t)device->properties.l2CacheSize / 8 * 7;
    if (s.vectors <= many * (KEPT_MANY + room) && samples * 2 <= cached)
        return launch<MANY_THREADS, KEPT_MANY, KEPT_MANY, SHARED>(device, stream, *map, s, state,
                                                                  err);
    if (s.vectors <= many * (KEPT_LARGE + room))
        return launch<MANY_THREADS, KEPT_LARGE, KEPT_LARGE, LARGE>(device, stream, *map, s, state,
                                                                   err);
    return launch<MANY_THREADS, KEPT_TWICE, KEPT_TWICE, TWICE>(device, stream, *map, s, state, err);
}
