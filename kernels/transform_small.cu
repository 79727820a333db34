/* SPDX-License-Identifier: MIT */
/* transform_small.cu: 8-bit images that fit the multiprocessors: from pixels to pixels in one
 * launch that reads them once. */
#include "hopper.cuh"
#include "transform_small.cuh"

/* Blocks of FEW_THREADS leave room for those of the next launch on the same multiprocessor. */
enum { FEW_THREADS = 512, MANY_THREADS = 1024 };
/* Vectors a thread keeps in registers. With KEPT_MOST there are none left for what the copies to
 * shared memory and the stores from there need beside them, but more fit. */
enum { KEPT_ONE = 1, KEPT_FEW = 4, KEPT_MANY = 5, KEPT_MOST = 8 };
/* And in shared memory at most. */
enum { SHARED_VECTORS = 12 };

/* Byte b of a word as the row of a table of columns. */
static __device__ __forceinline__ uint32_t *row_of(uint32_t *table, uint32_t word, int b)
{
    const uint32_t row = (b ? word >> (b * 8 - 7) : word << 7) & 255u << 7;
    return (uint32_t *)((unsigned char *)table + (row | threadIdx.x % 32 * 4));
}

static __device__ __forceinline__ void count_vector(uint32_t *table, uint4 v)
{
    const uint32_t word[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int p = 0; p < 16; p++)
        atomicAdd(row_of(table, word[p / 4], p % 4), 1u);
}

/* WIDE: by a table a lane; else by bytes that all share. */
template <bool WIDE>
static __device__ __forceinline__ uint4 map_vector(uint32_t *table, const unsigned char *entry,
                                                   uint4 v)
{
    const uint32_t word[4] = {v.x, v.y, v.z, v.w};
    uint32_t made[4];
#pragma unroll
    for (int w = 0; w < 4; w++) {
        made[w] = 0;
#pragma unroll
        for (int b = 0; b < 4; b++)
            made[w] += (WIDE ? *row_of(table, word[w], b) : entry[word[w] >> (b * 8) & 255u]) *
                       (1u << (b * 8));
    }
    return make_uint4(made[0], made[1], made[2], made[3]);
}

/* Many threads have a large image: what stays of it in the cache is rather its input. */
template <unsigned THREADS> static __device__ __forceinline__ void store_vector(uint4 *to, uint4 v)
{
    if (THREADS > FEW_THREADS)
        __stcs(to, v);
    else
        *to = v;
}

/* A raw value's count in all columns, some threads a value: thread t has that of t / SHARE. They
 * begin at different columns, so that banks do not conflict. */
template <unsigned THREADS>
static __device__ __forceinline__ uint32_t sum_columns(const uint32_t *table)
{
    enum { SHARE = THREADS / BINS, QUADS = COLUMNS / 4 / SHARE };
    const uint32_t bin = threadIdx.x / SHARE, part = threadIdx.x % SHARE;
    const uint4 *const row = (const uint4 *)(table + bin * COLUMNS) + part * QUADS;
    uint32_t sum = 0;
#pragma unroll
    for (uint32_t i = 0; i < QUADS; i++) {
        const uint4 v = row[(i + bin) % QUADS];
        sum += v.x + v.y + v.z + v.w;
    }
#pragma unroll
    for (int step = 1; step < SHARE; step *= 2)
        sum += __shfl_xor_sync(0xFFFFFFFFu, sum, step);
    return sum;
}

/* A warp makes neighbouring entries, one a lane, and fills their columns. */
template <unsigned THREADS>
static __device__ __forceinline__ void fill_columns(const SmallMap &m, const Ramp &ramp,
                                                    uint4 *table, unsigned char *entry)
{
    enum { ROWS = BINS * 32 / THREADS, QUADS = COLUMNS / 4 };
    const uint32_t first = threadIdx.x / 32 * ROWS, lane = threadIdx.x % 32;
    const uint32_t mine = ramp_entry(m, ramp, first + lane % ROWS);
    if (lane < ROWS)
        entry[first + lane] = (unsigned char)mine;
#pragma unroll
    for (uint32_t i = 0; i < ROWS; i += 32 / QUADS) {
        const uint32_t row = i + lane / QUADS, e = __shfl_sync(0xFFFFFFFFu, mine, (int)row);
        table[(first + row) * QUADS + lane % QUADS] = make_uint4(e, e, e, e);
    }
}

/* ---- Vectors in shared memory: each thread's, THREADS apart ---------------------------------- */

/* One thread starts the copies; a barrier each says that it is done. */
template <unsigned THREADS>
static __device__ __forceinline__ void start_copies(const Small &s, const Piece &p, uint32_t first,
                                                    uint4 *kept, uint64_t *arrived)
{
#if __CUDA_ARCH__ >= 900
    for (uint32_t k = 0; k < s.shared; k++) {
        const uint32_t at = first + k * THREADS;
        if (at < p.vectors)
            load_bulk(kept + k * THREADS, p.from + at, min(THREADS, p.vectors - at) * 16,
                      &arrived[k]);
    }
#endif
}

static __device__ __forceinline__ void await_copy(uint4 *to, const uint4 *from, uint64_t *arrived)
{
#if __CUDA_ARCH__ >= 900
    (void)to, (void)from;
    barrier_wait(arrived, 0);
#else
    (void)arrived;
    *to = *from;
#endif
}

/* ---- The kernel ------------------------------------------------------------------------------ */

/* Samples of pieces that other blocks should have done, through the finished table. */
template <unsigned THREADS, bool WIDE>
static __device__ __forceinline__ void map_helped(const Small &s, uint32_t *table,
                                                  const unsigned char *entry, const Helped &helped)
{
#pragma unroll 1
    for (uint32_t block = 0; block < gridDim.x; block++) {
        if (!helped.block[block])
            continue;
        const Piece p = piece_of(s, block);
#pragma unroll 1
        for (uint32_t i = threadIdx.x; i < p.vectors; i += THREADS)
            p.to[i] = map_vector<WIDE>(table, entry, p.from[i]);
        if (threadIdx.x < p.tail)
            ((unsigned char *)(p.to + p.vectors))[threadIdx.x] =
                entry[((const unsigned char *)(p.from + p.vectors))[threadIdx.x]];
    }
}

/*
 * transform_small: measures, makes the map and applies it.
 *
 *   Idea      A block keeps its piece, in registers and shared memory, while it counts it, adds its
 *             counts to those of all blocks, and sees by their sum that they are whole: each is a
 *             total that only grows, so no other barrier and no fence is needed. Every block then
 *             makes the same table and maps what it kept. A lane has a column of the counters and
 *             of the table: no bank conflicts.
 *   Work      an increment and a lookup a sample; 256 ratios a block.
 *   Memory    reads and writes each sample once; 257 atomic additions a block.
 *   Launch    <<<blocks, THREADS, TABLE_BYTES + 16 * shared * THREADS>>>, at most SMALL_BLOCKS;
 *             it may begin before the launch before has ended. Blocks wait for blocks, but not
 *             for any that has not begun: after some time they do its piece, and it finds that
 *             done. So there need not be room for all of them, and two such launches in two
 *             streams cannot keep each other from ending.
 *   Requires  one long row on 16-byte boundaries, fewer than 2^27 samples. In place: a piece is
 *             written by the block that has read it, when all are counted.
 *   Result    the bytes of transfer_create and transfer_apply.
 */
template <unsigned THREADS, unsigned KEPT, unsigned COPIES, bool WIDE>
static __global__ void __launch_bounds__(THREADS, THREADS <= FEW_THREADS ? 2 : 1)
    transform_small(SmallMap m, Small s, SmallState *state)
{
    extern __shared__ __align__(128) uint4 memory[];
    __shared__ __align__(16) Ramp ramp;
    __shared__ unsigned char entry[BINS];
    __shared__ Helped helped;
    __shared__ uint32_t turn, own;
    __shared__ uint64_t arrived[SHARED_VECTORS];
    uint32_t *const table = (uint32_t *)memory;
    uint4 *const kept = memory + TABLE_BYTES / 16 + threadIdx.x;
    const Piece p = piece_of(s, blockIdx.x);
    const unsigned char *const tail = (const unsigned char *)(p.from + p.vectors);
    uint32_t last = 0;
    uint4 v[KEPT];
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x == 0) {
        for (uint32_t k = 0; k < s.shared; k++)
            barrier_init(&arrived[k], 1);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); /* copies see the barriers */
    }
#endif
    after_launches_before();
    if (threadIdx.x == 0)
        start_copies<THREADS>(s, p, KEPT * THREADS, kept, arrived);
#pragma unroll
    for (unsigned k = 0; k < KEPT; k++)
        if (threadIdx.x + k * THREADS < p.vectors)
            v[k] = p.from[threadIdx.x + k * THREADS];
    if (threadIdx.x < p.tail)
        last = tail[threadIdx.x];
    if (threadIdx.x == 0)
        take_own_piece(state, &turn, &own);
    for (uint32_t i = threadIdx.x; i < sizeof helped / 4; i += THREADS)
        ((uint32_t *)&helped)[i] = 0;
    for (uint32_t i = threadIdx.x; i < TABLE_BYTES / 16; i += THREADS)
        memory[i] = make_uint4(0, 0, 0, 0);
    __syncthreads(); /* the table is empty */
#pragma unroll
    for (unsigned k = 0; k < KEPT; k++)
        if (threadIdx.x + k * THREADS < p.vectors)
            count_vector(table, v[k]);
    for (uint32_t k = 0; k < s.shared; k++) {
        const uint32_t i = threadIdx.x + (KEPT + k) * THREADS;
        if (i < p.vectors) {
            await_copy(&kept[k * THREADS], &p.from[i], &arrived[k]);
            count_vector(table, kept[k * THREADS]);
        }
    }
    if (threadIdx.x < p.tail)
        atomicAdd(&table[last * COLUMNS + threadIdx.x % 32], 1u);
    __syncthreads(); /* the counts are whole */

    const uint32_t sum = sum_columns<THREADS>(table), bin = threadIdx.x / (THREADS / BINS);
    if (own && threadIdx.x % (THREADS / BINS) == 0 && sum)
        atomicAdd(count_of<COPIES>(state, turn, blockIdx.x % COPIES, bin ^ m.from_flip), sum);
    if (own && threadIdx.x == THREADS - 32)
        atomicAdd(state->samples[turn], piece_samples(p));
    if (blockIdx.x == 0)
        empty_next<THREADS>(state, turn); /* no other launch runs */
    if (!own)
        return;
    if (threadIdx.x < 32) {
        uint32_t counts[KEYS];
        await_counts<COPIES>(s, state, turn, m.from_flip, counts, &helped);
        make_ramp(m, counts, &ramp);
    }
    __syncthreads(); /* the ramp is whole */
    if (WIDE)
        fill_columns<THREADS>(m, ramp, memory, entry);
    else if (threadIdx.x < BINS)
        entry[threadIdx.x] = (unsigned char)ramp_entry(m, ramp, threadIdx.x);
    __syncthreads(); /* so is the table */
#pragma unroll
    for (unsigned k = 0; k < KEPT; k++)
        if (threadIdx.x + k * THREADS < p.vectors)
            store_vector<THREADS>(p.to + threadIdx.x + k * THREADS,
                                  map_vector<WIDE>(table, entry, v[k]));
#pragma unroll 2
    for (uint32_t k = 0; k < s.shared; k++) {
        const uint32_t i = threadIdx.x + (KEPT + k) * THREADS;
        if (i < p.vectors)
            store_vector<THREADS>(p.to + i, map_vector<WIDE>(table, entry, kept[k * THREADS]));
    }
    if (threadIdx.x < p.tail)
        ((unsigned char *)(p.to + p.vectors))[threadIdx.x] = entry[last];
    if (helped.any)
        map_helped<THREADS, WIDE>(s, table, entry, helped);
}

/* ---- Host side ------------------------------------------------------------------------------- */

/* Vectors a thread of so many has to keep in shared memory. */
static uint32_t shared_vectors(uint64_t piece, unsigned threads, unsigned kept)
{
    const uint64_t each = (piece + threads - 1) / threads;
    return each > kept ? (uint32_t)(each - kept) : 0;
}

/* Vectors a thread of a full block for which there is room there. */
static uint32_t room_for(const CudaDevice *device)
{
    enum { OTHER_BYTES = 4096 }; /* but the table and the pixels */
    const int room = (device->max_shared - TABLE_BYTES - OTHER_BYTES) / (16 * MANY_THREADS);
    return room < 0 ? 0 : room < SHARED_VECTORS ? (uint32_t)room : SHARED_VECTORS;
}

static uint32_t most_blocks(const CudaDevice *device)
{
    const int most = device->properties.multiProcessorCount;
    return most < SMALL_BLOCKS ? (uint32_t)most : SMALL_BLOCKS;
}

bool transform_is_small(const CudaDevice *device, const Finish *f, const ApplyPixels *p)
{
    const uint64_t vectors = p->width * p->channels / 16, blocks = most_blocks(device);
    const uint64_t address = (uint64_t)(uintptr_t)p->from | (uint64_t)(uintptr_t)p->to;
    return device->max_shared > TABLE_BYTES && sample_bits((ImgstatSample)f->from) == 8 &&
           sample_bits((ImgstatSample)f->to) == 8 && f->n_maps == 1 && p->alpha < 0 && !p->mask &&
           p->rows == 1 && address % 16 == 0 && vectors < 1 << 22 &&
           shared_vectors((vectors + blocks - 1) / blocks, MANY_THREADS, KEPT_MOST) <=
               room_for(device);
}

SmallMap small_map(const Map *blank, const Finish *f)
{
    const ImgstatSample from = (ImgstatSample)f->from, to = (ImgstatSample)f->to;
    SmallMap m;
    m.from_flip = (uint32_t)sample_key(from, 0);
    m.to_flip = (uint32_t)sample_key(to, 0);
    m.nodata = f->has_nodata ? (uint32_t)f->nodata_key : BINS;
    m.nodata_to = f->has_nodata ? (uint32_t)map_unchanged(blank, f->nodata_key) : 0;
    m.avoid = blank->to.has_nodata ? (uint32_t)blank->to.nodata_key : BINS;
    m.lo = (uint32_t)blank->to.lo_key;
    m.range = (uint32_t)(blank->to.hi_key - blank->to.lo_key);
    m.full_lo = (uint32_t)blank->full_lo;
    m.full_span = (uint32_t)(blank->full_hi - blank->full_lo);
    m.same = from == to;
    m.equalize = f->equalize;
    m.nano_lo = f->nano_lo;
    m.nano_hi = f->nano_hi;
    return m;
}

template <unsigned THREADS, unsigned KEPT, unsigned COPIES, bool WIDE>
static ImgstatResult launch(CudaDevice *device, cudaStream_t stream, const SmallMap &m, Small s,
                            SmallState *state, ImgstatError *err)
{
    const auto kernel = transform_small<THREADS, KEPT, COPIES, WIDE>;
    const uint32_t most = most_blocks(device), wanted = (s.vectors + THREADS - 1) / THREADS;
    const uint32_t blocks = wanted < 1 ? 1 : wanted < most ? wanted : most;
    s.piece = (s.vectors + blocks - 1) / blocks;
    s.shared = shared_vectors(s.piece, THREADS, KEPT);
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(THREADS);
    config.dynamicSmemBytes = TABLE_BYTES + (size_t)s.shared * 16 * THREADS;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = device->properties.major >= 9; /* see after_launches_before */
    IMGSTAT_TRY(cuda_allow_shared(device, (const void *)kernel, (int)config.dynamicSmemBytes, err));
    CUDA_TRY(device, err, cudaLaunchKernelEx(&config, kernel, m, s, state));
    return cuda_launched(device, stream, "transform_small", err);
}

ImgstatResult launch_transform_small(CudaDevice *device, cudaStream_t stream, const SmallMap *map,
                                     SmallState *state, const ApplyPixels *p, ImgstatError *err)
{
    const uint64_t samples = p->width * p->channels;
    const uint64_t few = (uint64_t)most_blocks(device) * FEW_THREADS;
    Small s;
    s.from = (const uint4 *)p->from;
    s.to = (uint4 *)p->to;
    s.vectors = (uint32_t)(samples / 16);
    s.tail = (uint32_t)(samples % 16);
    s.piece = s.shared = 0;
    if (s.vectors <= few * KEPT_ONE)
        return launch<FEW_THREADS, KEPT_ONE, 4, false>(device, stream, *map, s, state, err);
    if (s.vectors <= few * KEPT_FEW)
        return launch<FEW_THREADS, KEPT_FEW, 4, true>(device, stream, *map, s, state, err);
    const uint64_t piece = (s.vectors + most_blocks(device) - 1) / most_blocks(device);
    return shared_vectors(piece, MANY_THREADS, KEPT_MOST) == 0 ||
                   shared_vectors(piece, MANY_THREADS, KEPT_MANY) > room_for(device)
               ? launch<MANY_THREADS, KEPT_MOST, 1, true>(device, stream, *map, s, state, err)
               : launch<MANY_THREADS, KEPT_MANY, 1, true>(device, stream, *map, s, state, err);
}
