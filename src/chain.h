/* SPDX-License-Identifier: MIT */
/* chain.h: which methods a device can follow from pixels to pixels without the host. */
#ifndef IMGSTAT_CHAIN_H
#define IMGSTAT_CHAIN_H

#include "transfer.h"

/* Samples of at most 16 bits; stretch, percentile and equalize by imgstat's own formulas: of these
 * the counts alone tell the transfer. */
ImgstatResult chain_check(const ImgstatMethod *method, const TransferShape *shape,
                          ImgstatError *err);
/* Whether an image is of the kind that the shape describes. */
ImgstatResult chain_check_image(const TransferShape *shape, const ImagePro *image,
                                ImgstatError *err);

#endif
