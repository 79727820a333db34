/* SPDX-License-Identifier: MIT */
/* clahe_page.h: adaptive equalization of a page, which is read band by band. */
#ifndef IMGSTAT_TRANSFORM_CLAHE_PAGE_H
#define IMGSTAT_TRANSFORM_CLAHE_PAGE_H

#include "transfer/clahe.h"
#include "transform/transfer_source.h"

/* Reads the pixels with the device of the bands: once for extrema, once for counts, and once more
 * where the method needs it. */
ImgstatResult clahe_page_create(const ImgstatMethod *method, const TransferShape *shape,
                                PageReader *reader, ClahePage **out, ImgstatError *err);

/* Frees a page, and the memory that `device`, which created it, holds for it. Accepts NULL. */
void clahe_page_destroy(Device *device, ClahePage *page);

/* Approximate bytes that a ClahePage holds for a page of that size; SIZE_MAX / 4 if they overflow,
 * so that a caller can add to them. */
size_t clahe_page_bytes(const ImgstatMethod *method, const TransferShape *shape, uint32_t width,
                        uint32_t height);

#endif
