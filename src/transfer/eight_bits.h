/* SPDX-License-Identifier: MIT */
/* eight_bits.h: a transfer of 16-bit samples for images of 8 bits. */
#ifndef IMGSTAT_TRANSFER_EIGHT_BITS_H
#define IMGSTAT_TRANSFER_EIGHT_BITS_H

#include "transfer/transfer.h"

/* Creates the transfer of u8 samples that maps v as `wide`, of u16 samples without nodata, maps the
 * sample in its place on the full scale. */
ImgstatResult transfer_eight_bits(BufferCache *buffers, const Transfer *wide, Transfer **out,
                                  ImgstatError *err);

#endif
