/* SPDX-License-Identifier: MIT */
/* clamped.h: how many samples a transfer limits to the ends of its output range. */
#ifndef IMGSTAT_TRANSFER_CLAMPED_H
#define IMGSTAT_TRANSFER_CLAMPED_H

#include "transfer/transfer.h"

/* Whether the transfer can limit samples, and its parameters are known. */
bool transfer_clamps(const Transfer *transfer);

/* Adds the samples of a band in host memory that the transfer maps, and those that it limits; in
 * luma mode, pixels. alpha: index of the channel that is not mapped, or -1. */
void transfer_count_clamped(const Transfer *transfer, const ImagePro *band, int16_t alpha,
                            ImgstatClamped *counts);

#endif
