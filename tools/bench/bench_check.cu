/* SPDX-License-Identifier: MIT */
/* bench_check.cu: expected results: a serial loop, and for large inputs a kernel that is plain and
 * slow. */
#include "bench_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern "C" {
#include "base/sample.h"
}

static const size_t SERIAL_BYTES = (size_t)16 << 20;
enum { BLOCK = 256 };

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* One thread a sample; lanes of a warp with the same bin share one atomic, or a constant image
 * would take minutes. */
template <typename T>
static __global__ void plain_bins(const T *__restrict__ in, size_t n, unsigned channels,
                                  unsigned n_bins, unsigned long long *__restrict__ bins)
{
    const size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x;
    const unsigned bin = i < n ? (unsigned)(i % channels) * n_bins + in[i] : 0xFFFFFFFFu;
    const unsigned equal = __match_any_sync(0xFFFFFFFFu, bin);
    if (i < n && threadIdx.x % 32 == (unsigned)__ffs((int)equal) - 1)
        atomicAdd(&bins[bin], (unsigned long long)__popc(equal));
}

typedef struct PlainMoments {
    double sum, sum2;
    unsigned long long min_key, max_key; /* of doubles: every sample is one exactly */
} PlainMoments;

/* Of one channel: in is its first sample. */
template <typename T>
static __global__ void plain_moments(const T *__restrict__ in, size_t pixels, unsigned channels,
                                     PlainMoments *out)
{
    double sum = 0, sum2 = 0;
    unsigned long long low = ~0ull, high = 0;
    const size_t threads = (size_t)gridDim.x * BLOCK;
    for (size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x; i < pixels; i += threads) {
        const double x = (double)in[i * channels];
        const unsigned long long key = sample_key(IMGSTAT_F64, (uint64_t)__double_as_longlong(x));
        sum += x;
        sum2 += x * x;
        low = min(low, key);
        high = max(high, key);
    }
    atomicAdd(&out->sum, sum);
    atomicAdd(&out->sum2, sum2);
    atomicMin(&out->min_key, low);
    atomicMax(&out->max_key, high);
}

template <typename T>
static void serial_bins(const T *in, size_t n, unsigned channels, size_t n_bins, uint64_t *bins)
{
    for (size_t i = 0, c = 0; i < n; i++) {
        bins[c * n_bins + in[i]]++;
        c = c + 1 == channels ? 0 : c + 1;
    }
}

template <typename T>
static ChannelTruth serial_moments(const T *in, size_t pixels, unsigned channels)
{
    ChannelTruth t = {pixels, INFINITY, -INFINITY, 0, 0};
    for (size_t i = 0; i < pixels; i++) {
        const double x = (double)in[i * channels];
        t.sum += x;
        t.sum2 += x * x;
        t.min = x < t.min ? x : t.min;
        t.max = x > t.max ? x : t.max;
    }
    return t;
}

static ChannelTruth of_bins(const uint64_t *bins, size_t n_bins)
{
    ChannelTruth t = {0, INFINITY, -INFINITY, 0, 0};
    for (size_t v = 0; v < n_bins; v++) {
        if (bins[v] == 0)
            continue;
        t.n += bins[v];
        t.min = fmin(t.min, (double)v);
        t.max = fmax(t.max, (double)v);
        t.sum += (double)v * (double)bins[v];
        t.sum2 += (double)v * (double)v * (double)bins[v];
    }
    return t;
}

/* Bins of the first n samples of slot 0 by the plain kernel. */
static bool device_bins(Bench *bench, const BenchCase *c, size_t n, size_t n_bins, uint64_t *bins)
{
    const size_t bytes = c->channels * n_bins * sizeof(uint64_t);
    unsigned long long *const out = (unsigned long long *)bench_scratch(bench, bytes);
    const unsigned grid = (unsigned)((n + BLOCK - 1) / BLOCK);
    if (!out || !bench_ok(bench, cudaMemset(out, 0, bytes), "cudaMemset") || n == 0)
        return false;
    const void *const in = bench_slot(bench, c, 0);
    if (c->sample == IMGSTAT_U8)
        plain_bins<<<grid, BLOCK>>>((const uint8_t *)in, n, c->channels, (unsigned)n_bins, out);
    else
        plain_bins<<<grid, BLOCK>>>((const uint16_t *)in, n, c->channels, (unsigned)n_bins, out);
    return bench_ok(bench, cudaGetLastError(), "plain_bins") &&
           bench_ok(bench, cudaMemcpy(bins, out, bytes, cudaMemcpyDeviceToHost), "plain_bins");
}

template <typename T>
static bool device_moments(Bench *bench, const BenchCase *c, size_t pixels, unsigned channel,
                           ChannelTruth *t)
{
    PlainMoments m = {0, 0, ~0ull, 0};
    PlainMoments *const out = (PlainMoments *)bench_scratch(bench, sizeof m);
    if (!out || !bench_ok(bench, cudaMemcpy(out, &m, sizeof m, cudaMemcpyHostToDevice), "upload"))
        return false;
    plain_moments<<<1024, BLOCK>>>((const T *)bench_slot(bench, c, 0) + channel, pixels,
                                   c->channels, out);
    if (!bench_ok(bench, cudaGetLastError(), "plain_moments") ||
        !bench_ok(bench, cudaMemcpy(&m, out, sizeof m, cudaMemcpyDeviceToHost), "plain_moments"))
        return false;
    t->n = pixels;
    t->min = sample_double(IMGSTAT_F64, m.min_key);
    t->max = sample_double(IMGSTAT_F64, m.max_key);
    t->sum = m.sum;
    t->sum2 = m.sum2;
    return true;
}

/* Narrow types: the serial loop on a prefix, the plain kernel on the prefix and on everything. */
static bool truth_of_bins(Bench *bench, const BenchCase *c, const void *host, Truth *truth)
{
    const size_t size = imgstat_sample_bytes(c->sample), prefix = truth->serial_bytes / size;
    const size_t cells = c->channels * truth->n_bins;
    uint64_t *const serial = (uint64_t *)calloc(cells, sizeof *serial);
    truth->bins = (uint64_t *)calloc(cells, sizeof *truth->bins);
    bool good = serial && truth->bins;
    if (good) {
        const double start = now_ms();
        if (c->sample == IMGSTAT_U8)
            serial_bins((const uint8_t *)host, prefix, c->channels, truth->n_bins, serial);
        else
            serial_bins((const uint16_t *)host, prefix, c->channels, truth->n_bins, serial);
        for (unsigned k = 0; k < c->channels; k++)
            truth->channel[k] = of_bins(serial + k * truth->n_bins, truth->n_bins);
        truth->serial_ms = now_ms() - start;
        good = device_bins(bench, c, prefix, truth->n_bins, truth->bins);
    }
    if (good && memcmp(serial, truth->bins, cells * sizeof *serial) != 0) {
        fprintf(stderr, "imgstat-bench: the plain kernel differs from the serial loop\n");
        good = false;
    }
    good = good && device_bins(bench, c, c->samples, truth->n_bins, truth->bins);
    for (unsigned k = 0; good && k < c->channels; k++)
        truth->channel[k] = of_bins(truth->bins + k * truth->n_bins, truth->n_bins);
    free(serial);
    return good;
}

template <typename T>
static bool truth_of_moments(Bench *bench, const BenchCase *c, const void *host, Truth *truth)
{
    const size_t prefix = truth->serial_bytes / (c->channels * sizeof(T));
    for (unsigned k = 0; k < c->channels; k++) {
        const double start = now_ms();
        const ChannelTruth serial = serial_moments((const T *)host + k, prefix, c->channels);
        truth->serial_ms += now_ms() - start;
        ChannelTruth device;
        if (!device_moments<T>(bench, c, prefix, k, &device))
            return false;
        if (serial.min != device.min || serial.max != device.max || serial.sum != device.sum) {
            fprintf(stderr, "imgstat-bench: the plain kernel differs from the serial loop\n");
            return false;
        }
        if (!device_moments<T>(bench, c, c->samples / c->channels, k, &truth->channel[k]))
            return false;
    }
    return true;
}

static bool truth_of_wide(Bench *bench, const BenchCase *c, const void *host, Truth *truth)
{
    switch (c->sample) {
    case IMGSTAT_F32:
        return truth_of_moments<float>(bench, c, host, truth);
    case IMGSTAT_F64:
        return truth_of_moments<double>(bench, c, host, truth);
    case IMGSTAT_U32:
        return truth_of_moments<uint32_t>(bench, c, host, truth);
    default:
        return truth_of_moments<uint64_t>(bench, c, host, truth);
    }
}

bool truth_create(Bench *bench, const BenchCase *c, Truth *truth)
{
    memset(truth, 0, sizeof *truth);
    truth->serial_bytes = c->bytes < SERIAL_BYTES ? c->bytes : SERIAL_BYTES;
    truth->serial_bytes -= truth->serial_bytes % (c->channels * imgstat_sample_bytes(c->sample));
    truth->n_bins = c->sample == IMGSTAT_U8 ? 256 : c->sample == IMGSTAT_U16 ? 65536 : 0;
    void *const host = malloc(truth->serial_bytes);
    bool good = host && bench_ok(bench,
                                 cudaMemcpy(host, bench_slot(bench, c, 0), truth->serial_bytes,
                                            cudaMemcpyDeviceToHost),
                                 "download");
    if (good)
        good = truth->n_bins ? truth_of_bins(bench, c, host, truth)
                             : truth_of_wide(bench, c, host, truth);
    free(host);
    if (!good) {
        truth_release(truth);
        bench->failures++;
    }
    return good;
}

void truth_release(Truth *truth)
{
    free(truth->bins);
    truth->bins = NULL;
}

/* Counts the places where a prefix sum is not the one before plus the element between. With the
 * first one right, none means that all are. */
template <typename T>
static __global__ void count_breaks(const T *__restrict__ in, const T *__restrict__ out, size_t n,
                                    bool inclusive, unsigned long long *breaks)
{
    const size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n)
        return;
    const T before = i == 0 ? T(0) : out[i - 1];
    const T between = inclusive ? in[i] : i == 0 ? T(0) : in[i - 1];
    if (out[i] != (T)(before + between))
        atomicAdd(breaks, 1ull);
}

bool scan_is_right(Bench *bench, ImgstatSample sample, const void *in, const void *out, size_t n,
                   bool inclusive)
{
    unsigned long long breaks = 1, *device_breaks = NULL;
    const unsigned grid = (unsigned)((n + BLOCK - 1) / BLOCK);
    if (!bench_ok(bench, cudaMalloc((void **)&device_breaks, sizeof breaks), "cudaMalloc"))
        return false;
    bool good = bench_ok(bench, cudaMemset(device_breaks, 0, sizeof breaks), "cudaMemset");
    if (good && sample == IMGSTAT_U64)
        count_breaks<<<grid, BLOCK>>>((const uint64_t *)in, (const uint64_t *)out, n, inclusive,
                                      device_breaks);
    else if (good)
        count_breaks<<<grid, BLOCK>>>((const uint32_t *)in, (const uint32_t *)out, n, inclusive,
                                      device_breaks);
    good =
        good && bench_ok(bench, cudaGetLastError(), "count_breaks") &&
        bench_ok(bench, cudaMemcpy(&breaks, device_breaks, sizeof breaks, cudaMemcpyDeviceToHost),
                 "count_breaks");
    cudaFree(device_breaks);
    return good && breaks == 0;
}
