/* SPDX-License-Identifier: MIT */
/* async.c: measuring on the caller's stream, without waiting. */
#include "imgstat_async.h"

#include "device/device.h"
#include "measure/result.h"

#include <stdlib.h>
#include <string.h>

struct ImgstatPending {
    Device *device;
    DeviceRecord record; /* the first of n that follow each other */
    DevMem all;          /* their memory */
    DevMem scratch;
    size_t n;
    size_t measured;     /* the first so many of them */
    unsigned char *host; /* NULL, or a copy of these */
    /* Of the images that were measured: */
    bool has_nodata;
    uint64_t nodata_key;
    uint8_t bits;
};

/* Forgets what was copied to host memory. */
static void forget(ImgstatPending *pending)
{
    free(pending->host);
    pending->host = NULL;
}

void imgstat_pending_destroy(ImgstatPending *pending)
{
    if (!pending)
        return;
    pending->device->ops->release(pending->device, &pending->all);
    pending->device->ops->release(pending->device, &pending->scratch);
    forget(pending);
    free(pending);
}

ImgstatResult imgstat_pending_create(ImgstatDevice *device, ImgstatSample sample, uint16_t channels,
                                     ImgstatPending **out, ImgstatError *err)
{
    if (out)
        *out = NULL;
    IMGSTAT_TRY(error_if_null(device && out, __func__, err));
    return imgstat_pending_create_series(device, sample, channels, 1, out, err);
}

ImgstatResult imgstat_pending_create_series(ImgstatDevice *device, ImgstatSample sample,
                                            uint16_t channels, size_t n, ImgstatPending **out,
                                            ImgstatError *err)
{
    size_t bytes;
    if (out)
        *out = NULL;
    IMGSTAT_TRY(error_if_null(device && out, __func__, err));
    IMGSTAT_TRY(image_check_kind(channels, sample, 0, err));
    if (n == 0 || !size_product(n, record_bytes(sample, channels, 0), &bytes))
        return error_set(err, IMGSTAT_ERR_ARG, "a series of %zu images", n);
    ImgstatPending *pending = calloc(1, sizeof *pending);
    if (!pending)
        return error_memory(err, sizeof *pending, "a measurement");
    const DeviceOps *const ops = device->ops;
    pending->device = device;
    pending->n = n;
    ImgstatResult res = ops->alloc(device, bytes, &pending->all, err);
    if (res == IMGSTAT_OK)
        res = ops->alloc(device, ops->async_bytes(sample, channels, n), &pending->scratch, err);
    if (res == IMGSTAT_OK) /* zeroed before another stream uses it */
        res = device_wait(device, err);
    if (res != IMGSTAT_OK) {
        imgstat_pending_destroy(pending);
        return res;
    }
    pending->record = (DeviceRecord){
        .mem = {pending->all.address, bytes / n}, .sample = sample, .channels = channels};
    *out = pending;
    return IMGSTAT_OK;
}

ImgstatResult imgstat_measure_async(ImgstatPending *pending, const ImagePro *image, void *stream,
                                    ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(pending && image, __func__, err));
    return imgstat_measure_series_async(pending, image, 1, 0, stream, err);
}

ImgstatResult imgstat_measure_series_async(ImgstatPending *pending, const ImagePro *first, size_t n,
                                           int64_t step, void *stream, ImgstatError *err)
{
    const DeviceSeries series = {.n = n, .step = step};
    IMGSTAT_TRY(error_if_null(pending && first, __func__, err));
    IMGSTAT_TRY(image_check_series(first, n, step, false, err));
    const DeviceRecord *const record = &pending->record;
    if (first->sample != record->sample || first->channels != record->channels)
        return error_set(err, IMGSTAT_ERR_ARG, "an image of %u channels of %s, not %u of %s",
                         first->channels, imgstat_sample_name(first->sample), record->channels,
                         imgstat_sample_name(record->sample));
    if (n > pending->n)
        return error_set(err, IMGSTAT_ERR_ARG, "%zu images, where there is room for %zu", n,
                         pending->n);
    forget(pending);
    pending->measured = 0;
    IMGSTAT_TRY(pending->device->ops->measure_async(pending->device, stream, first, &series, record,
                                                    pending->scratch, err));
    pending->measured = n;
    pending->has_nodata = first->has_nodata;
    pending->nodata_key = first->nodata_key;
    pending->bits = first->bits;
    return IMGSTAT_OK;
}

ImgstatDevPtr imgstat_pending_counts(const ImgstatPending *pending, uint16_t channel)
{
    const DeviceRecord *record = &pending->record;
    if (!sample_is_narrow(record->sample) || channel >= record->channels)
        return (ImgstatDevPtr){0};
    const size_t bins = sample_record_bins(record->sample) * sizeof(uint64_t);
    return (ImgstatDevPtr){record->mem.address + record->channels * sizeof(Tally) + channel * bins};
}

/* Whether a record of what was measured can answer, without a further read of the pixels. */
static ImgstatResult check_question(const ImgstatPending *pending, size_t i,
                                    const ImgstatMeasure *how, ImgstatError *err)
{
    const ImgstatSample sample = pending->record.sample;
    IMGSTAT_TRY(result_check(how, err));
    if (how->region.width > 0 || how->region.height > 0)
        return error_set(err, IMGSTAT_ERR_ARG,
                         "the whole image was measured: a region is asked for too late");
    if (how->hash || how->preview > 0 || how->clipped)
        return error_set(err, IMGSTAT_ERR_UNSUPPORTED,
                         "of images on a stream there is no hash, preview or clipped count");
    if (pending->measured == 0)
        return error_set(err, IMGSTAT_ERR_ARG, "nothing has been measured");
    if (i >= pending->measured)
        return error_set(err, IMGSTAT_ERR_ARG, "image %zu of %zu", i, pending->measured);
    if (how->mergeable && !sample_is_narrow(sample))
        return error_set(err, IMGSTAT_ERR_ARG, "on a stream %s samples are not counted for merging",
                         imgstat_sample_name(sample));
    if (result_reads_again(how, sample))
        return error_set(err, IMGSTAT_ERR_ARG, "of %s samples this needs the pixels again",
                         imgstat_sample_name(sample));
    return IMGSTAT_OK;
}

/* Waits for the stream and copies what was measured of a series to host memory, once. */
static ImgstatResult fetch(ImgstatPending *pending, void *stream, ImgstatError *err)
{
    const DeviceOps *const ops = pending->device->ops;
    const size_t bytes = pending->measured * pending->record.mem.bytes;
    if (pending->host)
        return IMGSTAT_OK;
    IMGSTAT_TRY(ops->wait(pending->device, stream, err));
    pending->host = malloc(bytes);
    if (!pending->host)
        return error_memory(err, bytes, "records");
    const ImgstatResult res =
        ops->download(pending->device, pending->host, pending->all, 0, bytes, err);
    if (res != IMGSTAT_OK)
        forget(pending);
    return res;
}

/* Copies what was measured of image i. */
static ImgstatResult fetch_image(ImgstatPending *pending, size_t i, void *stream, Tally *to,
                                 ImgstatError *err)
{
    const DeviceOps *const ops = pending->device->ops;
    const size_t bytes = pending->record.mem.bytes;
    if (pending->measured == 1) {
        IMGSTAT_TRY(ops->wait(pending->device, stream, err));
        return ops->download(pending->device, to, pending->all, 0, bytes, err);
    }
    IMGSTAT_TRY(fetch(pending, stream, err));
    memcpy(to, pending->host + i * bytes, bytes);
    return IMGSTAT_OK;
}

ImgstatResult imgstat_pending_record(ImgstatPending *pending, void *stream,
                                     const ImgstatMeasure *how, ImgstatRecord **out,
                                     ImgstatError *err)
{
    if (out)
        *out = NULL;
    IMGSTAT_TRY(error_if_null(pending && out, __func__, err));
    forget(pending); /* a graph may have measured again */
    return imgstat_pending_record_of(pending, 0, stream, how, out, err);
}

ImgstatResult imgstat_pending_record_of(ImgstatPending *pending, size_t i, void *stream,
                                        const ImgstatMeasure *how, ImgstatRecord **out,
                                        ImgstatError *err)
{
    Record *record;
    if (out)
        *out = NULL;
    IMGSTAT_TRY(error_if_null(pending && out, __func__, err));
    const DeviceRecord *const from = &pending->record;
    how = how ? how : &result_least;
    IMGSTAT_TRY(check_question(pending, i, how, err));
    IMGSTAT_TRY(
        record_reserve(pending->device->cache, from->sample, from->channels, 0, &record, err));
    const ImgstatResult res = fetch_image(pending, i, stream, record->tally, err);
    if (res != IMGSTAT_OK) {
        record_destroy(record);
        return res;
    }
    record_finalize(record, pending->has_nodata, pending->nodata_key);
    const FurtherReads reads = {.cache = pending->device->cache};
    return result_of_image(record, pending->bits, how, reads, out, err);
}
