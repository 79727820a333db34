/* SPDX-License-Identifier: MIT */
/* page_mask.h: which pixels of a page count: its own mask, that of another file, its alpha. */
#ifndef IMGSTAT_CODEC_PAGE_MASK_H
#define IMGSTAT_CODEC_PAGE_MASK_H

#include "base/error.h"

typedef struct Decoder Decoder;

/* What a decoder keeps from page to page to read masks. */
typedef struct PageMask PageMask;

/* Whether some pixels of the page selected may not count. Masks themselves have none. */
bool page_is_masked(const Decoder *decoder);

/* Makes the first row of the page selected, which is masked, the next one of page_mask_read. */
ImgstatResult page_mask_begin(Decoder *decoder, ImgstatError *err);

/* Fills the mask of a band, which begins at the next row: width bytes a row, 0 where a pixel does
 * not count. The pixels of the band are read. */
ImgstatResult page_mask_read(Decoder *decoder, ImagePro *band, ImgstatError *err);

/* Returns the bytes that reading the mask of the page selected takes, roughly; 0 without one. */
uint64_t page_mask_bytes(const Decoder *decoder);

/* Accepts NULL. */
void page_mask_destroy(PageMask *mask);

#endif
