/* SPDX-License-Identifier: MIT */
/* transform_small.cu: 8-bit images that fit the multiprocessors: from pixels to pixels in one
 * launch that reads them once. */
#include "transform.cuh"

enum { FEW_THREADS = 512, THREADS = 1024, BINS = 256, TABLE_BYTES = BINS * 32 * 4 };
/* Vectors a thread keeps in registers: few, as loads to shared memory then overlap counting; many
 * where shared memory alone does not hold the image. */
enum { KEPT_FEW = 2, KEPT_MANY = 8 };
/* A warp of 32 finishes: so many keys a lane. */
enum { KEYS = BINS / 32 };

struct Small {
    const uint4 *from;
    uint4 *to;
    uint32_t vectors, tail; /* 16 samples each; samples behind them */
    uint32_t shared;        /* vectors a thread keeps in shared memory */
};

static __device__ __forceinline__ uint32_t warp_sum(uint32_t value)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    return __reduce_add_sync(0xFFFFFFFFu, value);
#else
    for (int step = 16; step; step /= 2)
        value += __shfl_xor_sync(0xFFFFFFFFu, value, step);
    return value;
#endif
}

/* Counters as they are now, whatever a cache holds; asked anew each time. */
static __device__ __forceinline__ uint4 load_counts(const uint32_t *from)
{
    uint4 v;
    asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(from)
                 : "memory");
    return v;
}

/* A lane's counts of all copies; returns how many they are in all lanes. */
static __device__ __forceinline__ uint32_t gather_counts(const SmallCounters *counters,
                                                         uint32_t turn, uint32_t counts[KEYS])
{
    uint32_t all = 0;
#pragma unroll
    for (int i = 0; i < KEYS; i++)
        counts[i] = 0;
#pragma unroll
    for (int copy = 0; copy < SMALL_COPIES; copy++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const uint4 v =
                load_counts(&counters->counts[turn][copy][threadIdx.x * KEYS + half * 4]);
            counts[half * 4] += v.x;
            counts[half * 4 + 1] += v.y;
            counts[half * 4 + 2] += v.z;
            counts[half * 4 + 3] += v.w;
            all += v.x + v.y + v.z + v.w;
        }
    return warp_sum(all);
}

static __device__ __forceinline__ void count_vector(uint32_t *table, uint4 v)
{
    const uint32_t lane = threadIdx.x % 32, word[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int p = 0; p < 16; p++)
        atomicAdd(&table[(word[p / 4] >> (p % 4 * 8) & 255u) * 32 + lane], 1u);
}

/* COLUMNS: a table a lane; else bytes, shared by all. */
template <bool COLUMNS>
static __device__ __forceinline__ uint32_t look_up(const uint32_t *table, uint32_t raw)
{
    return COLUMNS ? table[raw * 32 + threadIdx.x % 32] : ((const unsigned char *)table)[raw];
}

template <bool COLUMNS>
static __device__ __forceinline__ uint4 map_vector(const uint32_t *table, uint4 v)
{
    const uint32_t word[4] = {v.x, v.y, v.z, v.w};
    uint32_t made[4];
#pragma unroll
    for (int w = 0; w < 4; w++) {
        made[w] = 0;
#pragma unroll
        for (int b = 0; b < 4; b++)
            made[w] |= look_up<COLUMNS>(table, word[w] >> (b * 8) & 255u) << (b * 8);
    }
    return make_uint4(made[0], made[1], made[2], made[3]);
}

/* The map from the counts, by one warp; lane l has those of keys 8 l to 8 l + 7. */
static __device__ __forceinline__ void finish_map(const Finish &f, uint32_t counts[KEYS],
                                                  uint64_t *cdf, Map *map)
{
    const uint32_t lane = threadIdx.x;
    uint32_t first = 0;
    for (int i = KEYS - 1; i >= 0; i--) {
        if (f.has_nodata && lane * KEYS + i == f.nodata_key)
            counts[i] = 0;
        first = counts[i] ? counts[i] : first;
    }
    for (int i = 1; i < KEYS; i++)
        counts[i] += counts[i - 1];
    uint32_t sum = counts[KEYS - 1];
    for (int step = 1; step < 32; step *= 2) {
        const uint32_t before = __shfl_up_sync(0xFFFFFFFFu, sum, step);
        sum += (int)lane >= step ? before : 0;
    }
    for (int i = 0; i < KEYS; i++)
        cdf[lane * KEYS + i] = sum - counts[KEYS - 1] + counts[i];
    const uint32_t present = __ballot_sync(0xFFFFFFFFu, first > 0);
    first = __shfl_sync(0xFFFFFFFFu, first, present ? __ffs((int)present) - 1 : 0);
    __syncwarp(); /* the sums are whole */
    if (lane < 31)
        return;
    if (f.equalize)
        map_equalize_from(map, cdf, sum, first);
    else
        map_clip_counts(map, cdf, f.nano_lo, f.nano_hi);
}

/*
 * transform_small: measures, makes the map and applies it.
 *
 *   Idea      A block keeps its pixels, in registers and then in shared memory, while it counts
 *             them, adds its counts to those of all blocks, and sees by their sum that they are
 *             whole: each is a total that only grows, so no other barrier and no fence is needed.
 *             Every block then makes the same table and maps what it kept. A lane has a column of
 *             the counters and of the table: no bank conflicts.
 *   Work      an increment and a lookup a sample; a division an entry, in every block.
 *   Memory    reads and writes each sample once; 256 atomic additions a block.
 *   Launch    <<<blocks, THREADS, TABLE_BYTES + 16 * shared * THREADS>>>, cooperative: all blocks
 *             are resident, as blocks wait for blocks. Each block has a vector or the tail.
 *   Requires  one long row on 16-byte boundaries, fewer than 2^32 samples. In place: a thread
 *             writes what it has read.
 *   Result    the bytes of transfer_create and transfer_apply.
 */
template <unsigned THREADS, unsigned KEPT, bool COLUMNS>
static __global__ void __launch_bounds__(THREADS, 1)
    transform_small(Finish f, Small s, SmallCounters *counters)
{
    extern __shared__ uint4 memory[];
    __shared__ uint64_t cdf[BINS];
    __shared__ uint32_t entry[BINS];
    __shared__ Map map;
    __shared__ uint32_t turn;
    uint32_t *const table = (uint32_t *)memory;
    uint4 *const kept = memory + TABLE_BYTES / 16 + threadIdx.x;
    const uint32_t stride = gridDim.x * THREADS, at = blockIdx.x * THREADS + threadIdx.x;
    const unsigned char *const tail = (const unsigned char *)(s.from + s.vectors);
    uint32_t last = 0;
    uint4 v[KEPT];
#pragma unroll
    for (unsigned k = 0; k < KEPT; k++)
        if (at + k * stride < s.vectors)
            v[k] = s.from[at + k * stride];
    if (at < s.tail)
        last = tail[at];
    if (threadIdx.x == 0) {
        turn = __ldcv(&counters->turn) & 1;
        map = f.blank[0];
    }
    for (uint32_t i = threadIdx.x; i < TABLE_BYTES / 16; i += THREADS)
        memory[i] = make_uint4(0, 0, 0, 0);
    __syncthreads(); /* the table is empty */
#pragma unroll
    for (unsigned k = 0; k < KEPT; k++)
        if (at + k * stride < s.vectors)
            count_vector(table, v[k]);
#pragma unroll 4
    for (uint32_t k = 0; k < s.shared; k++) {
        const uint32_t i = at + (KEPT + k) * stride;
        if (i < s.vectors) {
            kept[k * THREADS] = s.from[i];
            count_vector(table, kept[k * THREADS]);
        }
    }
    if (at < s.tail)
        atomicAdd(&table[last * 32 + threadIdx.x % 32], 1u);
    __syncthreads(); /* the counts are whole */

    /* Some threads a bin; they begin at different columns, so that banks do not conflict. */
    enum { SHARE = THREADS / BINS, OWN = 32 / SHARE };
    const uint32_t bin = threadIdx.x / SHARE, flip = sample_key((ImgstatSample)f.from, 0);
    uint32_t sum = 0;
#pragma unroll
    for (uint32_t i = 0; i < OWN; i++)
        sum += table[bin * 32 + threadIdx.x % SHARE * OWN + (i + bin) % OWN];
#pragma unroll
    for (int step = 1; step < SHARE; step *= 2)
        sum += __shfl_xor_sync(0xFFFFFFFFu, sum, step);
    if (threadIdx.x % SHARE == 0 && sum)
        atomicAdd(&counters->counts[turn][blockIdx.x % SMALL_COPIES][bin ^ flip], sum);
    if (blockIdx.x == 0) /* no other launch runs */
        for (uint32_t i = threadIdx.x; i < SMALL_COPIES * BINS; i += THREADS)
            (&counters->counts[turn ^ 1][0][0])[i] = 0;
    if (threadIdx.x < 32) {
        uint32_t counts[KEYS];
        while (gather_counts(counters, turn, counts) < s.vectors * 16 + s.tail)
            ;
        finish_map(f, counts, cdf, &map);
    }
    __syncthreads(); /* the map is whole */
    if (threadIdx.x < BINS)
        entry[threadIdx.x ^ flip] =
            (uint32_t)sample_raw((ImgstatSample)f.to, map_sample(&map, threadIdx.x));
    if (blockIdx.x == 0 && threadIdx.x == 0)
        counters->turn = turn ^ 1; /* all blocks have read it: they have counted */
    __syncthreads();               /* so are the entries */
    if (COLUMNS)
        for (uint32_t i = threadIdx.x; i < TABLE_BYTES / 16; i += THREADS) {
            const uint32_t e = entry[i / 8];
            memory[i] = make_uint4(e, e, e, e);
        }
    else if (threadIdx.x < BINS)
        ((unsigned char *)table)[threadIdx.x] = (unsigned char)entry[threadIdx.x];
    __syncthreads(); /* so is the table */
#pragma unroll
    for (unsigned k = 0; k < KEPT; k++)
        if (at + k * stride < s.vectors)
            s.to[at + k * stride] = map_vector<COLUMNS>(table, v[k]);
#pragma unroll 4
    for (uint32_t k = 0; k < s.shared; k++) {
        const uint32_t i = at + (KEPT + k) * stride;
        if (i < s.vectors)
            s.to[i] = map_vector<COLUMNS>(table, kept[k * THREADS]);
    }
    if (at < s.tail)
        ((unsigned char *)(s.to + s.vectors))[at] = (unsigned char)entry[last];
}

/* Vectors a thread of so many has to keep in shared memory. */
static uint64_t shared_vectors(uint64_t vectors, uint64_t threads, unsigned kept)
{
    const uint64_t each = (vectors + threads - 1) / threads;
    return each > kept ? each - kept : 0;
}

/* Vectors a thread for which a block has room there. */
static uint64_t room_for(const CudaDevice *device)
{
    enum { OTHER_BYTES = 8192 }; /* but the table and the pixels */
    const int room = device->max_shared - TABLE_BYTES - OTHER_BYTES;
    return room > 0 ? (uint64_t)room / (16 * THREADS) : 0;
}

static uint64_t all_threads(const CudaDevice *device)
{
    return (uint64_t)device->properties.multiProcessorCount * THREADS;
}

bool transform_is_small(const CudaDevice *device, const Finish *f, const ApplyPixels *p)
{
    const uint64_t vectors = p->width * p->channels / 16;
    const uint64_t address = (uint64_t)(uintptr_t)p->from | (uint64_t)(uintptr_t)p->to;
    return device->properties.cooperativeLaunch && device->max_shared > TABLE_BYTES &&
           sample_bits((ImgstatSample)f->from) == 8 && sample_bits((ImgstatSample)f->to) == 8 &&
           f->n_maps == 1 && p->alpha < 0 && !p->mask && p->rows == 1 && address % 16 == 0 &&
           shared_vectors(vectors, all_threads(device), KEPT_MANY) <= room_for(device);
}

template <unsigned THREADS, unsigned KEPT, bool COLUMNS>
static ImgstatResult launch(CudaDevice *device, cudaStream_t stream, Finish f, Small s,
                            SmallCounters *counters, ImgstatError *err)
{
    const void *const kernel = (const void *)transform_small<THREADS, KEPT, COLUMNS>;
    const unsigned most = (unsigned)device->properties.multiProcessorCount;
    unsigned blocks = (s.vectors + THREADS - 1) / THREADS;
    blocks = blocks < 1 ? 1 : blocks < most ? blocks : most;
    s.shared = (uint32_t)shared_vectors(s.vectors, (uint64_t)blocks * THREADS, KEPT);
    const size_t shared = TABLE_BYTES + (size_t)s.shared * 16 * THREADS;
    IMGSTAT_TRY(cuda_allow_shared(device, kernel, (int)shared, err));
    void *arguments[] = {&f, &s, &counters};
    CUDA_TRY(device, err,
             cudaLaunchCooperativeKernel(kernel, dim3(blocks), dim3(THREADS), arguments, shared,
                                         stream));
    return cuda_launched(device, stream, "transform_small", err);
}

ImgstatResult launch_transform_small(CudaDevice *device, cudaStream_t stream, const Finish *f,
                                     SmallCounters *counters, const ApplyPixels *p,
                                     ImgstatError *err)
{
    const uint64_t samples = p->width * p->channels;
    const uint64_t few = (uint64_t)device->properties.multiProcessorCount * FEW_THREADS;
    Small s;
    s.from = (const uint4 *)p->from;
    s.to = (uint4 *)p->to;
    s.vectors = (uint32_t)(samples / 16);
    s.tail = (uint32_t)(samples % 16);
    s.shared = 0;
    if (s.vectors <= few)
        return launch<FEW_THREADS, KEPT_FEW, false>(device, stream, *f, s, counters, err);
    return shared_vectors(s.vectors, all_threads(device), KEPT_FEW) <= room_for(device)
               ? launch<THREADS, KEPT_FEW, true>(device, stream, *f, s, counters, err)
               : launch<THREADS, KEPT_MANY, true>(device, stream, *f, s, counters, err);
}
