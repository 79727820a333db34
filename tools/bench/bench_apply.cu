/* SPDX-License-Identifier: MIT */
/* bench_apply.cu: transfers over images in device memory: a table alone, and equalization from
 * pixels to pixels. */
#include "bench_device.h"

#include "device/cuda_device.h"

extern "C" {
#include "transform/transfer_source.h"
}

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <stdio.h>
#include <stdlib.h>

#ifdef IMGSTAT_WITH_NPP_LUT
#include "bench_npp.h"
#include <nppi_color_conversion.h>
#endif

/* Compared with the processor's bytes: this many of the first rows. */
static const size_t CHECKED_BYTES = (size_t)64 << 20;
/* Of wide samples, images up to this. */
static const size_t WIDE_BYTES = (size_t)256 << 20;

typedef struct ApplyWork {
    Device *device, *cpu;
    ImgstatTransfer *transfer; /* the processor's */
    DeviceTransform *chain;    /* NULL: the transfer is applied */
    cudaGraphExec_t graph;
    ImagePro from, to;
    void *table; /* of NPP */
} ApplyWork;

static const ImgstatMethod equalize = {.transform = IMGSTAT_EQUALIZE};

/* Maps of wide samples beside that of equalization; narrow ones have tables whatever the method. */
static const struct {
    const char *name;
    ImgstatMethod method;
} wide_maps[] = {
    {"imgstat apply, stretch", {.transform = IMGSTAT_STRETCH}},
    {"imgstat apply, meanstd", {.transform = IMGSTAT_MEANSTD, .mean = 0.5, .stddev = 0.1}},
    {"imgstat apply, gamma", {.transform = IMGSTAT_GAMMA, .gamma = 0.45}},
};

static cudaError_t status_of(ImgstatResult res, const ImgstatError *err)
{
    if (res == IMGSTAT_OK)
        return cudaSuccess;
    fprintf(stderr, "imgstat-bench: %s\n", err->message);
    return cudaErrorUnknown;
}

static cudaError_t call_apply(Bench *bench, const BenchCase *c, void *work, const void *in)
{
    ApplyWork *const w = (ApplyWork *)work;
    ImgstatError err;
    (void)c;
    w->from.device.address = (uint64_t)(uintptr_t)in;
    w->to.device.address = (uint64_t)(uintptr_t)bench->out;
    const DeviceSeries one = {1, 0, 0};
    const ImgstatResult res =
        w->chain
            ? w->device->ops->transform_async(w->chain, bench->stream, &w->from, &w->to, &one, &err)
            : w->device->ops->apply(w->device, w->transfer, &w->from, -1, &w->to, &err);
    return status_of(res, &err);
}

/* Measures, makes the transfer and applies it; waits. */
static cudaError_t call_whole(Bench *bench, const BenchCase *c, void *work, const void *in)
{
    ApplyWork *const w = (ApplyWork *)work;
    ImgstatError err;
    (void)c;
    w->from.device.address = (uint64_t)(uintptr_t)in;
    w->to.device.address = (uint64_t)(uintptr_t)bench->out;
    const ImgstatResult res =
        imgstat_image_transform(w->device, &equalize, &w->from, -1, NULL, &w->to, &err);
    return status_of(res, &err);
}

static cudaError_t call_graph(Bench *bench, const BenchCase *c, void *work, const void *in)
{
    (void)c;
    (void)in;
    return cudaGraphLaunch(((ApplyWork *)work)->graph, bench->stream);
}

#ifdef IMGSTAT_WITH_NPP_LUT
static cudaError_t call_npp(Bench *bench, const BenchCase *c, void *work, const void *in)
{
    const ApplyWork *const w = (const ApplyWork *)work;
    const NppStreamContext context = bench_npp_context(bench);
    const NppiSize size = {(int)c->width, (int)c->height};
    const NppStatus status =
        c->sample == IMGSTAT_U8
            ? nppiLUTPalette_8u_C1R_Ctx((const Npp8u *)in, (int)c->width, (Npp8u *)bench->out,
                                        (int)c->width, size, (const Npp8u *)w->table, 8, context)
            : nppiLUTPalette_16u_C1R_Ctx((const Npp16u *)in, (int)c->width * 2,
                                         (Npp16u *)bench->out, (int)c->width * 2, size,
                                         (const Npp16u *)w->table, 16, context);
    return status == NPP_SUCCESS ? cudaSuccess : cudaErrorUnknown;
}
#endif

/* The transfer's table, as small as its samples, for NPP. */
static bool upload_table(Bench *bench, const BenchCase *c, ApplyWork *w)
{
    const size_t bytes = imgstat_sample_bytes(c->sample);
    const size_t entries = sample_record_bins(c->sample);
    unsigned char *const table = (unsigned char *)malloc(entries * bytes);
    for (size_t k = 0; table && k < entries; k++)
        memcpy(table + k * bytes, &w->transfer->tables[k], bytes); /* little-endian */
    const bool done =
        table && bench_ok(bench, cudaMalloc(&w->table, entries * bytes), "cudaMalloc") &&
        bench_ok(bench, cudaMemcpy(w->table, table, entries * bytes, cudaMemcpyHostToDevice),
                 "upload");
    free(table);
    return done;
}

/* What the processor makes of the first rows; whether the device's are the same. */
static bool output_is_right(Bench *bench, const BenchCase *c, ApplyWork *w, const void *host,
                            BenchCall call)
{
    const size_t row = c->bytes / c->height;
    const size_t rows = c->bytes <= CHECKED_BYTES ? c->height : CHECKED_BYTES / row;
    unsigned char *const expected = (unsigned char *)malloc(2 * rows * row);
    if (!expected)
        return false;
    unsigned char *const got = expected + rows * row;
    ImagePro from = w->from, to = w->to;
    from.memory = to.memory = IMGSTAT_HOST;
    from.host = (void *)host;
    to.host = expected;
    from.height = to.height = (uint32_t)rows;
    ImgstatError err;
    const bool right =
        cpu_device_ops.apply(w->cpu, w->transfer, &from, -1, &to, &err) == IMGSTAT_OK &&
        bench_ok(bench, cudaMemsetAsync(bench->out, 0xA5, c->bytes, bench->stream), "cudaMemset") &&
        bench_ok(bench, call(bench, c, w, bench_slot(bench, c, 0)), "apply") &&
        bench_ok(
            bench,
            cudaMemcpyAsync(got, bench->out, rows * row, cudaMemcpyDeviceToHost, bench->stream),
            "download") &&
        bench_ok(bench, cudaStreamSynchronize(bench->stream), "apply") &&
        memcmp(expected, got, rows * row) == 0;
    free(expected);
    return right;
}

/* image: the input in host memory. */
static void map_rows(Bench *bench, BenchCase c, ApplyWork *w, const ImagePro *image)
{
    for (const auto &map : wide_maps) {
        if (!bench_wanted(bench, &c, map.name))
            continue;
        ImgstatError err;
        ApplyWork mapping = *w;
        const ImgstatResult res =
            imgstat_transfer_create(w->cpu, &map.method, image, -1, NULL, &mapping.transfer, &err);
        bench_row(bench, &c, map.name, call_apply, &mapping,
                  status_of(res, &err) == cudaSuccess &&
                      output_is_right(bench, &c, &mapping, image->host, call_apply));
        imgstat_transfer_destroy(mapping.transfer);
    }
}

static void apply_rows(Bench *bench, BenchCase c, ApplyWork *w, const void *host)
{
    if (bench_wanted(bench, &c, "imgstat apply"))
        bench_row(bench, &c, "imgstat apply", call_apply, w,
                  output_is_right(bench, &c, w, host, call_apply));
#ifdef IMGSTAT_WITH_NPP_LUT
    if (sample_is_narrow(c.sample) && c.channels == 1 &&
        bench_wanted(bench, &c, "NPP LUTPalette") && upload_table(bench, &c, w))
        bench_row(bench, &c, "NPP LUTPalette", call_npp, w,
                  output_is_right(bench, &c, w, host, call_npp));
#else
    (void)upload_table;
#endif
}

static void chain_rows(Bench *bench, BenchCase c, ApplyWork *w, const void *host)
{
    ImgstatError err;
    const TransferShape shape = shape_of_image(&w->from, -1);
    c.reads_again = 1;
    if (!bench_wanted(bench, &c, "imgstat equalize") &&
        !bench_wanted(bench, &c, "imgstat equalize, graph"))
        return;
    if (w->device->ops->transform_create(w->device, &equalize, &shape, c.samples / c.channels,
                                         &w->chain, &err) != IMGSTAT_OK) {
        fprintf(stderr, "imgstat-bench: %s\n", err.message);
        bench->failures++;
        return;
    }
    const bool right = output_is_right(bench, &c, w, host, call_apply);
    bench_row(bench, &c, "imgstat equalize", call_apply, w, right);
    if (right && c.cached) { /* one buffer: what a graph has recorded stays true */
        cudaGraph_t graph = NULL;
        const bool recorded =
            bench_ok(bench, cudaStreamBeginCapture(bench->stream, cudaStreamCaptureModeRelaxed),
                     "capture") &&
            bench_ok(bench, call_apply(bench, &c, w, bench_slot(bench, &c, 0)), "capture") &&
            bench_ok(bench, cudaStreamEndCapture(bench->stream, &graph), "capture") &&
            bench_ok(bench, cudaGraphInstantiate(&w->graph, graph, 0), "capture");
        bench_row(bench, &c, "imgstat equalize, graph", call_graph, w,
                  recorded && output_is_right(bench, &c, w, host, call_graph));
        if (w->graph)
            (void)cudaGraphExecDestroy(w->graph);
        if (graph)
            (void)cudaGraphDestroy(graph);
    }
    w->device->ops->transform_destroy(w->chain);
}

static void whole_rows(Bench *bench, BenchCase c, ApplyWork *w, const void *host)
{
    c.reads_again = 1;
    if (bench_wanted(bench, &c, "imgstat equalize"))
        bench_row(bench, &c, "imgstat equalize", call_whole, w,
                  output_is_right(bench, &c, w, host, call_whole));
}

static bool anything_wanted(const Bench *bench, const BenchCase *c)
{
    bool wanted =
        bench_wanted(bench, c, "imgstat apply") || bench_wanted(bench, c, "imgstat equalize");
    for (const auto &map : wide_maps)
        wanted = wanted || (!sample_is_narrow(c->sample) && bench_wanted(bench, c, map.name));
    return wanted;
}

static void apply_of(Bench *bench, ImgstatSample sample, uint16_t channels, BenchPattern pattern,
                     size_t bytes, bool cached)
{
    BenchCase c = bench_case("apply", sample, channels, pattern, bytes);
    c.writes = true;
    c.cached = cached;
    if (!anything_wanted(bench, &c))
        return;
    if (!bench_input(bench, &c) || !bench_out(bench, c.bytes))
        return;
    ApplyWork w = {};
    ImgstatError err;
    w.device = (Device *)bench->cuda;
    unsigned char *const host = (unsigned char *)malloc(c.bytes);
    ImagePro image;
    ImgstatResult res =
        host ? cpu_device_ops.open(0, 0, &w.cpu, &err) : error_memory(&err, c.bytes, "an image");
    if (res == IMGSTAT_OK)
        res = imgstat_image_wrap(IMGSTAT_CUDA, bench->options.device, bench->out, 0, c.width,
                                 c.height, channels, sample, 0, NULL, NULL, &w.from, &err);
    if (res == IMGSTAT_OK &&
        bench_ok(bench, cudaMemcpy(host, bench_slot(bench, &c, 0), c.bytes, cudaMemcpyDeviceToHost),
                 "download")) {
        w.to = image = w.from;
        image.memory = IMGSTAT_HOST;
        image.host = host;
        res = imgstat_transfer_create(w.cpu, &equalize, &image, -1, NULL, &w.transfer, &err);
    }
    if (res == IMGSTAT_OK && w.transfer) {
        if (c.bytes <= (size_t)bench->device.l2CacheSize)
            bench_row(bench, &c, "copy", bench_copy, NULL, true);
        apply_rows(bench, c, &w, host);
        if (sample_is_narrow(sample)) {
            chain_rows(bench, c, &w, host);
        } else {
            map_rows(bench, c, &w, &image);
            whole_rows(bench, c, &w, host);
        }
    } else {
        if (res != IMGSTAT_OK)
            fprintf(stderr, "imgstat-bench: %s\n", err.message);
        bench->failures++;
    }
    imgstat_transfer_destroy(w.transfer);
    if (w.cpu)
        cpu_device_ops.close(w.cpu);
    (void)cudaFree(w.table);
    free(host);
}

void bench_transfers(Bench *bench)
{
    if (!bench->cuda)
        return;
    static const size_t within[] = {256,   1024,  2048,  3072,  4096,  6144,  9216,
                                    12288, 16384, 24576, 32768, 40960, 49152, 57344}; /* KiB */
    const size_t cache = (size_t)bench->device.l2CacheSize;
    /* Images that the second-level cache holds, and may or may not have. */
    for (size_t kib : within)
        for (bool there : {false, true})
            if (kib << 10 <= cache)
                apply_of(bench, IMGSTAT_U8, 1, BENCH_RANDOM, kib << 10, there);
    for (size_t s = 0; s < bench->options.n_sizes; s++) {
        const size_t bytes = bench->options.sizes[s];
        if (bytes > cache ||
            std::find(std::begin(within), std::end(within), bytes >> 10) == std::end(within))
            apply_of(bench, IMGSTAT_U8, 1, BENCH_RANDOM, bytes, false);
        apply_of(bench, IMGSTAT_U16, 1, BENCH_RANDOM, bytes, false);
        apply_of(bench, IMGSTAT_U8, 3, BENCH_RANDOM, bytes, false);
        if (bytes <= WIDE_BYTES) /* the processor takes seconds to know what is right */
            for (ImgstatSample sample : {IMGSTAT_F32, IMGSTAT_F64, IMGSTAT_U32})
                for (BenchPattern pattern : {BENCH_RANDOM, BENCH_NOISE})
                    apply_of(bench, sample, 1, pattern, bytes, false);
    }
}
