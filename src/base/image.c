/* SPDX-License-Identifier: MIT */
/* image.c: creates images and bands of them. Geometry is checked here alone. */
#define _GNU_SOURCE
#include "base/image.h"

#include "base/sample.h"
#include "base/system_pages.h"

#include <stdlib.h>

/* Rows of images that are created here start at multiples of a cache line. */
enum { ROW_ALIGNMENT = 64 };

bool size_product(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

ImgstatResult image_check_kind(uint16_t channels, ImgstatSample sample, uint8_t bits,
                               ImgstatError *err)
{
    if ((unsigned)sample > IMGSTAT_F64)
        return error_set(err, IMGSTAT_ERR_ARG, "%d is no sample type", (int)sample);
    if (channels == 0)
        return error_set(err, IMGSTAT_ERR_ARG, "an image needs at least one channel");
    if (bits > sample_bits(sample))
        return error_set(err, IMGSTAT_ERR_ARG, "%s samples cannot have %u bits",
                         imgstat_sample_name(sample), bits);
    return IMGSTAT_OK;
}

ImgstatResult image_check_alpha(const ImagePro *image, int16_t alpha, ImgstatError *err)
{
    if (alpha < -1 || alpha >= (int)image->channels)
        return error_set(err, IMGSTAT_ERR_ARG, "alpha is channel %d of an image of %u", alpha,
                         image->channels);
    return IMGSTAT_OK;
}

ImgstatResult image_check(const ImagePro *image, ImgstatError *err)
{
    IMGSTAT_TRY(image_check_kind(image->channels, image->sample, image->bits, err));
    if (image->mask && image->mask_pitch < image->width && image->height > 1)
        return error_set(err, IMGSTAT_ERR_ARG,
                         "a mask pitch of %zu bytes is less than the %u pixels of a row",
                         image->mask_pitch, image->width);
    return IMGSTAT_OK;
}

/* What two images of a series are less apart than, if they overlap. */
static uint64_t image_extent(const ImagePro *image)
{
    const uint64_t row = image_samples_per_row(image) * imgstat_sample_bytes(image->sample);
    return image->height ? (image->height - 1) * (uint64_t)image->pitch + row : 0;
}

ImgstatResult image_check_series(const ImagePro *first, size_t n, int64_t step, bool apart,
                                 ImgstatError *err)
{
    const uint64_t distance = step < 0 ? 0 - (uint64_t)step : (uint64_t)step;
    IMGSTAT_TRY(image_check(first, err));
    if (n <= 1)
        return IMGSTAT_OK;
    if (first->mask)
        return error_set(err, IMGSTAT_ERR_ARG, "images of a series have no mask");
    if (distance % imgstat_sample_bytes(first->sample) != 0)
        return error_set(err, IMGSTAT_ERR_ARG, "a step of %lld bytes is no number of %s samples",
                         (long long)step, imgstat_sample_name(first->sample));
    if (apart && distance < image_extent(first))
        return error_set(err, IMGSTAT_ERR_ARG, "images %lld bytes apart overlap", (long long)step);
    return IMGSTAT_OK;
}

ImgstatResult imgstat_image_wrap(ImgstatMemory memory, int32_t device_id, const void *pixels,
                                 size_t pitch, uint32_t width, uint32_t height, uint16_t channels,
                                 ImgstatSample sample, uint8_t bits, void (*release)(void *),
                                 void *context, ImagePro *out, ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(out, __func__, err));
    *out = (ImagePro){0};
    IMGSTAT_TRY(image_check_kind(channels, sample, bits, err));
    if (memory != IMGSTAT_HOST && memory != IMGSTAT_CUDA && memory != IMGSTAT_PINNED)
        return error_set(err, IMGSTAT_ERR_ARG, "%d is no kind of memory", (int)memory);

    size_t row, bytes;
    if (!size_product(width, channels * imgstat_sample_bytes(sample), &row))
        return error_set(err, IMGSTAT_ERR_ARG, "a row of %u pixels is too large", width);
    if (pitch == 0)
        pitch = row;
    if (pitch < row)
        return error_set(err, IMGSTAT_ERR_ARG, "a pitch of %zu bytes is less than the %zu of a row",
                         pitch, row);
    /* Signed, because differences of addresses are. */
    if (!size_product(pitch, height, &bytes) || bytes > PTRDIFF_MAX)
        return error_set(err, IMGSTAT_ERR_ARG, "%u rows of %zu bytes are too large", height, pitch);
    if (!pixels && row && height)
        return error_set(err, IMGSTAT_ERR_ARG, "an image of %u x %u pixels needs memory", width,
                         height);

    const bool on_host = memory != IMGSTAT_CUDA;
    *out = (ImagePro){
        .memory = memory,
        .device_id = on_host ? 0 : device_id,
        .host = on_host ? (void *)(uintptr_t)pixels : NULL,
        .device.address = on_host ? 0 : (uint64_t)(uintptr_t)pixels,
        .pitch = pitch,
        .width = width,
        .height = height,
        .channels = channels,
        .sample = sample,
        .bits = bits ? bits : (uint8_t)sample_bits(sample),
        .release = release,
        .context = context,
    };
    return IMGSTAT_OK;
}

/* Page by page the system takes longer for a large image than a transform. */
static void use_huge_pages(void *pixels, size_t bytes)
{
    enum { LARGE = 8 << 20 };
    if (bytes >= LARGE)
        system_pages_advise(pixels, bytes, MADV_HUGEPAGE);
}

static ImgstatResult create(uint32_t width, uint32_t height, uint16_t channels,
                            ImgstatSample sample, uint8_t bits, bool zeroed, ImagePro *out,
                            ImgstatError *err)
{
    *out = (ImagePro){0};
    IMGSTAT_TRY(image_check_kind(channels, sample, bits, err));
    size_t row, pitch, bytes;
    if (!size_product(width, channels * imgstat_sample_bytes(sample), &row) ||
        __builtin_add_overflow(row, ROW_ALIGNMENT - 1, &pitch))
        return error_set(err, IMGSTAT_ERR_ARG, "a row of %u pixels is too large", width);
    pitch -= pitch % ROW_ALIGNMENT;
    if (!size_product(pitch, height, &bytes) || bytes > PTRDIFF_MAX - ROW_ALIGNMENT)
        return error_set(err, IMGSTAT_ERR_ARG, "%u rows of %zu bytes are too large", height, pitch);

    /* calloc, not aligned_alloc: large blocks come zeroed from the system without being touched.
     * Alignment is a matter of speed only, and malloc's 16 bytes serve it nearly as well. */
    void *const pixels = zeroed || bytes == 0 ? calloc(bytes ? bytes : 1, 1) : malloc(bytes);
    if (!pixels)
        return error_memory(err, bytes, "pixels");
    use_huge_pages(pixels, bytes);
    if (!zeroed && pitch > row) /* nobody writes the bytes between rows */
        for (size_t y = 0; y < height; y++)
            memset(pixels + y * pitch + row, 0, pitch - row);
    const ImgstatResult res = imgstat_image_wrap(IMGSTAT_HOST, 0, pixels, pitch, width, height,
                                                 channels, sample, bits, free, pixels, out, err);
    if (res != IMGSTAT_OK)
        free(pixels);
    return res;
}

ImgstatResult imgstat_image_create(uint32_t width, uint32_t height, uint16_t channels,
                                   ImgstatSample sample, uint8_t bits, ImagePro *out,
                                   ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(out, __func__, err));
    return create(width, height, channels, sample, bits, true, out, err);
}

ImgstatResult image_create_unset(uint32_t width, uint32_t height, uint16_t channels,
                                 ImgstatSample sample, uint8_t bits, ImagePro *out,
                                 ImgstatError *err)
{
    return create(width, height, channels, sample, bits, false, out, err);
}

void imgstat_image_set_nodata(ImagePro *image, ImgstatValue value)
{
    image->has_nodata = sample_key_of(image->sample, value, &image->nodata_key);
    if (!image->has_nodata)
        image->nodata_key = 0;
}

void imgstat_image_release(ImagePro *image)
{
    if (!image)
        return;
    if (image->release)
        image->release(image->context);
    *image = (ImagePro){0};
}

ImagePro image_band(const ImagePro *image, uint32_t first, uint32_t count)
{
    ImagePro band = *image;
    const size_t offset = first * image->pitch;
    if (band.host)
        band.host = (unsigned char *)band.host + offset;
    if (band.device.address)
        band.device.address += offset;
    if (band.mask)
        band.mask += first * image->mask_pitch;
    band.first_row = image->first_row + first;
    band.height = count;
    band.release = NULL;
    band.context = NULL;
    return band;
}

ImagePro image_part(const ImagePro *image, const ImgstatRegion *region)
{
    ImagePro part = image_band(image, region->y, region->height);
    const size_t offset = region->x * (size_t)image->channels * imgstat_sample_bytes(image->sample);
    if (part.host)
        part.host = (unsigned char *)part.host + offset;
    if (part.device.address)
        part.device.address += offset;
    if (part.mask)
        part.mask += region->x;
    part.first_row = 0;
    part.width = region->width;
    return part;
}

ImgstatResult image_each_band(const ImagePro *image, UseBand use, void *context, ImgstatError *err)
{
    const size_t fit = image->pitch ? IMAGE_BAND_BYTES / image->pitch : image->height;
    const uint32_t most = fit == 0 ? 1 : fit < image->height ? (uint32_t)fit : image->height;
    for (uint32_t y = 0, n; y < image->height; y += n) {
        n = image->height - y < most ? image->height - y : most;
        const ImagePro band = image_band(image, y, n);
        IMGSTAT_TRY(use(context, &band, err));
    }
    return IMGSTAT_OK;
}
