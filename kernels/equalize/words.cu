/* SPDX-License-Identifier: MIT */
/* equalize/words.cu: from 16-bit samples, or their counts, to the table of a map. */
#include "base/image.h"
#include "common/tuning.cuh"
#include "common/warp.cuh"
#include "equalize/lut.cuh"
#include "equalize/words_table.cuh"

enum { EACH = WORDS_EACH };
/* What a block counts at most, so that 16 bits hold any counter; a tail is less than a vector. And
 * at least, but of the smallest images. */
enum { ITEM_MOST = EACH * COUNT_THREADS - 1, ITEM_LEAST = WORDS_LEAST };
static_assert(ITEM_MOST * 8 + 7 < 1 << 16, "counters do not overflow");

/* ---- Counting -------------------------------------------------------------------------------- */

/*
 * count_words: counts of 16-bit samples by their bits, a table a block.
 *
 *   Idea      A block's item is in registers before it counts, and few enough for 16 bits a
 *             counter, so that a table of all values is 128 KB and cannot overflow.
 *             Tables are stored as they are, and added up by the launch behind: atomic additions of
 *             as many counters would take longer than all else together.
 *   Work      an addition to shared memory a sample; lanes wait for those whose values are in the
 *             same bank, or equal. Where a thread's eight samples are one word four times over, two
 *             in all.
 *   Memory    reads each sample once; writes 128 KB a block.
 *   Launch    <<<tables, COUNT_THREADS, WORD_TABLE>>>; it may begin before the launch before has
 *             ended.
 *   Requires  from on 16 bytes; item <= ITEM_MOST vectors of 8 samples a block, in all
 *             `vectors`; tail < 8: samples behind them; room for a table a block.
 *   Result    tables of 65,536 counters of 16 bits, which add up to the bins.
 */
static __global__ void __launch_bounds__(COUNT_THREADS, 1)
    count_words(const uint4 *from, uint32_t vectors, uint32_t tail, uint32_t item, uint4 *tables)
{
    extern __shared__ uint4 counters[];
    const uint32_t t = threadIdx.x, first = blockIdx.x * item;
    const uint32_t n = min(item, vectors - first);
    uint4 v[EACH];
    empty_counters(counters);
    after_launches_before();
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++)
        if (t + k * COUNT_THREADS < n)
            v[k] = from[first + t + k * COUNT_THREADS];
    __syncthreads(); /* the counters are empty */
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
        if (t + k * COUNT_THREADS >= n)
            break;
        count_vector(counters, v[k]);
    }
    if (blockIdx.x == gridDim.x - 1 && t < tail)
        count_raw(counters, ((const uint16_t *)(from + vectors))[t]);
    __syncthreads(); /* the counts are whole */
    uint4 *const table = tables + (size_t)blockIdx.x * (WORD_TABLE / 16);
#pragma unroll
    for (uint32_t i = t; i < COUNT_WORDS / 8; i += COUNT_THREADS) {
        const uint4 a = counters[2 * i], b = counters[2 * i + 1];
        table[i] = make_uint4(__byte_perm(a.x, a.y, 0x5410), __byte_perm(a.z, a.w, 0x5410),
                              __byte_perm(b.x, b.y, 0x5410), __byte_perm(b.z, b.w, 0x5410));
        table[COUNT_WORDS / 8 + i] =
            make_uint4(__byte_perm(a.x, a.y, 0x7632), __byte_perm(a.z, a.w, 0x7632),
                       __byte_perm(b.x, b.y, 0x7632), __byte_perm(b.z, b.w, 0x7632));
    }
}

/* ---- Adding up ------------------------------------------------------------------------------- */

enum { SEGMENT_WARPS = SEGMENT / 32 };

/* Tables of counters by a sample's bits. */
struct Tables {
    const uint4 *at;
    uint32_t n, from_flip; /* what makes a key of the bits */
};

/* The sum over all tables of a thread's counter in a segment. A warp reads that of a table at once,
 * eight counters a lane. */
DEVICE uint32_t sum_tables(const Tables &tables, uint32_t segment)
{
    enum { VECTORS = SEGMENT * 2 / 16 };
    static_assert(VECTORS == 32, "one a lane");
    __shared__ uint4 part[SEGMENT_WARPS][SEGMENT / 4];
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint4 a = make_uint4(0, 0, 0, 0), b = a;
#pragma unroll 8
    for (uint32_t i = warp; i < tables.n; i += SEGMENT_WARPS) {
        const uint4 v = tables.at[(size_t)i * (WORD_TABLE / 16) + segment * VECTORS + lane];
        a.x += v.x & 0xFFFF, a.y += v.x >> 16, a.z += v.y & 0xFFFF, a.w += v.y >> 16;
        b.x += v.z & 0xFFFF, b.y += v.z >> 16, b.z += v.w & 0xFFFF, b.w += v.w >> 16;
    }
    part[warp][2 * lane] = a;
    part[warp][2 * lane + 1] = b;
    __syncthreads(); /* all tables have been read */
    uint32_t sum = 0;
#pragma unroll
    for (uint32_t w = 0; w < SEGMENT_WARPS; w++)
        sum += ((const uint32_t *)part[w])[threadIdx.x];
    return sum;
}

/*
 * sum_words: the counts that a map of 16-bit samples is made from, summed within segments of keys.
 *
 *   Idea      A key a thread, a segment a block: no block waits for another, as those that need
 *             the sums of all keys add up the totals of 256 segments themselves.
 *   Work      an addition a table, or channel, and key, and some ten for the sums.
 *   Memory    reads the tables, or reads and empties 512 KB a channel; writes as much a map.
 *   Launch    <<<dim3(SEGMENTS, n_maps), SEGMENT>>>; it may begin before the launch before has
 *             ended.
 *   Requires  tables, of one map, or the record are whole: the stream's order.
 *   Result    record_finalize's bins, joined as record_joint does: inclusive sums within a segment;
 *             its total, and the count of its lowest key that has any. The record is empty.
 */
template <bool TABLES>
static __global__ void __launch_bounds__(SEGMENT) sum_words(Finish f, Tables tables)
{
    __shared__ uint64_t of_warp[SEGMENT_WARPS];
    const uint32_t m = blockIdx.y, key = blockIdx.x * SEGMENT + threadIdx.x;
    Segment *const segment = &f.segments[m * SEGMENTS + blockIdx.x];
    uint64_t count;
    after_launches_before();
    if constexpr (TABLES) {
        count = sum_tables(tables, blockIdx.x ^ tables.from_flip / SEGMENT);
        count = f.has_nodata && key == f.nodata_key ? 0 : count;
    } else {
        count = valid_count(f, m, key, WORD_BINS);
        empty_bins(f, m, key, WORD_BINS);
        if (m == 0 && blockIdx.x == 0)
            empty_tallies(f);
    }
    const uint64_t sum = block_inclusive(count, of_warp);
    f.sums[(size_t)m * WORD_BINS + key] = sum;
    if (count > 0 && sum == count)
        segment->first = count;
    if (threadIdx.x == SEGMENT - 1)
        segment->n = sum;
}

/* ---- The map --------------------------------------------------------------------------------- */

/* What a block knows of all segments of a map. */
struct Totals {
    uint64_t of_warp[SEGMENT_WARPS];
    uint64_t up_to[SEGMENTS]; /* inclusive sums */
    uint64_t first;           /* of the lowest key that has any */
};
static_assert((int)SEGMENTS == (int)SEGMENT, "a thread a segment");

DEVICE void add_up(const Segment *segments, Totals *totals)
{
    const Segment own = segments[threadIdx.x];
    const uint64_t sum = block_inclusive(own.n, totals->of_warp);
    totals->up_to[threadIdx.x] = sum;
    if (own.n > 0 && sum == own.n)
        totals->first = own.first;
    __syncthreads(); /* the totals are known */
}

/* cdf_above, found by a block together. */
DEVICE uint32_t find_above(const Totals &totals, const uint64_t *sums, uint64_t count)
{
    const uint32_t s = __syncthreads_count(totals.up_to[threadIdx.x] <= count);
    if (s == SEGMENTS)
        return WORD_BINS;
    const uint64_t before = s > 0 ? totals.up_to[s - 1] : 0;
    return s * SEGMENT + __syncthreads_count(before + sums[s * SEGMENT + threadIdx.x] <= count);
}

/*
 * finish_words: map and table of 16-bit samples.
 *
 *   Idea      Every block finds the same map, from the totals of segments, and looks through one of
 *             them at once for a key: that costs less than another launch.
 *   Work      a division an entry.
 *   Memory    reads 512 KB a map to equalize, writes up to 512 KB, and as much again to equalize.
 *   Launch    <<<dim3(SEGMENTS, n_maps), SEGMENT>>>; it may begin before the launch before has
 *             ended.
 *   Requires  what sum_words makes.
 *   Result    the map and table of map_make_table (transfer/table.c).
 */
static __global__ void __launch_bounds__(SEGMENT) finish_words(Finish f)
{
    __shared__ Totals totals;
    __shared__ Map map;
    const uint32_t m = blockIdx.y, raw = blockIdx.x * SEGMENT + threadIdx.x;
    const uint64_t *const sums = f.sums + (size_t)m * WORD_BINS;
    uint64_t *const cdf = f.cdf + (size_t)m * WORD_BINS;
    uint32_t black = 0, white = 0;
    if (threadIdx.x == 0)
        map = f.blank[m]; /* which no launch changes */
    after_launches_before();
    add_up(&f.segments[m * SEGMENTS], &totals);
    const uint64_t n = totals.up_to[SEGMENTS - 1];
    if (f.equalize) { /* a thread reads the one that it writes, and that only */
        const uint32_t key = (uint32_t)sample_key(f.from, raw), s = key / SEGMENT;
        cdf[key] = sums[key] + (s > 0 ? totals.up_to[s - 1] : 0);
    } else if (n > 0) {
        black = find_above(totals, sums, clip_rank(n, f.nano_lo));
        white = find_above(totals, sums, n - 1 - clip_rank(n, f.nano_hi));
    }
    if (threadIdx.x == 0) {
        if (f.equalize)
            map_equalize_from(&map, cdf, n, n > 0 ? totals.first : 0);
        else
            map_between(&map, black, white); /* without samples, as without contrast */
        if (blockIdx.x == 0) {
            f.maps[m] = map;
            f.maps[m].cdf = NULL; /* the table replaces it */
        }
    }
    __syncthreads(); /* the map is whole */
    write_entry(f, &map, m, raw, WORD_BINS);
}

/* ---- Host side ------------------------------------------------------------------------------- */

/* How an image is cut: whole waves of blocks. */
struct Cut {
    uint64_t waves;
    uint32_t blocks; /* a wave */
    uint32_t item;   /* vectors a table */
};

static Cut cut_image(const CudaDevice *device, uint64_t samples)
{
    Cut cut;
    cut.blocks = (uint32_t)device->properties.multiProcessorCount;
    const uint64_t wave = (uint64_t)cut.blocks * ITEM_MOST, vectors = samples / 8;
    cut.waves = vectors > wave ? (vectors + wave - 1) / wave : 1;
    const uint64_t item = (vectors + cut.waves * cut.blocks - 1) / (cut.waves * cut.blocks);
    cut.item = (uint32_t)(item > ITEM_LEAST ? item : ITEM_LEAST);
    return cut;
}

static uint32_t tables_of(const CudaDevice *device, uint64_t samples)
{
    const uint64_t vectors = samples / 8, item = cut_image(device, samples).item;
    return (uint32_t)(vectors > 0 ? (vectors + item - 1) / item : 1);
}

bool count_words_fit(const CudaDevice *device, uint64_t samples)
{
    return device->max_shared >= (int)WORD_TABLE && cut_image(device, samples).waves <= WORDS_WAVES;
}

uint32_t count_words_room(const CudaDevice *device, uint64_t samples)
{
    const Cut cut = cut_image(device, samples);
    const uint64_t waves = cut.waves < WORDS_WAVES ? cut.waves : WORDS_WAVES;
    const uint64_t least = samples / 8 / ITEM_LEAST + 1, most = waves * cut.blocks;
    if (device->max_shared < (int)WORD_TABLE)
        return 0;
    return (uint32_t)(least < most ? least : most);
}

static uint64_t samples_of(const ImagePro *image)
{
    return image_samples_per_row(image) * image->height;
}

ImgstatResult launch_count_words(CudaDevice *device, cudaStream_t stream, const ImagePro *image,
                                 uint4 *tables, ImgstatError *err)
{
    const uint64_t samples = samples_of(image);
    assert(image->device.address % 16 == 0 && count_words_fit(device, samples));
    assert(cut_image(device, samples).item <= ITEM_MOST);
    return cuda_launch_early(
        device, stream, "count_words", count_words, tables_of(device, samples), COUNT_THREADS,
        WORD_TABLE, err, (const uint4 *)(uintptr_t)image->device.address, (uint32_t)(samples / 8),
        (uint32_t)(samples % 8), cut_image(device, samples).item, tables);
}

template <bool TABLES>
static ImgstatResult finish(CudaDevice *device, cudaStream_t stream, const Finish &f,
                            const Tables &tables, ImgstatError *err)
{
    const dim3 blocks(SEGMENTS, f.n_maps);
    assert(f.n_maps > 0 && (!TABLES || (f.n_maps == 1 && tables.n > 0)));
    assert(sample_record_bins(f.from) == WORD_BINS);
    IMGSTAT_TRY(cuda_launch_early(device, stream, "sum_words", sum_words<TABLES>, blocks, SEGMENT,
                                  0, err, f, tables));
    return cuda_launch_early(device, stream, "finish_words", finish_words, blocks, SEGMENT, 0, err,
                             f);
}

ImgstatResult launch_finish_tables(CudaDevice *device, cudaStream_t stream, const Finish &f,
                                   const ImagePro *image, const uint4 *tables, ImgstatError *err)
{
    const uint32_t flip = (uint32_t)sample_key(image->sample, 0);
    return finish<true>(device, stream, f,
                        Tables{tables, tables_of(device, samples_of(image)), flip}, err);
}

ImgstatResult launch_finish_words(CudaDevice *device, cudaStream_t stream, const Finish &f,
                                  ImgstatError *err)
{
    return finish<false>(device, stream, f, Tables{NULL, 0, 0}, err);
}
