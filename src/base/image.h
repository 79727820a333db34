/* SPDX-License-Identifier: MIT */
/* image.h: what the library alone knows of ImagePro: device memory, rows, bands, checks. */
#ifndef IMGSTAT_BASE_IMAGE_H
#define IMGSTAT_BASE_IMAGE_H

#include "base/error.h"

/* Memory of a device. The type has no pointer, so that host code cannot index it. */
typedef struct DevMem {
    uint64_t address;
    size_t bytes;
} DevMem;

/* Returns row y of a host image. */
static inline const unsigned char *image_row(const ImagePro *image, size_t y)
{
    return (const unsigned char *)image->host + y * image->pitch;
}

static inline size_t image_samples_per_row(const ImagePro *image)
{
    return (size_t)image->width * image->channels;
}

/* Multiplies. Returns false on overflow. */
bool size_product(size_t a, size_t b, size_t *out);

/* Fails with IMGSTAT_ERR_ARG unless channels > 0, sample is a type, and bits fit it. */
ImgstatResult image_check_kind(uint16_t channels, ImgstatSample sample, uint8_t bits,
                               ImgstatError *err);

/* Fails with IMGSTAT_ERR_ARG unless alpha is a channel of the image, or -1. */
ImgstatResult image_check_alpha(const ImagePro *image, int16_t alpha, ImgstatError *err);

/* Fails with IMGSTAT_ERR_ARG if the image is what a failed call leaves, without channels, or has a
 * mask whose rows overlap. */
ImgstatResult image_check(const ImagePro *image, ImgstatError *err);

/* Checks the first image of a series of n, `step` bytes apart. apart: no two of them may overlap.
 */
ImgstatResult image_check_series(const ImagePro *first, size_t n, int64_t step, bool apart,
                                 ImgstatError *err);

/* Works as imgstat_image_create, but does not zero the samples: the caller writes every sample
 * before it reads one. */
ImgstatResult image_create_unset(uint32_t width, uint32_t height, uint16_t channels,
                                 ImgstatSample sample, uint8_t bits, ImagePro *out,
                                 ImgstatError *err);

/* Returns the band of rows [first, first + count). It shares the memory of `image` and owns
 * nothing.
 */
ImagePro image_band(const ImagePro *image, uint32_t first, uint32_t count);

/* Whether a region has pixels, all of them within an image of that size. */
static inline bool region_is_within(const ImgstatRegion *region, uint32_t width, uint32_t height)
{
    return region->width > 0 && region->width <= width && region->x <= width - region->width &&
           region->height > 0 && region->height <= height && region->y <= height - region->height;
}

/* Returns the part of the image that lies in a region, as an image of that size. It shares the
 * memory of `image` and owns nothing. */
ImagePro image_part(const ImagePro *image, const ImgstatRegion *region);

/* Receives one band of an image. An error ends the loop over the bands. */
typedef ImgstatResult (*UseBand)(void *context, const ImagePro *band, ImgstatError *err);

/* Bytes of the bands of image_each_band, about. Pixels that are derived from a kept page for one
 * read, such as luma, take no more, and stay in the cache until they are read. */
enum { IMAGE_BAND_BYTES = 16 << 20 };

/* Calls use with the bands of a host image, in order. Returns the first error. */
ImgstatResult image_each_band(const ImagePro *image, UseBand use, void *context, ImgstatError *err);

#endif
