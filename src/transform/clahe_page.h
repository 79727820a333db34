/* SPDX-License-Identifier: MIT */
/* clahe_page.h: adaptive equalization of a page: CLAHE of every channel but alpha, or of luma. */
#ifndef IMGSTAT_TRANSFORM_CLAHE_PAGE_H
#define IMGSTAT_TRANSFORM_CLAHE_PAGE_H

#include "transfer/clahe.h"
#include "transform/transfer_source.h"

typedef struct ClahePage {
    TransferShape shape;
    bool luma;
    uint16_t n; /* one, or one for each channel but alpha */
    Clahe **clahe;
    Transfer *rescale; /* of what stays */
    bool finished;
    Device *device; /* that reads the pixels */
    DevMem there;   /* what it keeps in memory of its own; empty where that is the host's */
} ClahePage;

/* Reads the pixels with the device of the bands: extrema, counts, and where the method needs it
 * once more. */
ImgstatResult clahe_page_create(const ImgstatMethod *method, const TransferShape *shape,
                                PageReader *reader, ClahePage **out, ImgstatError *err);
void clahe_page_destroy(ClahePage *adapt); /* accepts NULL */
/* Bytes that it takes for such a page, about. */
size_t clahe_page_bytes(const ImgstatMethod *method, const TransferShape *shape, uint32_t width,
                        uint32_t height);
/* Pixel channel that instance k works on. */
uint16_t clahe_page_channel(const ClahePage *adapt, size_t k);

/* The processor's way. Maps a band; `to` has its geometry and the output type. Any thread. */
ImgstatResult clahe_page_apply(const ClahePage *adapt, const ImagePro *band, ImagePro *to,
                               ImgstatError *err);

#endif
