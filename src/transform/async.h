/* SPDX-License-Identifier: MIT */
/* async.h: which methods a device can follow from pixels to pixels without the host. */
#ifndef IMGSTAT_TRANSFORM_ASYNC_H
#define IMGSTAT_TRANSFORM_ASYNC_H

#include "transfer/transfer.h"

/* Samples of at most 16 bits; stretch, percentile and equalize by imgstat's own formulas: of these
 * the counts alone tell the transfer. */
ImgstatResult chain_check(const ImgstatMethod *method, const TransferShape *shape,
                          ImgstatError *err);
/* Whether an image is of the kind that the shape describes. */
ImgstatResult chain_check_image(const TransferShape *shape, const ImagePro *image,
                                ImgstatError *err);

#endif
