/* SPDX-License-Identifier: MIT */
/* page_mask.h: which pixels of a page count, by its own mask, a mask in another file, or its alpha.
 */
#ifndef IMGSTAT_CODEC_PAGE_MASK_H
#define IMGSTAT_CODEC_PAGE_MASK_H

#include "base/error.h"

typedef struct Decoder Decoder;

/* What a decoder keeps from page to page for reading masks. */
typedef struct PageMask PageMask;

/* Returns whether the page selected has a mask. Pages that are masks have none. */
bool page_is_masked(const Decoder *decoder);

/* Begins reading the mask of the page selected: page_mask_read continues with its first row. */
ImgstatResult page_mask_begin(Decoder *decoder, ImgstatError *err);

/* Fills the mask of a band, which begins at the next row: width bytes a row, 0 where a pixel does
 * not count. The pixels of the band have been read. */
ImgstatResult page_mask_read(Decoder *decoder, ImagePro *band, ImgstatError *err);

/* Returns how much memory reading the mask of the page selected takes, about. 0: it has no mask. */
uint64_t page_mask_bytes(const Decoder *decoder);

/* Accepts NULL. */
void page_mask_destroy(PageMask *mask);

#endif
