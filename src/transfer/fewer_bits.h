/* SPDX-License-Identifier: MIT */
/* fewer_bits.h: a transfer for images with fewer bits than those it was made from. */
#ifndef IMGSTAT_TRANSFER_FEWER_BITS_H
#define IMGSTAT_TRANSFER_FEWER_BITS_H

#include "transfer/transfer.h"

/* Creates the transfer of unsigned samples of `bits` bits. It maps v as `wide` maps the sample at
 * the same place of the full scale; wide->from_bits is a depth that both have in common
 * (record/widen.h). `wide` has the nodata value 0, or none. */
ImgstatResult transfer_fewer_bits(const Transfer *wide, unsigned bits, Transfer **out,
                                  ImgstatError *err);

#endif
