/* SPDX-License-Identifier: MIT */
/* fewer_bits.h: a transfer for images of fewer bits than it was made of. */
#ifndef IMGSTAT_TRANSFER_FEWER_BITS_H
#define IMGSTAT_TRANSFER_FEWER_BITS_H

#include "transfer/transfer.h"

/* Creates the transfer of unsigned samples of `bits` that maps v as `wide` maps the sample in its
 * place on the full scale: wide->from_bits is a depth that both have in common (record/widen.h).
 * The nodata value of `wide` is 0, or there is none. */
ImgstatResult transfer_fewer_bits(BufferCache *buffers, const Transfer *wide, unsigned bits,
                                  Transfer **out, ImgstatError *err);

#endif
