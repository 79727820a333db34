/* SPDX-License-Identifier: MIT */
/* async.c: the transform slots of the CPU device: work is done on return. */
#include "cpu/cpu.h"
#include "transfer/transfer.h"

#include <stdlib.h>

struct DeviceTransform {
    Device *device;
    ImgstatMethod method;
    TransferShape shape;
};

ImgstatResult cpu_transform_create(Device *device, const ImgstatMethod *method,
                                   const TransferShape *shape, uint64_t pixels,
                                   DeviceTransform **out, ImgstatError *err)
{
    (void)pixels;
    *out = NULL;
    IMGSTAT_TRY(transfer_check_async(method, shape, err));
    DeviceTransform *const transform = malloc(sizeof *transform);
    if (!transform)
        return error_memory(err, sizeof *transform, "a transform");
    *transform = (DeviceTransform){.device = device, .method = *method, .shape = *shape};
    *out = transform;
    return IMGSTAT_OK;
}

void cpu_transform_destroy(DeviceTransform *transform)
{
    free(transform);
}

/* Counts the samples of an image of the shape, or its luma. */
static ImgstatResult count_image(const DeviceTransform *transform, const ImagePro *image,
                                 Record **out, ImgstatError *err)
{
    const TransferShape *const shape = &transform->shape;
    const bool luma = transfer_channels(&transform->method, shape) == IMGSTAT_LUMA;
    const PixelView view = {.channels = luma ? VIEW_LUMA : VIEW_EACH};
    const PixelSource source = pixels_of(image);
    Device *const device = transform->device;
    DeviceRecord there = {.sample = shape->sample, .channels = luma ? 1 : shape->channels};
    const size_t bytes = record_bytes(there.sample, there.channels, 0);
    ImgstatResult res = record_create(device->cache, there.sample, there.channels, 0, out, err);
    if (res == IMGSTAT_OK)
        res = device->ops->alloc(device, bytes, &there.mem, err);
    if (res == IMGSTAT_OK)
        res = cpu_measure(device, &source, view, &there, err);
    if (res == IMGSTAT_OK)
        res = device->ops->download(device, (*out)->tally, there.mem, 0, bytes, err);
    if (res == IMGSTAT_OK)
        record_finalize(*out, shape->has_nodata && !luma, shape->nodata_key);
    device->ops->release(device, &there.mem);
    return res;
}

static ImgstatResult transform_image(DeviceTransform *transform, const ImagePro *from, ImagePro *to,
                                     ImgstatError *err)
{
    Record *record = NULL;
    Transfer *transfer = NULL;
    ImgstatResult res = transfer_check_shape(&transform->shape, from, err);
    if (res == IMGSTAT_OK)
        res = count_image(transform, from, &record, err);
    if (res == IMGSTAT_OK)
        res = transfer_create_counts(&transform->method, &transform->shape, record, NULL, NULL,
                                     &transfer, err);
    if (res == IMGSTAT_OK)
        transfer->holes = transfer_holes_in_memory(transfer, &transform->shape);
    if (res == IMGSTAT_OK)
        res = cpu_apply(transform->device, transfer, from, transform->shape.alpha, to, err);
    transfer_destroy(transfer);
    record_destroy(record);
    return res;
}

ImgstatResult cpu_transform_async(DeviceTransform *transform, void *stream, const ImagePro *from,
                                  ImagePro *to, const DeviceSeries *series, ImgstatError *err)
{
    (void)stream;
    for (size_t i = 0; i < series->n; i++) {
        const ImagePro image = image_of_series(from, i, series->step);
        ImagePro mapped = image_of_series(to, i, series->to_step);
        IMGSTAT_TRY(transform_image(transform, &image, &mapped, err));
    }
    return IMGSTAT_OK;
}
