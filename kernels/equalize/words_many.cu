/* SPDX-License-Identifier: MIT */
/* equalize/words_many.cu: batches of 16-bit images, a cluster of blocks each, from pixels to pixels
 * in one launch. */
#include "common/sm90.cuh"
#include "common/warp.cuh"
#include "equalize/ramp.cuh"
#include "equalize/words_table.cuh"

enum { EACH = WORDS_EACH, BLOCK_MOST = EACH * COUNT_THREADS };

/* An image of the series, in vectors of 8 samples; tail: samples behind them. */
struct WordSeries {
    const unsigned char *from;
    unsigned char *to;
    int64_t from_step, to_step; /* bytes */
    uint32_t vectors, tail;
    uint32_t item; /* vectors a block */
    uint32_t wide; /* samples of the output have 16 bits */
};

/* The counts of neighbouring keys: of all, and of the lowest that has any; 0: none has. */
struct Part {
    uint32_t n, first;
};

/* What a block lets the others of its cluster read. */
struct Shared {
    Part part[2];      /* its keys: those of the lower half of the range, and of the upper */
    uint32_t up_to[2]; /* of them: keys up to which there are at most so many samples */
    uint32_t uniform;  /* NONE, or what all its samples are: then it has counted none of them */
    uint32_t samples;
};

/* What it knows of all blocks. */
struct Known {
    uint64_t of_warp[COUNT_THREADS / 32];
    uint32_t before[2]; /* samples of keys below the block's, of each half */
    uint32_t n, first;
};

static const uint32_t NONE = UINT32_MAX;

/* Keys of a half whose counts a thread adds up. They follow each other. */
template <unsigned RANKS> struct Keys {
    enum { N = COUNT_WORDS / RANKS / COUNT_THREADS, BLOCK = COUNT_WORDS / RANKS };
    uint32_t lower[N], upper[N];
};

/* ---- Counting -------------------------------------------------------------------------------- */

struct Item {
    const uint4 *from;
    uint32_t vectors, tail;
};

/* The block's part of its image. */
template <unsigned RANKS> DEVICE Item item_of(const WordSeries &s)
{
    const uint32_t rank = blockIdx.x % RANKS, first = min(rank * s.item, s.vectors);
    const uint4 *const image = (const uint4 *)(s.from + blockIdx.x / RANKS * s.from_step);
    return Item{image + first, min(s.item, s.vectors - first), rank == RANKS - 1 ? s.tail : 0};
}

DEVICE bool is_word(uint4 v, uint32_t w)
{
    return v.x == w && v.y == w && v.z == w && v.w == w;
}

/* Counts the samples in registers, and the tail. 65,536 equal ones are more than a counter holds,
 * and many are slow: where all are equal, that is noted instead. All threads; the table is empty.
 */
DEVICE void count_item(const Item &p, const uint4 *v, uint4 *table, Shared *shared)
{
    const uint32_t t = threadIdx.x;
    const uint16_t *const tail = (const uint16_t *)(p.from + p.vectors);
    const uint32_t raw = p.vectors + p.tail > 0 ? *(const uint16_t *)p.from : 0;
    const uint32_t word = raw | raw << 16;
    bool same = t >= p.tail || tail[t] == raw;
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++)
        same = same && (t + k * COUNT_THREADS >= p.vectors || is_word(v[k], word));
    if (__syncthreads_and(same)) { /* and the table is empty */
        if (t == 0)
            shared->uniform = raw;
        return;
    }
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++)
        if (t + k * COUNT_THREADS < p.vectors)
            count_vector(table, v[k]);
    if (t < p.tail)
        count_raw(table, tail[t]);
}

/* ---- Adding up ------------------------------------------------------------------------------- */

/* Adds what a block of the cluster has of a thread's keys. at: the word of the first. */
template <unsigned RANKS>
DEVICE void add_block(const uint4 *table, const Shared *shared, uint32_t at, Keys<RANKS> *keys)
{
    enum { N = Keys<RANKS>::N };
    const uint32_t uniform = shared->uniform, samples = shared->samples;
    const uint32_t *const words = (const uint32_t *)table + at;
    if (uniform != NONE) {
#pragma unroll
        for (uint32_t i = 0; i < N; i++) {
            keys->lower[i] += uniform == at + i ? samples : 0;
            keys->upper[i] += uniform == COUNT_WORDS + at + i ? samples : 0;
        }
        return;
    }
    uint32_t w[N];
    if constexpr (N == 2) {
        *(uint2 *)w = *(const uint2 *)words;
    } else {
#pragma unroll
        for (uint32_t i = 0; i < N; i += 4)
            *(uint4 *)(w + i) = *(const uint4 *)(words + i);
    }
#pragma unroll
    for (uint32_t i = 0; i < N; i++) {
        keys->lower[i] += w[i] & 0xFFFF;
        keys->upper[i] += w[i] >> 16;
    }
}

/* Replaces counts by sums up to each. Returns the thread's, and the first that is not 0. */
template <unsigned N> DEVICE Part sum_up(uint32_t *counts)
{
    Part part = {0, 0};
#pragma unroll
    for (uint32_t i = 0; i < N; i++) {
        part.first = part.first ? part.first : counts[i];
        part.n += counts[i];
        counts[i] = part.n;
    }
    return part;
}

/* Sums up to each key within each half of the block's keys; its parts. All threads. */
template <unsigned RANKS>
DEVICE void sum_keys(Keys<RANKS> *keys, uint32_t nodata, Shared *shared, Known *known)
{
    enum { N = Keys<RANKS>::N };
#pragma unroll
    for (uint32_t i = 0; i < N; i++) { /* nodata is relative to the thread's first key */
        keys->lower[i] = nodata == i ? 0 : keys->lower[i];
        keys->upper[i] = nodata == COUNT_WORDS + i ? 0 : keys->upper[i];
    }
    const Part own[2] = {sum_up<N>(keys->lower), sum_up<N>(keys->upper)};
    const uint64_t both = own[0].n | (uint64_t)own[1].n << 32;
    const uint64_t sum = block_inclusive(both, known->of_warp), before = sum - both;
    const uint32_t up_to[2] = {(uint32_t)before, (uint32_t)(before >> 32)};
#pragma unroll
    for (uint32_t half = 0; half < 2; half++) {
        if (own[half].n > 0 && up_to[half] == 0)
            shared->part[half].first = own[half].first;
        if (threadIdx.x == COUNT_THREADS - 1)
            shared->part[half].n = up_to[half] + own[half].n;
    }
#pragma unroll
    for (uint32_t i = 0; i < N; i++) {
        keys->lower[i] += up_to[0];
        keys->upper[i] += up_to[1];
    }
}

/* Makes them sums up to each key of all. All threads; the parts of all blocks are known. */
template <unsigned RANKS>
DEVICE void join_parts(uint32_t rank, Keys<RANKS> *keys, Shared *shared, Known *known)
{
    const uint32_t lane = threadIdx.x;
    if (lane < 32) { /* a lane a part, in the order of keys */
        Part part = {0, 0};
        if (lane < 2 * RANKS)
            part = cluster_place(shared, lane % RANKS)->part[lane / RANKS];
        const uint32_t sum = warp_inclusive(part.n);
        if (lane < 2 * RANKS && lane % RANKS == rank)
            known->before[lane / RANKS] = sum - part.n;
        if (lane == 31)
            known->n = sum;
        if (part.n > 0 && sum == part.n)
            known->first = part.first;
    }
    __syncthreads(); /* all of it is known */
#pragma unroll
    for (uint32_t i = 0; i < Keys<RANKS>::N; i++) {
        keys->lower[i] += known->before[0];
        keys->upper[i] += known->before[1];
    }
}

/* ---- The map --------------------------------------------------------------------------------- */

/* How many keys of all blocks have at most so many samples up to them: cdf_above. */
template <unsigned RANKS>
DEVICE uint32_t keys_up_to(const Keys<RANKS> &keys, uint32_t count, uint32_t *up_to)
{
    uint32_t own = 0, all = 0;
#pragma unroll
    for (uint32_t i = 0; i < Keys<RANKS>::N; i++)
        own += (keys.lower[i] <= count) + (keys.upper[i] <= count);
    own = warp_sum(own);
    if (threadIdx.x % 32 == 0 && own > 0)
        atomicAdd(up_to, own);
    cluster_sync(); /* the counts of all blocks are whole */
#pragma unroll
    for (uint32_t r = 0; r < RANKS; r++)
        all += *cluster_place(up_to, r);
    return all;
}

/* map_clip_counts or map_equalize_from. All threads. */
template <unsigned RANKS>
DEVICE Ramp find_ramp(const SmallMap &m, const Keys<RANKS> &keys, const Known &known,
                      Shared *shared)
{
    if (m.equalize)
        return Ramp{known.first, known.n - known.first};
    const uint32_t low = small_rank(known.n, m.nano_lo);
    const uint32_t high = known.n - 1 - small_rank(known.n, m.nano_hi);
    const uint32_t from = keys_up_to(keys, low, &shared->up_to[0]);
    const uint32_t to = keys_up_to(keys, high, &shared->up_to[1]);
    return Ramp{from, to > from ? to - from : 0};
}

/* Writes the entries of a thread's keys of a half into the tables of all blocks. sums: up to each
 * key, from `key` on. */
template <unsigned RANKS>
DEVICE void share_entries(const SmallMap &m, const Ramp &ramp, const uint32_t *sums, uint32_t key,
                          uint4 *table)
{
    enum { N = Keys<RANKS>::N };
    uint32_t words[N / 2];
#pragma unroll
    for (uint32_t i = 0; i < N; i += 2)
        words[i / 2] = ramp_entry(m, ramp, sums[i], key + i) |
                       ramp_entry(m, ramp, sums[i + 1], key + i + 1) << 16;
    uint16_t *const own = (uint16_t *)table + (key ^ m.from_flip);
#pragma unroll
    for (uint32_t r = 0; r < RANKS; r++) {
        uint16_t *const there = cluster_place(own, (blockIdx.x + r) % RANKS);
        if constexpr (N == 8)
            *(uint4 *)there = make_uint4(words[0], words[1], words[2], words[3]);
        else if constexpr (N == 4)
            *(uint2 *)there = make_uint2(words[0], words[1]);
        else
            *(uint32_t *)there = words[0];
    }
}

DEVICE uint32_t map_word(const uint16_t *entries, uint32_t w)
{
    return entries[w & 0xFFFF] | (uint32_t)entries[w >> 16] << 16;
}

/* Maps the samples in registers, and the tail. */
DEVICE void map_item(const WordSeries &s, const Item &p, const uint4 *v, const uint16_t *entries,
                     uint64_t first, unsigned char *to)
{
    const uint32_t t = threadIdx.x;
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
        const uint32_t i = t + k * COUNT_THREADS;
        if (i >= p.vectors)
            break;
        const uint4 a = make_uint4(map_word(entries, v[k].x), map_word(entries, v[k].y),
                                   map_word(entries, v[k].z), map_word(entries, v[k].w));
        if (s.wide)
            ((uint4 *)to)[first + i] = a;
        else
            ((uint2 *)to)[first + i] =
                make_uint2(__byte_perm(a.x, a.y, 0x6420), __byte_perm(a.z, a.w, 0x6420));
    }
    if (t < p.tail) {
        const uint64_t at = (first + p.vectors) * 8 + t;
        const uint32_t entry = entries[((const uint16_t *)(p.from + p.vectors))[t]];
        if (s.wide)
            ((uint16_t *)to)[at] = (uint16_t)entry;
        else
            to[at] = (unsigned char)entry;
    }
}

/*
 * transform_words_many: measures images of 16-bit samples, makes a map of each and applies it.
 *
 *   Idea      A cluster an image. Each block keeps its samples in registers and counts them in a
 *             table of all values; then it adds up the tables of all blocks for its share of the
 *             keys, through their shared memory, and writes that share of the entries into all of
 *             them.
 *   Work      two additions and a lookup a sample; 65,536 ratios an image.
 *   Memory    reads and writes each sample once. Of shared memory: 128 KiB a block, of which all but
 *             its share is read and written once by the others.
 *   Launch    <<<RANKS * images, COUNT_THREADS, WORD_TABLE>>>; it may begin before the launch
 *             before has ended.
 *   Requires  each image is one long row on a 16-byte boundary, all of the same length, a block
 *             at most BLOCK_MOST vectors of it, and fewer if there is a tail.
 *   Result    the bytes of transfer_create and transfer_apply for each image.
 */
template <unsigned RANKS>
static __global__ void CLUSTERS_OF(RANKS) __launch_bounds__(COUNT_THREADS, 1)
    transform_words_many(SmallMap m, WordSeries s)
{
    typedef Keys<RANKS> Mine;
    extern __shared__ __align__(128) uint4 table[];
    __shared__ Shared shared;
    __shared__ Known known;
    const uint32_t t = threadIdx.x, rank = blockIdx.x % RANKS;
    const Item p = item_of<RANKS>(s);
    uint4 v[EACH];
    empty_counters(table);
    if (t == 0) {
        shared = Shared{{}, {}, NONE, p.vectors * 8 + p.tail};
        known.first = 0; /* which stays if there is nothing but nodata */
    }
    after_launches_before();
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++)
        if (t + k * COUNT_THREADS < p.vectors)
            v[k] = p.from[t + k * COUNT_THREADS];
    count_item(p, v, table, &shared);
    cluster_sync(); /* the counts of all blocks are whole */

    const uint32_t at = rank * Mine::BLOCK + t * Mine::N;
    Mine keys = {};
#pragma unroll 1
    for (uint32_t r = 0; r < RANKS; r++) {
        const uint32_t block = (rank + r) % RANKS;
        add_block<RANKS>(cluster_place(table, block), cluster_place(&shared, block), at, &keys);
    }
    if (m.from_flip) { /* signed samples: the bits of the lower half are the larger ones */
#pragma unroll
        for (uint32_t i = 0; i < Mine::N; i++) {
            const uint32_t larger = keys.lower[i];
            keys.lower[i] = keys.upper[i];
            keys.upper[i] = larger;
        }
    }
    sum_keys<RANKS>(&keys, m.nodata - at, &shared, &known);
    cluster_sync(); /* all parts are known, and no table is read any more */
    join_parts<RANKS>(rank, &keys, &shared, &known);
    const Ramp ramp = find_ramp<RANKS>(m, keys, known, &shared);
    share_entries<RANKS>(m, ramp, keys.lower, at, table);
    share_entries<RANKS>(m, ramp, keys.upper, COUNT_WORDS + at, table);
    cluster_sync(); /* all entries are there; from here on blocks are for themselves */
    map_item(s, p, v, (const uint16_t *)table, min(rank * s.item, s.vectors),
             s.to + blockIdx.x / RANKS * s.to_step);
}

/* ---- Host side ------------------------------------------------------------------------------- */

/* Clusters of more than 8 blocks are for devices that have as many multiprocessors side by side:
 * asked once. */
template <unsigned RANKS>
static ImgstatResult find_clusters(CudaDevice *device, bool *found, ImgstatError *err)
{
    const void *const kernel = (const void *)transform_words_many<RANKS>;
    cudaLaunchConfig_t config = {};
    int clusters = 0;
    *found = device->has_large_clusters;
    if (device->knows_large_clusters)
        return IMGSTAT_OK;
    CUDA_TRY(device, err,
             cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    config.gridDim = dim3(RANKS);
    config.blockDim = dim3(COUNT_THREADS);
    config.dynamicSmemBytes = WORD_TABLE;
    CUDA_TRY(device, err, cudaOccupancyMaxActiveClusters(&clusters, kernel, &config));
    *found = device->has_large_clusters = clusters > 0;
    device->knows_large_clusters = true;
    return IMGSTAT_OK;
}

template <unsigned RANKS>
static ImgstatResult launch(CudaDevice *device, cudaStream_t stream, const SmallMap &m,
                            WordSeries s, size_t n, bool *fits, ImgstatError *err)
{
    CudaKernel kernel;
    IMGSTAT_TRY(
        cuda_prepare(device, (const void *)transform_words_many<RANKS>, WORD_TABLE, &kernel, err));
    *fits = kernel.early && n <= (size_t)INT32_MAX / RANKS; /* it was built for clusters */
    if (*fits && RANKS > 8)
        IMGSTAT_TRY(find_clusters<RANKS>(device, fits, err));
    if (!*fits)
        return IMGSTAT_OK;
    s.item = (s.vectors + (s.tail > 0) + RANKS - 1) / RANKS;
    return cuda_launch_early(device, stream, "transform_words_many", transform_words_many<RANKS>,
                             (unsigned)(n * RANKS), COUNT_THREADS, WORD_TABLE, err, m, s);
}

ImgstatResult launch_words_many(CudaDevice *device, cudaStream_t stream, const SmallMap *map,
                                const Finish *f, const ApplyPixels *p, const DeviceSeries *series,
                                bool *fits, ImgstatError *err)
{
    const uint64_t samples = p->width * p->channels, vectors = samples / 8 + (samples % 8 > 0);
    const uint64_t places = (uint64_t)(uintptr_t)p->from | (uint64_t)(uintptr_t)p->to |
                            (uint64_t)series->step | (uint64_t)series->to_step;
    assert(f->from == IMGSTAT_U16 || f->from == IMGSTAT_I16);
    *fits = series->n > 1 && f->n_maps == 1 && p->alpha < 0 && !p->mask && p->rows == 1 &&
            places % 16 == 0 && sample_is_narrow(f->to) && !sample_is_float(f->to) &&
            device->max_shared >= (int)(WORD_TABLE + sizeof(Shared) + sizeof(Known));
    if (!*fits)
        return IMGSTAT_OK;
    const WordSeries s = {p->from,
                          p->to,
                          series->step,
                          series->to_step,
                          (uint32_t)(samples / 8),
                          (uint32_t)(samples % 8),
                          0,
                          sample_bits(f->to) == 16};
    if (vectors <= 4 * BLOCK_MOST)
        return launch<4>(device, stream, *map, s, series->n, fits, err);
    if (vectors <= 8 * BLOCK_MOST)
        return launch<8>(device, stream, *map, s, series->n, fits, err);
    if (vectors <= 16 * BLOCK_MOST)
        return launch<16>(device, stream, *map, s, series->n, fits, err);
    *fits = false;
    return IMGSTAT_OK;
}
