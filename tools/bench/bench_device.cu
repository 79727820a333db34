/* SPDX-License-Identifier: MIT */
/* bench_device.cu: rows of imgstat's own CUDA device: records of images in its memory, prefix sums.
 */
#include "bench_device.h"

#include "device/cuda_device.h"
#include "scan/scan.h"

#include <stdio.h>
#include <stdlib.h>

/* Calls add to records, so that each gets a fresh one: enough for all runs of short calls. */
enum { FRESH_SHORT = 1024, FRESH_LONG = 32 };
static const size_t LONG_BYTES = (size_t)32 << 20;

typedef struct RecordWork {
    unsigned parts;
    ImagePro *images;
    DeviceRecord *records; /* fresh * images of them */
    DevMem memory;
    size_t record_bytes, stride, first; /* of a record; from one to the next; before the first */
    size_t fresh, turn;
} RecordWork;

static Device *device_of(const Bench *bench)
{
    return (Device *)bench->cuda;
}

static bool good(Bench *bench, ImgstatResult result, const ImgstatError *err)
{
    if (result == IMGSTAT_OK)
        return true;
    fprintf(stderr, "imgstat-bench: %s\n", err->message);
    bench->failures++;
    bench_ok(bench, cudaDeviceSynchronize(), "the CUDA device"); /* ends the run if it is lost */
    return false;
}

void bench_device_open(Bench *bench)
{
    ImgstatError err;
    Device *device = NULL;
    char name[16];
    snprintf(name, sizeof name, "cuda:%d", bench->options.device);
    if (good(bench, imgstat_device_open(name, 0, &device, &err), &err)) {
        bench->cuda = device;
        bench->stream = ((CudaDevice *)device)->stream;
    }
}

void bench_device_close(Bench *bench)
{
    if (bench->cuda)
        imgstat_device_close(device_of(bench));
    bench->cuda = NULL;
}

static cudaError_t call_measure(Bench *bench, const BenchCase *c, void *work, const void *in)
{
    RecordWork *const w = (RecordWork *)work;
    DeviceRecord *const records = w->records + w->turn++ % w->fresh * c->images;
    ImgstatError err;
    for (size_t i = 0; i < c->images; i++)
        w->images[i].device.address = (uint64_t)(uintptr_t)in + i * (c->bytes / c->images);
    const PixelSource source = {w->images, c->images, NULL, NULL, 0, 0, NULL};
    const PixelView each = {VIEW_EACH, -1, 0, 0};
    return good(bench,
                device_of(bench)->ops->measure(device_of(bench), &source, each, records, &err),
                &err)
               ? cudaSuccess
               : cudaErrorUnknown;
}

static void work_release(Bench *bench, RecordWork *w)
{
    device_of(bench)->ops->release(device_of(bench), &w->memory);
    free(w->images);
    free(w->records);
}

static bool work_create(Bench *bench, const BenchCase *c, RecordWork *w)
{
    ImgstatError err;
    w->record_bytes = record_bytes(c->sample, c->channels, w->parts);
    w->stride = (w->record_bytes + 15) / 16 * 16;
    w->first = (16 - c->channels * sizeof(Tally) % 16) % 16; /* the scan of bins wants 16 bytes */
    w->fresh = c->bytes >= LONG_BYTES ? FRESH_LONG : FRESH_SHORT;
    w->images = (ImagePro *)calloc(c->images, sizeof *w->images);
    w->records = (DeviceRecord *)calloc(w->fresh * c->images, sizeof *w->records);
    if (!w->images || !w->records ||
        !good(bench,
              device_of(bench)->ops->alloc(
                  device_of(bench), w->first + w->fresh * c->images * w->stride, &w->memory, &err),
              &err))
        return false;
    for (size_t i = 0; i < c->images; i++)
        if (!good(bench,
                  imgstat_image_wrap(IMGSTAT_CUDA, bench->options.device, bench->pool, 0, c->width,
                                     c->height, c->channels, c->sample, 0, NULL, NULL,
                                     &w->images[i], &err),
                  &err))
            return false;
    for (size_t i = 0; i < w->fresh * c->images; i++) {
        DeviceRecord *const r = &w->records[i];
        r->mem.address = w->memory.address + w->first + i * w->stride;
        r->mem.bytes = w->record_bytes;
        r->sample = c->sample;
        r->channels = c->channels;
        r->parts = w->parts;
    }
    return true;
}

/* The sum of samples that are multiples of 1/64 and add to less than 2^45: the 64 bits from 2^-18
 * up of the fixed-point number, which is in two's complement. */
static double small_exact_sum(const ExactSum *sum)
{
    const uint64_t low = (uint64_t)sum->limb[33], high = (uint64_t)sum->limb[34];
    static_assert(33 * 32 + EXACT_EXPONENT == -18, "weight of limb 33");
    return ldexp((double)(int64_t)(low | high << 32), -18);
}

static double tally_sum(ImgstatSample sample, const Tally *tally)
{
    return sample_is_float(sample) ? small_exact_sum(&tally->fsum) : (double)tally->sum[0];
}

/* The records of all images of the call, added up by plain loops, against the truth of all. */
static bool records_are_right(const BenchCase *c, const unsigned char *host, size_t stride,
                              const Truth *truth)
{
    for (unsigned k = 0; k < c->channels; k++) {
        const ChannelTruth *const t = &truth->channel[k];
        ChannelTruth all = {0, INFINITY, -INFINITY, 0, 0};
        for (size_t i = 0; i < c->images; i++) {
            const Tally *const tally = (const Tally *)(host + i * stride) + k;
            all.n += tally->n;
            all.min = fmin(all.min, sample_double(c->sample, tally->min_key));
            all.max = fmax(all.max, sample_double(c->sample, tally->max_key));
            all.sum += tally_sum(c->sample, tally);
        }
        if (all.n != t->n || all.min != t->min || all.max != t->max)
            return false;
        if (truth->n_bins == 0 && all.sum != t->sum)
            return false;
        for (size_t v = 0; v < truth->n_bins; v++) {
            uint64_t count = 0;
            for (size_t i = 0; i < c->images; i++) {
                const uint64_t *const bins =
                    (const uint64_t *)(host + i * stride + c->channels * sizeof(Tally));
                count += bins[k * truth->n_bins + v];
            }
            if (count != truth->bins[k * truth->n_bins + v])
                return false;
        }
    }
    return true;
}

static bool measure_is_right(Bench *bench, const BenchCase *c, RecordWork *w, const Truth *truth)
{
    ImgstatError err;
    const size_t bytes = c->images * w->stride;
    unsigned char *const host = (unsigned char *)malloc(bytes);
    const bool right = host && call_measure(bench, c, w, bench_slot(bench, c, 0)) == cudaSuccess &&
                       good(bench,
                            device_of(bench)->ops->download(device_of(bench), host, w->memory,
                                                            w->first, bytes, &err),
                            &err) &&
                       records_are_right(c, host, w->stride, truth);
    free(host);
    return right;
}

static void record_row(Bench *bench, const BenchCase *c, const char *what, unsigned parts,
                       const Truth *truth)
{
    RecordWork work = {};
    work.parts = parts;
    if (!bench_wanted(bench, c, what))
        return;
    if (work_create(bench, c, &work))
        bench_row(bench, c, what, call_measure, &work, measure_is_right(bench, c, &work, truth));
    work_release(bench, &work);
}

void bench_device_record(Bench *bench, const BenchCase *c, const Truth *truth)
{
    if (!bench->cuda)
        return;
    record_row(bench, c, "imgstat", 0, truth);
    if (truth->n_bins == 0)
        record_row(bench, c, "imgstat with bins", RECORD_BINS, truth);
}

static cudaError_t call_scan(Bench *bench, const BenchCase *c, void *inclusive, const void *in)
{
    const bool with_own = *(const bool *)inclusive;
    if (c->sample == IMGSTAT_U64)
        return cuda_scan_u64(SCAN_BEST, (const uint64_t *)in, (uint64_t *)bench->out, c->samples,
                             with_own, bench->scratch, bench->stream);
    return cuda_scan_u32(SCAN_BEST, (const uint32_t *)in, (uint32_t *)bench->out, c->samples,
                         with_own, bench->scratch, bench->stream);
}

void bench_device_scan(Bench *bench, const BenchCase *c)
{
    static const char *const names[] = {"imgstat exclusive", "imgstat inclusive"};
    const void *const in = bench_slot(bench, c, 0);
    for (int k = 0; bench->cuda && k < 2; k++) {
        bool inclusive = k == 1;
        if (!bench_wanted(bench, c, names[k]) ||
            !bench_scratch(bench, cuda_scan_scratch(c->samples)))
            continue;
        const bool right =
            bench_ok(bench, cudaMemsetAsync(bench->out, 0xA5, c->bytes, bench->stream),
                     "cudaMemset") &&
            bench_ok(bench, call_scan(bench, c, &inclusive, in), names[k]) &&
            bench_ok(bench, cudaStreamSynchronize(bench->stream), names[k]) &&
            scan_is_right(bench, c->sample, in, bench->out, c->samples, inclusive);
        bench_row(bench, c, names[k], call_scan, &inclusive, right);
    }
}
