/* SPDX-License-Identifier: MIT */
/* image.h: ImagePro inside the library: device memory, rows, bands. */
#ifndef IMGSTAT_BASE_IMAGE_H
#define IMGSTAT_BASE_IMAGE_H

#include "base/error.h"

/* Memory of a device. A distinct type without a pointer: host code cannot index it. */
typedef struct DevMem {
    uint64_t address;
    size_t bytes;
} DevMem;

/* Row y of a host image. */
static inline const unsigned char *image_row(const ImagePro *image, size_t y)
{
    return (const unsigned char *)image->host + y * image->pitch;
}

static inline size_t image_samples_per_row(const ImagePro *image)
{
    return (size_t)image->width * image->channels;
}

/* Overflow-checked products; false on overflow. */
bool size_product(size_t a, size_t b, size_t *out);

/* IMGSTAT_ERR_ARG unless channels > 0, sample is a type, and bits fit it. */
ImgstatResult image_check_kind(uint16_t channels, ImgstatSample sample, uint8_t bits,
                               ImgstatError *err);
/* IMGSTAT_ERR_ARG unless alpha is a channel of the image, or -1. */
ImgstatResult image_check_alpha(const ImagePro *image, int16_t alpha, ImgstatError *err);
/* IMGSTAT_ERR_ARG if the image has a mask whose rows overlap. */
ImgstatResult image_check_mask(const ImagePro *image, ImgstatError *err);

/* imgstat_image_create without zeroing: the caller writes every sample before it reads one. */
ImgstatResult image_create_unset(uint32_t width, uint32_t height, uint16_t channels,
                                 ImgstatSample sample, uint8_t bits, ImagePro *out,
                                 ImgstatError *err);

/* The band of rows [first, first + count): shares the memory of `image` and owns nothing. */
ImagePro image_band(const ImagePro *image, uint32_t first, uint32_t count);

/* Receives one band of an image; an error ends the loop over bands. */
typedef ImgstatResult (*UseBand)(void *context, const ImagePro *band, ImgstatError *err);

/* Of pixels that are made into others for one read, luma for one: those of a page that is kept do
 * not get as much again, and are in the cache when they are read. */
enum { IMAGE_PIECE_BYTES = 16 << 20 };
/* Calls use for every row of a host image once, in order, by pieces of about that size; ends at the
 * first error. */
ImgstatResult image_pieces(const ImagePro *image, UseBand use, void *context, ImgstatError *err);

#endif
