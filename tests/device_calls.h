/* SPDX-License-Identifier: MIT */
/* device_calls.h: one device operation at a time, of images in memory. */
#ifndef TESTS_DEVICE_CALLS_H
#define TESTS_DEVICE_CALLS_H

#include "device/device.h"

/* Measures every channel of n images into a record each. */
static inline ImgstatResult device_measure(Device *device, const ImagePro *images,
                                           const DeviceRecord *records, size_t n, ImgstatError *err)
{
    const PixelSource source = {.images = images, .n = n};
    return device->ops->measure(device, &source, (PixelView){.alpha = -1}, records, err);
}

/* Measures the luma of an image. */
static inline ImgstatResult device_measure_luma(Device *device, const ImagePro *image,
                                                const DeviceRecord *record, ImgstatError *err)
{
    const PixelSource source = pixels_of(image);
    return device->ops->measure(device, &source, (PixelView){.channels = VIEW_LUMA}, record, err);
}

/* Reads every channel of an image. */
static inline ImgstatResult device_read(Device *device, const ImagePro *image,
                                        const ReadRequest *request, ImgstatError *err)
{
    const PixelSource source = pixels_of(image);
    return device->ops->read(device, &source, (PixelView){.alpha = -1}, request, err);
}

/* Reads an image for n counts by digits. */
static inline ImgstatResult device_count_digits(Device *device, const ImagePro *image,
                                                DigitCount *counts, size_t n, ImgstatError *err)
{
    const ReadRequest request = {.digits = counts, .n_digits = n};
    return device_read(device, image, &request, err);
}

/* Reads an image for n counts by ranges. */
static inline ImgstatResult device_count_range(Device *device, const ImagePro *image,
                                               RangeCount *counts, size_t n, ImgstatError *err)
{
    const ReadRequest request = {.ranges = counts, .n_ranges = n};
    return device_read(device, image, &request, err);
}

/* Reads an image for n gathers. */
static inline ImgstatResult device_gather(Device *device, const ImagePro *image, KeyGather *gathers,
                                          size_t n, ImgstatError *err)
{
    const ReadRequest request = {.gathers = gathers, .n_gathers = n};
    return device_read(device, image, &request, err);
}

/* Reads an image for the keys of a channel, which the sort that has begun takes. */
static inline ImgstatResult device_sort_add(Device *device, const ImagePro *image, uint16_t channel,
                                            ImgstatError *err)
{
    const ReadRequest request = {.sort = &channel};
    return device_read(device, image, &request, err);
}

/* Reads an image for power sums of every channel. */
static inline ImgstatResult device_central(Device *device, const ImagePro *image,
                                           const double *center, Central *out, ImgstatError *err)
{
    const ReadRequest request = {.center = center, .central = out};
    return device_read(device, image, &request, err);
}

#endif
