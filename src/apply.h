/* SPDX-License-Identifier: MIT */
/* apply.h: a transfer over the pixels of host memory. */
#ifndef IMGSTAT_APPLY_H
#define IMGSTAT_APPLY_H

#include "image.h"
#include "transfer.h"

/* Whether `transfer` fits an image: sample type and number of channels. */
ImgstatResult apply_check(const Transfer *transfer, const ImagePro *from, int16_t alpha,
                          ImgstatError *err);

/* Maps a whole image or a band of it. `to` has from's geometry and the transfer's output type; it
 * may be `from` itself where the types are equal. Undefined and masked samples and alpha keep their
 * values. */
ImgstatResult transfer_apply(const Transfer *transfer, const ImagePro *from, int16_t alpha,
                             ImagePro *to, ImgstatError *err);

/* The luma of a band of at least three channels: one channel of the same sample type, made here,
 * with a mask that leaves out pixels with an undefined or masked colour sample. Any device can
 * measure it. */
ImgstatResult luma_plane(const ImagePro *from, ImagePro *out, ImgstatError *err);

/* Gives the colours of `from` a new luma: `luma` is one channel of to's type, and where its mask is
 * 0 a pixel stays as it is. range: of the colours. rescale: a transfer whose rescale serves what
 * stays. */
ImgstatResult luma_apply(const ImagePro *from, const ImagePro *luma, const MapRange *range,
                         const Transfer *rescale, ImagePro *to, ImgstatError *err);

#endif
