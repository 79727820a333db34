/* SPDX-License-Identifier: MIT */
/* adapt.h: adaptive equalization of a page: CLAHE of every channel but alpha, or of luma. */
#ifndef IMGSTAT_ADAPT_H
#define IMGSTAT_ADAPT_H

#include "clahe.h"
#include "survey.h"

typedef struct Adapt {
    TransferShape shape;
    bool luma;
    uint16_t n; /* one, or one for each channel but alpha */
    Clahe **clahe;
    Transfer *rescale; /* of what stays */
    bool finished;
    Device *device; /* that reads the pixels */
    DevMem there;   /* what it keeps in memory of its own; empty where that is the host's */
} Adapt;

/* Reads the pixels with the device of the bands: extrema, counts, and where the method needs it
 * once more. */
ImgstatResult adapt_create(const ImgstatMethod *method, const TransferShape *shape, Bands *bands,
                           Adapt **out, ImgstatError *err);
void adapt_destroy(Adapt *adapt); /* accepts NULL */
/* Bytes that it takes for such a page, about. */
size_t adapt_bytes(const ImgstatMethod *method, const TransferShape *shape, uint32_t width,
                   uint32_t height);
/* Pixel channel that instance k works on. */
uint16_t adapt_channel(const Adapt *adapt, size_t k);

/* The processor's way. Maps a band; `to` has its geometry and the output type. Any thread. */
ImgstatResult adapt_apply(const Adapt *adapt, const ImagePro *band, ImagePro *to,
                          ImgstatError *err);

#endif
