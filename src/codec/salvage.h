/* SPDX-License-Identifier: MIT */
/* salvage.h: rows of damaged pages. */
#ifndef IMGSTAT_CODEC_SALVAGE_H
#define IMGSTAT_CODEC_SALVAGE_H

#include "codec/codec.h"

/* Forgets the lost rows of a page, but not their sum over all pages. */
void salvage_forget(Salvage *salvage);

/* Fills rows from next_row on, which stays, as Codec.read_rows does. Rows that cannot be decoded
 * become nodata, or 0 where the page has none. */
ImgstatResult salvage_read_rows(Decoder *decoder, void *to, size_t pitch, uint32_t rows,
                                ImgstatError *err);

/* Warns of rows that are lost so far. */
void salvage_warn(Decoder *decoder);

#endif
