/* SPDX-License-Identifier: MIT */
/* check.h: whether a transfer, or a method without waiting, fits the images that it is given. */
#ifndef IMGSTAT_TRANSFER_CHECK_H
#define IMGSTAT_TRANSFER_CHECK_H

#include "transfer/transfer.h"

/* Whether the sample type, the depth and the channels of an image are those of `transfer`. */
ImgstatResult apply_check(const Transfer *transfer, const ImagePro *from, int16_t alpha,
                          ImgstatError *err);
/* Whether `to` has the geometry of `from`, samples of type `sample`, and no other type in place. */
ImgstatResult apply_check_shapes(const ImagePro *from, ImgstatSample sample, const ImagePro *to,
                                 ImgstatError *err);
/* Whether both images are in host memory and pass apply_check_shapes. */
ImgstatResult apply_check_pair(const ImagePro *from, ImgstatSample sample, const ImagePro *to,
                               ImgstatError *err);

/* Whether a device can follow a method from pixels to pixels without the host: samples of at most
 * 16 bits; stretch, percentile and equalize by imgstat's own formulas. */
ImgstatResult chain_check(const ImgstatMethod *method, const TransferShape *shape,
                          ImgstatError *err);
/* Whether an image is of the kind that the shape describes. */
ImgstatResult chain_check_image(const TransferShape *shape, const ImagePro *image,
                                ImgstatError *err);

#endif
