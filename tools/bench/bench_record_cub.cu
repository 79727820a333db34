/* SPDX-License-Identifier: MIT */
/* bench_record_cub.cu: what CUB has for the parts of a record, each call alone and one after the
 * other. */
#include "bench_device.h"

#include <cub/device/device_histogram.cuh>
#include <cub/device/device_reduce.cuh>
#include <cuda/std/array>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

enum { MIN = 1, MAX = 2, SUM = 4, HISTOGRAM = 8 };

/* Where the results go, one after the other in bench->out. */
typedef struct CubResults {
    double min[BENCH_MAX_CHANNELS], max[BENCH_MAX_CHANNELS]; /* held as the sample type */
    uint64_t sum[BENCH_MAX_CHANNELS];                        /* u64, double for f32 */
    unsigned bins[]; /* channels * n_bins; 32-bit, so images stay below 2^32 pixels */
} CubResults;

typedef struct CubWork {
    unsigned parts;
    size_t n_bins;
    size_t temporary;
    size_t images; /* of the batch that are measured */
} CubWork;

/* Sample i of one channel among `channels`. */
template <typename T> struct Strided {
    const T *samples;
    unsigned channels;
    __host__ __device__ T operator()(size_t i) const
    {
        return samples[i * channels];
    }
};

template <typename T, typename Sum, typename Iterator>
static cudaError_t reduce_channel(unsigned parts, void *temporary, size_t *bytes, Iterator in,
                                  size_t n, CubResults *out, unsigned channel, cudaStream_t stream)
{
    cudaError_t status = cudaSuccess;
    if (parts & MIN)
        status = cub::DeviceReduce::Min(temporary, *bytes, in, (T *)&out->min[channel], n, stream);
    if (status == cudaSuccess && (parts & MAX))
        status = cub::DeviceReduce::Max(temporary, *bytes, in, (T *)&out->max[channel], n, stream);
    if (status == cudaSuccess && (parts & SUM))
        status =
            cub::DeviceReduce::Sum(temporary, *bytes, in, (Sum *)&out->sum[channel], n, stream);
    return status;
}

template <int CHANNELS, typename T>
static cudaError_t histogram(void *temporary, size_t *bytes, const T *in, size_t pixels,
                             size_t n_bins, CubResults *out, cudaStream_t stream)
{
    const int levels = (int)n_bins + 1;
    if constexpr (CHANNELS == 1) {
        return cub::DeviceHistogram::HistogramEven(temporary, *bytes, in, out->bins, levels, 0,
                                                   (int)n_bins, (int64_t)pixels, stream);
    } else {
        cuda::std::array<unsigned *, CHANNELS> bins;
        cuda::std::array<int, CHANNELS> all_levels, lower, upper;
        for (int k = 0; k < CHANNELS; k++) {
            bins[k] = out->bins + k * n_bins;
            all_levels[k] = levels;
            lower[k] = 0;
            upper[k] = (int)n_bins;
        }
        return cub::DeviceHistogram::MultiHistogramEven<CHANNELS, CHANNELS>(
            temporary, *bytes, in, bins, all_levels, lower, upper, (int64_t)pixels, stream);
    }
}

/* The asked parts of one image. temporary NULL: the most bytes that any part asks for. */
template <int CHANNELS, typename T, typename Sum>
static cudaError_t cub_image(CubWork *work, void *temporary, const T *in, size_t pixels,
                             CubResults *out, cudaStream_t stream)
{
    for (int part = MIN; part <= HISTOGRAM; part *= 2) {
        cudaError_t status = cudaSuccess;
        size_t bytes = work->temporary;
        if (!(work->parts & (unsigned)part))
            continue;
        if constexpr (sizeof(T) < 4) {
            if (part == HISTOGRAM)
                status =
                    histogram<CHANNELS>(temporary, &bytes, in, pixels, work->n_bins, out, stream);
        }
        for (int k = 0; part != HISTOGRAM && k < CHANNELS && status == cudaSuccess; k++) {
            if constexpr (CHANNELS == 1) {
                status = reduce_channel<T, Sum>((unsigned)part, temporary, &bytes, in, pixels, out,
                                                0, stream);
            } else {
                const Strided<T> channel = {in + k, CHANNELS};
                status = reduce_channel<T, Sum>(
                    (unsigned)part, temporary, &bytes,
                    thrust::make_transform_iterator(thrust::counting_iterator<size_t>(0), channel),
                    pixels, out, (unsigned)k, stream);
            }
        }
        if (status != cudaSuccess)
            return status;
        if (!temporary && bytes > work->temporary)
            work->temporary = bytes;
    }
    return cudaSuccess;
}

static cudaError_t cub_any(Bench *bench, const BenchCase *c, CubWork *work, void *temporary,
                           const void *in)
{
    CubResults *const out = (CubResults *)bench->out;
    const size_t pixels = (size_t)c->width * c->height;
    if (c->sample == IMGSTAT_U16)
        return cub_image<1, uint16_t, uint64_t>(work, temporary, (const uint16_t *)in, pixels, out,
                                                bench->stream);
    if (c->sample == IMGSTAT_F32)
        return cub_image<1, float, double>(work, temporary, (const float *)in, pixels, out,
                                           bench->stream);
    if (c->channels == 3)
        return cub_image<3, uint8_t, uint64_t>(work, temporary, (const uint8_t *)in, pixels, out,
                                               bench->stream);
    if (c->channels == 4)
        return cub_image<4, uint8_t, uint64_t>(work, temporary, (const uint8_t *)in, pixels, out,
                                               bench->stream);
    return cub_image<1, uint8_t, uint64_t>(work, temporary, (const uint8_t *)in, pixels, out,
                                           bench->stream);
}

static cudaError_t call_cub(Bench *bench, const BenchCase *c, void *work, const void *in)
{
    CubWork *const w = (CubWork *)work;
    cudaError_t status = cudaSuccess;
    for (size_t i = 0; i < w->images && status == cudaSuccess; i++)
        status = cub_any(bench, c, w, bench->scratch,
                         (const unsigned char *)in + i * c->width * c->height);
    return status;
}

static double value_of(ImgstatSample sample, const void *held)
{
    if (sample == IMGSTAT_U8)
        return *(const uint8_t *)held;
    if (sample == IMGSTAT_U16)
        return *(const uint16_t *)held;
    return *(const float *)held;
}

/* Of a batch, the last image's record is there: compared only for single images. */
static bool cub_is_right(Bench *bench, const BenchCase *c, CubWork *work, const Truth *truth)
{
    const size_t bytes = sizeof(CubResults) + c->channels * work->n_bins * sizeof(unsigned);
    CubResults *const got = (CubResults *)malloc(bytes);
    bool good =
        got &&
        bench_ok(bench, cudaMemsetAsync(bench->out, 0xA5, bytes, bench->stream), "cudaMemset") &&
        bench_ok(bench, call_cub(bench, c, work, bench_slot(bench, c, 0)), "CUB") &&
        bench_ok(bench, cudaStreamSynchronize(bench->stream), "CUB") &&
        bench_ok(bench, cudaMemcpy(got, bench->out, bytes, cudaMemcpyDeviceToHost), "CUB");
    for (unsigned k = 0; good && c->images == 1 && k < c->channels; k++) {
        const ChannelTruth *const t = &truth->channel[k];
        double sum = (double)got->sum[k];
        if (c->sample == IMGSTAT_F32)
            memcpy(&sum, &got->sum[k], sizeof sum);
        good = (!(work->parts & MIN) || value_of(c->sample, &got->min[k]) == t->min) &&
               (!(work->parts & MAX) || value_of(c->sample, &got->max[k]) == t->max) &&
               (!(work->parts & SUM) || sum == t->sum);
        for (size_t v = 0; good && (work->parts & HISTOGRAM) && v < work->n_bins; v++)
            good = got->bins[k * work->n_bins + v] == truth->bins[k * work->n_bins + v];
    }
    free(got);
    return good;
}

static void cub_row(Bench *bench, const BenchCase *c, const char *what, unsigned parts,
                    const Truth *truth)
{
    CubWork work = {parts, truth->n_bins, 0, 1};
    BenchCase part = *c;
    if (c->images > 1) { /* image by image: a tenth of them tells */
        work.images = part.images = c->images / 10;
        part.bytes = part.samples = part.images * c->width * c->height;
    }
    if (!bench_wanted(bench, &part, what) ||
        !bench_out(bench, sizeof(CubResults) + c->channels * work.n_bins * sizeof(unsigned)) ||
        !bench_ok(bench, cub_any(bench, c, &work, NULL, bench->pool), what) ||
        !bench_scratch(bench, work.temporary))
        return;
    const bool right = cub_is_right(bench, &part, &work, truth);
    bench_row(bench, &part, what, call_cub, &work, right);
}

void bench_cub_record(Bench *bench, const BenchCase *c, const Truth *truth)
{
    const bool bins = truth->n_bins > 0;
    if (c->images == 1 && !bench->options.quick) {
        cub_row(bench, c, "CUB Min", MIN, truth);
        cub_row(bench, c, "CUB Max", MAX, truth);
        cub_row(bench, c, "CUB Sum", SUM, truth);
        if (!bins)
            cub_row(bench, c, "CUB calls", MIN | MAX | SUM, truth);
    } else if (!bins) {
        cub_row(bench, c, "CUB calls", MIN | MAX | SUM, truth);
    }
    if (bins && (size_t)c->width * c->height <= UINT32_MAX) {
        cub_row(bench, c, c->channels > 1 ? "CUB MultiHistogramEven" : "CUB HistogramEven",
                HISTOGRAM, truth);
        cub_row(bench, c, "CUB calls", MIN | MAX | SUM | HISTOGRAM, truth);
    }
}
