/* SPDX-License-Identifier: MIT */
/* equalize/bytes_many.cu: batches of 8-bit images, a block each, from pixels to pixels in one
 * launch. */
#include "equalize/bytes_fused_pixels.cuh"

/* Samples of an image that one block still transforms as fast as all of them together. */
enum { MANY_SAMPLES = 1 << 20 };

/* All threads: the counts of the block's table by keys. Returns how many samples are up to the key
 * that is a thread's number. */
DEVICE uint32_t block_cdf(const SmallMap &m, const uint4 *table, uint32_t *counts, Cdf *cdf)
{
    enum { SHARE = MANY_THREADS / BINS };
    const uint32_t in_bin = sum_columns<MANY_THREADS, WIDE_ROW>(table);
    if (threadIdx.x % SHARE == 0)
        counts[threadIdx.x / SHARE ^ m.from_flip] = in_bin;
    __syncthreads(); /* the counts are in the order of keys */
    const bool is_key = threadIdx.x < BINS && threadIdx.x != m.nodata;
    const uint32_t count = is_key ? counts[threadIdx.x] : 0;
    return finish_cdf<MANY_THREADS>(count, block_inclusive(count, cdf->of_warp), BINS, cdf);
}

/*
 * transform_many: measures images of 8-bit samples, makes a map of each and applies it.
 *
 *   Idea      transform_small, but that a block has an image to itself, so that no block waits for
 *             another. What a block has no room for it reads twice if TWICE.
 *   Work      an increment and a lookup a sample; 256 ratios an image.
 *   Memory    reads and writes each sample once, or what it does not keep twice.
 *   Launch    <<<images, MANY_THREADS, BINS * WIDE_ROW + 16 * shared * MANY_THREADS>>>; it may begin
 *             before the launch before has ended.
 *   Requires  each image is one long row on a 16-byte boundary, all of the same length. Steps are
 *             in vectors of 16 bytes.
 *   Result    the bytes of transfer_create and transfer_apply for each image.
 */
template <unsigned KEPT, Residency RESIDENCY>
static __global__ void __launch_bounds__(MANY_THREADS, 1)
    transform_many(SmallMap m, Small s, int64_t from_step, int64_t to_step)
{
    extern __shared__ __align__(128) uint4 memory[];
    __shared__ Cdf cdf;
    __shared__ __align__(4) unsigned char entry[BINS];
    __shared__ uint32_t counts[BINS];
    __shared__ uint64_t arrived[SHARED_VECTORS];
    uint32_t *const table = (uint32_t *)memory;
    uint4 *const kept = memory + BINS * WIDE_ROW / 16 + threadIdx.x;
    const Item p = {s.from + blockIdx.x * from_step, s.to + blockIdx.x * to_step, s.vectors,
                    s.tail};
    uint4 v[KEPT];
    if (threadIdx.x == 0) {
        prepare_copies(s, arrived);
        cdf.first = 0; /* which stays if there is nothing but nodata */
    }
    empty_columns<MANY_THREADS, WIDE_ROW>(memory);
    __syncthreads(); /* the table is empty, and barriers are ready */
    after_launches_before();
    const uint32_t last =
        count_item<MANY_THREADS, KEPT, 1, RESIDENCY>(s, p, table, v, kept, arrived);
    __syncthreads(); /* the counts are whole */
    const uint32_t sum = block_cdf(m, memory, counts, &cdf);
    make_table(m, cdf, sum, entry, memory);
    map_item<MANY_THREADS, KEPT, RESIDENCY>(s, p, table, entry, v, kept, last);
}

/* ---- Host side ------------------------------------------------------------------------------- */

static bool is_many(const CudaDevice *device, const Finish *f, const ApplyPixels *p,
                    const DeviceSeries *series)
{
    const uint64_t least = (unsigned)device->properties.multiProcessorCount / 4u;
    return series->n > least && series->n <= INT32_MAX &&
           (series->step | series->to_step) % 16 == 0 && p->width * p->channels <= MANY_SAMPLES &&
           transform_is_small(device, f, p);
}

template <unsigned KEPT, Residency RESIDENCY>
static ImgstatResult launch(CudaDevice *device, cudaStream_t stream, const SmallMap &m, Small s,
                            const DeviceSeries *series, ImgstatError *err)
{
    const uint32_t each = (s.vectors + MANY_THREADS - 1) / MANY_THREADS;
    const size_t bytes = plan_vectors(device, &s, each, KEPT, MANY_THREADS);
    return cuda_launch_early(device, stream, "transform_many", transform_many<KEPT, RESIDENCY>,
                             (unsigned)series->n, MANY_THREADS, bytes, err, m, s, series->step / 16,
                             series->to_step / 16);
}

ImgstatResult launch_bytes_many(CudaDevice *device, cudaStream_t stream, const SmallMap *map,
                                const Finish *f, const ApplyPixels *p, const DeviceSeries *series,
                                bool *fits, ImgstatError *err)
{
    const uint64_t samples = p->width * p->channels;
    Small s = {};
    *fits = is_many(device, f, p, series);
    if (!*fits)
        return IMGSTAT_OK;
    s.from = (const uint4 *)p->from;
    s.to = (uint4 *)p->to;
    s.vectors = (uint32_t)(samples / 16);
    s.tail = (uint32_t)(samples % 16);
    if (s.vectors <= MANY_THREADS * (KEPT_MANY + shared_room(device)))
        return launch<KEPT_MANY, SHARED>(device, stream, *map, s, series, err);
    return launch<KEPT_TWICE, TWICE>(device, stream, *map, s, series, err);
}
