/* SPDX-License-Identifier: MIT */
/* async.c: measuring on the caller's stream, without waiting. */
#include "imgstat_async.h"

#include "device/device.h"
#include "measure/result.h"

#include <stdlib.h>

struct ImgstatPending {
    Device *device;
    DeviceRecord record;
    DevMem scratch;
    bool measured; /* and of which nodata value and bits */
    bool has_nodata;
    uint64_t nodata_key;
    uint8_t bits;
};

void imgstat_pending_destroy(ImgstatPending *pending)
{
    if (!pending)
        return;
    pending->device->ops->release(pending->device, &pending->record.mem);
    pending->device->ops->release(pending->device, &pending->scratch);
    free(pending);
}

ImgstatResult imgstat_pending_create(ImgstatDevice *device, ImgstatSample sample, uint16_t channels,
                                     ImgstatPending **out, ImgstatError *err)
{
    if (out)
        *out = NULL;
    IMGSTAT_TRY(error_if_null(device && out, __func__, err));
    IMGSTAT_TRY(image_check_kind(channels, sample, 0, err));
    ImgstatPending *pending = calloc(1, sizeof *pending);
    if (!pending)
        return error_memory(err, sizeof *pending, "a measurement");
    const DeviceOps *const ops = device->ops;
    pending->device = device;
    pending->record = (DeviceRecord){.sample = sample, .channels = channels};
    ImgstatResult res =
        ops->alloc(device, record_bytes(sample, channels, 0), &pending->record.mem, err);
    if (res == IMGSTAT_OK)
        res = ops->alloc(device, ops->async_bytes(sample, channels), &pending->scratch, err);
    if (res == IMGSTAT_OK) /* zeroed before another stream uses it */
        res = ops->wait(device, err);
    if (res != IMGSTAT_OK) {
        imgstat_pending_destroy(pending);
        return res;
    }
    *out = pending;
    return IMGSTAT_OK;
}

ImgstatResult imgstat_measure_async(ImgstatPending *pending, const ImagePro *image, void *stream,
                                    ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(pending && image, __func__, err));
    IMGSTAT_TRY(image_check_mask(image, err));
    const DeviceRecord *record = &pending->record;
    if (image->sample != record->sample || image->channels != record->channels)
        return error_set(err, IMGSTAT_ERR_ARG, "an image of %u channels of %s, not %u of %s",
                         image->channels, imgstat_sample_name(image->sample), record->channels,
                         imgstat_sample_name(record->sample));
    IMGSTAT_TRY(pending->device->ops->measure_async(pending->device, stream, image, record,
                                                    pending->scratch, err));
    pending->measured = true;
    pending->has_nodata = image->has_nodata;
    pending->nodata_key = image->nodata_key;
    pending->bits = image->bits;
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

/* What a record alone cannot tell is not asked for, so nothing is read. */
static ImgstatResult read_nothing(void *context, const ReadRequest *request, ImgstatError *err)
{
    (void)context;
    (void)request;
    return error_set(err, IMGSTAT_ERR_ARG, "this would read the pixels again");
}

ImgstatResult imgstat_pending_record(ImgstatPending *pending, void *stream,
                                     const ImgstatMeasure *how, ImgstatRecord **out,
                                     ImgstatError *err)
{
    if (out)
        *out = NULL;
    IMGSTAT_TRY(error_if_null(pending && out, __func__, err));
    const DeviceRecord *from = &pending->record;
    const DeviceOps *const ops = pending->device->ops;
    Record *record = NULL;
    how = how ? how : &result_least;
    IMGSTAT_TRY(result_check(how, err));
    if (how->region.width > 0 || how->region.height > 0)
        return error_set(err, IMGSTAT_ERR_ARG,
                         "the whole image was measured: a region is asked for too late");
    if (how->hash || how->preview > 0 || how->clipped)
        return error_set(err, IMGSTAT_ERR_UNSUPPORTED,
                         "of images on a stream there is no hash, preview or clipped count");
    if (!pending->measured)
        return error_set(err, IMGSTAT_ERR_ARG, "nothing has been measured");
    if (how->mergeable && !sample_is_narrow(from->sample))
        return error_set(err, IMGSTAT_ERR_ARG, "on a stream %s samples are not counted for merging",
                         imgstat_sample_name(from->sample));
    if (result_reads_again(how, from->sample))
        return error_set(err, IMGSTAT_ERR_ARG, "of %s samples this needs the pixels again",
                         imgstat_sample_name(from->sample));
    IMGSTAT_TRY(ops->wait_async(pending->device, stream, err));
    IMGSTAT_TRY(
        record_create(pending->device->cache, from->sample, from->channels, 0, &record, err));
    const ImgstatResult res =
        ops->download(pending->device, record->tally, from->mem, 0, from->mem.bytes, err);
    if (res != IMGSTAT_OK) {
        record_destroy(record);
        return res;
    }
    record_finalize(record, pending->has_nodata, pending->nodata_key);
    const FurtherReads reads = {.read = read_nothing, .cache = pending->device->cache};
    return result_of_image(record, pending->bits, how, reads, out, err);
}
