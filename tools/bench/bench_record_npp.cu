/* SPDX-License-Identifier: MIT */
/* bench_record_npp.cu: what NPP has for the parts of a record, where the build found it. */
#include "bench_device.h"

#ifdef IMGSTAT_WITH_NPP

#include "bench_npp.h"

#include <math.h>
#include <nppi_statistics_functions.h>
#include <stdio.h>
#include <stdlib.h>

enum { MINMAX = 1, MEAN = 2, HISTOGRAM = 4 };

typedef struct NppResults {
    double min[BENCH_MAX_CHANNELS], max[BENCH_MAX_CHANNELS]; /* packed, as the sample type */
    double mean[BENCH_MAX_CHANNELS], deviation[BENCH_MAX_CHANNELS];
    int bins[]; /* channels * n_bins */
} NppResults;

typedef struct NppWork {
    unsigned parts;
    size_t images;
    int n_bins;
    NppStreamContext context;
} NppWork;

static NppStatus gray_u8(const NppWork *w, const Npp8u *in, int step, NppiSize size,
                         NppResults *out, Npp8u *scratch)
{
    NppStatus status = NPP_SUCCESS;
    if (w->parts & MINMAX)
        status = nppiMinMax_8u_C1R_Ctx(in, step, size, (Npp8u *)out->min, (Npp8u *)out->max,
                                       scratch, w->context);
    if (status == NPP_SUCCESS && (w->parts & MEAN))
        status = nppiMean_StdDev_8u_C1R_Ctx(in, step, size, scratch, out->mean, out->deviation,
                                            w->context);
    if (status == NPP_SUCCESS && (w->parts & HISTOGRAM))
        status = nppiHistogramEven_8u_C1R_Ctx(in, step, size, out->bins, 257, 0, 256, scratch,
                                              w->context);
    return status;
}

static NppStatus rgb_u8(const NppWork *w, const Npp8u *in, int step, NppiSize size, NppResults *out,
                        Npp8u *scratch)
{
    NppStatus status = NPP_SUCCESS;
    if (w->parts & MINMAX)
        status = nppiMinMax_8u_C3R_Ctx(in, step, size, (Npp8u *)out->min, (Npp8u *)out->max,
                                       scratch, w->context);
    for (int k = 0; k < 3 && status == NPP_SUCCESS && (w->parts & MEAN); k++)
        status = nppiMean_StdDev_8u_C3CR_Ctx(in, step, size, k + 1, scratch, &out->mean[k],
                                             &out->deviation[k], w->context);
    if (status == NPP_SUCCESS && (w->parts & HISTOGRAM)) {
        Npp32s *bins[3] = {out->bins, out->bins + 256, out->bins + 512};
        int levels[3] = {257, 257, 257};
        Npp32s lower[3] = {0, 0, 0}, upper[3] = {256, 256, 256};
        status = nppiHistogramEven_8u_C3R_Ctx(in, step, size, bins, levels, lower, upper, scratch,
                                              w->context);
    }
    return status;
}

static NppStatus gray_u16(const NppWork *w, const Npp16u *in, int step, NppiSize size,
                          NppResults *out, Npp8u *scratch)
{
    NppStatus status = NPP_SUCCESS;
    if (w->parts & MINMAX)
        status = nppiMinMax_16u_C1R_Ctx(in, step, size, (Npp16u *)out->min, (Npp16u *)out->max,
                                        scratch, w->context);
    if (status == NPP_SUCCESS && (w->parts & MEAN))
        status = nppiMean_StdDev_16u_C1R_Ctx(in, step, size, scratch, out->mean, out->deviation,
                                             w->context);
    if (status == NPP_SUCCESS && (w->parts & HISTOGRAM))
        status = nppiHistogramEven_16u_C1R_Ctx(in, step, size, out->bins, 65537, 0, 65536, scratch,
                                               w->context);
    return status;
}

static NppStatus gray_f32(const NppWork *w, const Npp32f *in, int step, NppiSize size,
                          NppResults *out, Npp8u *scratch)
{
    NppStatus status = NPP_SUCCESS;
    if (w->parts & MINMAX)
        status = nppiMinMax_32f_C1R_Ctx(in, step, size, (Npp32f *)out->min, (Npp32f *)out->max,
                                        scratch, w->context);
    if (status == NPP_SUCCESS && (w->parts & MEAN))
        status = nppiMean_StdDev_32f_C1R_Ctx(in, step, size, scratch, out->mean, out->deviation,
                                             w->context);
    return status;
}

static cudaError_t call_npp(Bench *bench, const BenchCase *c, void *work, const void *in)
{
    const NppWork *const w = (const NppWork *)work;
    const NppiSize size = {(int)c->width, (int)c->height};
    const size_t row = (size_t)c->width * c->channels * imgstat_sample_bytes(c->sample);
    NppResults *const out = (NppResults *)bench->out;
    Npp8u *const scratch = (Npp8u *)bench->scratch;
    NppStatus status = NPP_SUCCESS;
    for (size_t i = 0; i < w->images && status == NPP_SUCCESS; i++) {
        const unsigned char *const image = (const unsigned char *)in + i * row * c->height;
        if (c->sample == IMGSTAT_U16)
            status = gray_u16(w, (const Npp16u *)image, (int)row, size, out, scratch);
        else if (c->sample == IMGSTAT_F32)
            status = gray_f32(w, (const Npp32f *)image, (int)row, size, out, scratch);
        else if (c->channels == 3)
            status = rgb_u8(w, image, (int)row, size, out, scratch);
        else
            status = gray_u8(w, image, (int)row, size, out, scratch);
    }
    if (status != NPP_SUCCESS)
        fprintf(stderr, "imgstat-bench: NPP status %d\n", (int)status);
    return status == NPP_SUCCESS ? cudaSuccess : cudaErrorUnknown;
}

/* The most scratch memory that any of the calls asks for. */
static size_t scratch_bytes(const BenchCase *c, const NppWork *w)
{
    const NppiSize size = {(int)c->width, (int)c->height};
    const NppStreamContext context = w->context;
    size_t bytes[3] = {0, 0, 0};
    NppStatus status[3] = {NPP_SUCCESS, NPP_SUCCESS, NPP_SUCCESS};
    int levels[3] = {257, 257, 257};
    if (c->sample == IMGSTAT_U16) {
        status[0] = nppiMinMaxGetBufferHostSize_16u_C1R_Ctx(size, &bytes[0], context);
        status[1] = nppiMeanStdDevGetBufferHostSize_16u_C1R_Ctx(size, &bytes[1], context);
        status[2] = nppiHistogramEvenGetBufferSize_16u_C1R_Ctx(size, 65537, &bytes[2], context);
    } else if (c->sample == IMGSTAT_F32) {
        status[0] = nppiMinMaxGetBufferHostSize_32f_C1R_Ctx(size, &bytes[0], context);
        status[1] = nppiMeanStdDevGetBufferHostSize_32f_C1R_Ctx(size, &bytes[1], context);
    } else if (c->channels == 3) {
        status[0] = nppiMinMaxGetBufferHostSize_8u_C3R_Ctx(size, &bytes[0], context);
        status[1] = nppiMeanStdDevGetBufferHostSize_8u_C3CR_Ctx(size, &bytes[1], context);
        status[2] = nppiHistogramEvenGetBufferSize_8u_C3R_Ctx(size, levels, &bytes[2], context);
    } else {
        status[0] = nppiMinMaxGetBufferHostSize_8u_C1R_Ctx(size, &bytes[0], context);
        status[1] = nppiMeanStdDevGetBufferHostSize_8u_C1R_Ctx(size, &bytes[1], context);
        status[2] = nppiHistogramEvenGetBufferSize_8u_C1R_Ctx(size, 257, &bytes[2], context);
    }
    size_t most = 1;
    for (int k = 0; k < 3; k++) {
        if (status[k] != NPP_SUCCESS)
            return 0;
        most = bytes[k] > most ? bytes[k] : most;
    }
    return most;
}

static double value_of(ImgstatSample sample, const void *held, unsigned k)
{
    if (sample == IMGSTAT_U8)
        return ((const uint8_t *)held)[k];
    if (sample == IMGSTAT_U16)
        return ((const uint16_t *)held)[k];
    return ((const float *)held)[k];
}

/* Of a batch only one image's record is there: compared only for single images. */
static bool npp_is_right(Bench *bench, const BenchCase *c, NppWork *work, const Truth *truth)
{
    const size_t n_bins = truth->n_bins;
    const size_t bytes = sizeof(NppResults) + c->channels * n_bins * sizeof(int);
    NppResults *const got = (NppResults *)malloc(bytes);
    bool good =
        got &&
        bench_ok(bench, cudaMemsetAsync(bench->out, 0xA5, bytes, bench->stream), "cudaMemset") &&
        bench_ok(bench, call_npp(bench, c, work, bench_slot(bench, c, 0)), "NPP") &&
        bench_ok(bench, cudaStreamSynchronize(bench->stream), "NPP") &&
        bench_ok(bench, cudaMemcpy(got, bench->out, bytes, cudaMemcpyDeviceToHost), "NPP");
    for (unsigned k = 0; good && c->images == 1 && k < c->channels; k++) {
        const ChannelTruth *const t = &truth->channel[k];
        const double mean = t->sum / (double)t->n;
        if (work->parts & MINMAX)
            good = value_of(c->sample, got->min, k) == t->min &&
                   value_of(c->sample, got->max, k) == t->max;
        if (good && (work->parts & MEAN)) /* rounded: loosely */
            good = fabs(got->mean[k] - mean) <= 1e-3 * (fabs(t->min) + fabs(t->max));
        for (size_t v = 0; good && (work->parts & HISTOGRAM) && v < n_bins; v++)
            good = (unsigned)got->bins[k * n_bins + v] == truth->bins[k * n_bins + v];
    }
    free(got);
    return good;
}

static void npp_row(Bench *bench, const BenchCase *c, const char *what, unsigned parts,
                    const Truth *truth)
{
    NppWork work = {parts, 1, (int)truth->n_bins, bench_npp_context(bench)};
    BenchCase part = *c;
    if (c->images > 1) { /* image by image: a tenth of them tells */
        work.images = part.images = c->images / 10;
        part.bytes = part.samples = part.images * c->width * c->height;
    }
    const size_t scratch = scratch_bytes(c, &work);
    if (!bench_wanted(bench, &part, what) || scratch == 0 ||
        !bench_out(bench, sizeof(NppResults) + c->channels * truth->n_bins * sizeof(int)) ||
        !bench_scratch(bench, scratch))
        return;
    const bool right = npp_is_right(bench, &part, &work, truth);
    bench_row(bench, &part, what, call_npp, &work, right);
}

void bench_npp_record(Bench *bench, const BenchCase *c, const Truth *truth)
{
    const unsigned bins = truth->n_bins > 0 ? HISTOGRAM : 0;
    /* NPP has no deviation of four channels, and its counts are signed 32-bit. */
    if (c->channels == 4 || (size_t)c->width * c->height > INT32_MAX)
        return;
    if (c->images == 1 && !bench->options.quick) {
        npp_row(bench, c, "NPP MinMax", MINMAX, truth);
        npp_row(bench, c, "NPP Mean_StdDev", MEAN, truth);
        if (bins)
            npp_row(bench, c, "NPP HistogramEven", HISTOGRAM, truth);
    }
    npp_row(bench, c, "NPP calls", MINMAX | MEAN | bins, truth);
}

#else

void bench_npp_record(Bench *, const BenchCase *, const Truth *)
{
}

#endif
