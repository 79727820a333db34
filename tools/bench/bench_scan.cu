/* SPDX-License-Identifier: MIT */
/* bench_scan.cu: prefix sums: the device's own, CUB, and a serial loop. */
#include "bench_check.h"
#include "bench_device.h"

#include <cub/device/device_scan.cuh>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct ScanWork {
    size_t temporary;
    bool inclusive;
} ScanWork;

template <typename T>
static cudaError_t cub_scan(bool inclusive, void *temporary, size_t *bytes, const void *in,
                            void *out, size_t n, cudaStream_t stream)
{
    if (inclusive)
        return cub::DeviceScan::InclusiveSum(temporary, *bytes, (const T *)in, (T *)out, n, stream);
    return cub::DeviceScan::ExclusiveSum(temporary, *bytes, (const T *)in, (T *)out, n, stream);
}

static cudaError_t call_cub(Bench *bench, const BenchCase *c, void *work, const void *in)
{
    ScanWork *const w = (ScanWork *)work;
    return c->sample == IMGSTAT_U64
               ? cub_scan<uint64_t>(w->inclusive, bench->scratch, &w->temporary, in, bench->out,
                                    c->samples, bench->stream)
               : cub_scan<int32_t>(w->inclusive, bench->scratch, &w->temporary, in, bench->out,
                                   c->samples, bench->stream);
}

static void scan_row(Bench *bench, const BenchCase *c, const char *what, BenchCall call,
                     ScanWork *work)
{
    const void *const in = bench_slot(bench, c, 0);
    const bool right =
        bench_ok(bench, cudaMemsetAsync(bench->out, 0xA5, c->bytes, bench->stream), "cudaMemset") &&
        bench_ok(bench, call(bench, c, work, in), what) &&
        bench_ok(bench, cudaStreamSynchronize(bench->stream), what) &&
        scan_is_right(bench, c->sample, in, bench->out, c->samples, work->inclusive);
    bench_row(bench, c, what, call, work, right);
}

/* The first megabytes by one loop on the host; the time is of those. */
static void serial_row(Bench *bench, const BenchCase *c)
{
    BenchCase part = *c;
    const size_t most = (size_t)16 << 20;
    part.bytes = c->bytes < most ? c->bytes : most;
    part.samples = part.bytes / imgstat_sample_bytes(c->sample);
    if (c->sample != IMGSTAT_I32 || !bench_wanted(bench, &part, "serial CPU"))
        return;
    uint32_t *const in = (uint32_t *)malloc(part.bytes), *const out =
                                                             (uint32_t *)malloc(part.bytes);
    if (in && out &&
        bench_ok(bench, cudaMemcpy(in, bench_slot(bench, c, 0), part.bytes, cudaMemcpyDeviceToHost),
                 "download")) {
        struct timespec begin, end;
        memset(out, 1, part.bytes); /* its pages exist before the clock runs */
        clock_gettime(CLOCK_MONOTONIC, &begin);
        uint32_t sum = 0;
        for (size_t i = 0; i < part.samples; i++)
            out[i] = sum += in[i];
        clock_gettime(CLOCK_MONOTONIC, &end);
        const double ms = (double)(end.tv_sec - begin.tv_sec) * 1e3 +
                          (double)(end.tv_nsec - begin.tv_nsec) * 1e-6;
        const bool right =
            bench_ok(bench, cudaMemcpy(bench->out, out, part.bytes, cudaMemcpyHostToDevice),
                     "upload") &&
            scan_is_right(bench, c->sample, bench_slot(bench, c, 0), bench->out, part.samples,
                          true);
        bench_host_row(bench, &part, "serial CPU", ms, right);
    }
    free(in);
    free(out);
}

static void scans_of(Bench *bench, ImgstatSample sample, size_t bytes)
{
    static const char *const cub_names[] = {"CUB ExclusiveSum", "CUB InclusiveSum"};
    BenchCase c = bench_case("scan", sample, 1, BENCH_RANDOM, bytes);
    c.writes = true;
    if (!bench_input(bench, &c) || !bench_out(bench, c.bytes))
        return;
    serial_row(bench, &c);
    for (int inclusive = 0; inclusive < 2; inclusive++) {
        ScanWork work = {0, inclusive != 0};
        if (!bench_wanted(bench, &c, cub_names[inclusive]))
            continue;
        const cudaError_t asked =
            sample == IMGSTAT_U64
                ? cub_scan<uint64_t>(inclusive, NULL, &work.temporary, bench->pool, bench->out,
                                     c.samples, bench->stream)
                : cub_scan<int32_t>(inclusive, NULL, &work.temporary, bench->pool, bench->out,
                                    c.samples, bench->stream);
        if (bench_ok(bench, asked, cub_names[inclusive]) && bench_scratch(bench, work.temporary))
            scan_row(bench, &c, cub_names[inclusive], call_cub, &work);
    }
    bench_device_scan(bench, &c);
}

void bench_scans(Bench *bench)
{
    for (size_t s = 0; s < bench->options.n_sizes; s++) {
        scans_of(bench, IMGSTAT_I32, bench->options.sizes[s]);
        if (!bench->options.quick)
            scans_of(bench, IMGSTAT_U64, bench->options.sizes[s]);
    }
}
