/* SPDX-License-Identifier: MIT */
/* adapt.h: adaptive equalization of a page: CLAHE of every channel but alpha, or of luma. */
#ifndef IMGSTAT_ADAPT_H
#define IMGSTAT_ADAPT_H

#include "clahe.h"
#include "pool.h"
#include "survey.h"

typedef struct Adapt {
    TransferShape shape;
    bool luma;
    uint16_t n; /* one, or one for each channel but alpha */
    Clahe **clahe;
    Transfer *rescale; /* of what stays */
} Adapt;

/* Reads the pixels: extrema, counts, and where the method needs it once more. */
ImgstatResult adapt_create(const ImgstatMethod *method, const TransferShape *shape, Bands *bands,
                           Pool *pool, Adapt **out, ImgstatError *err);
void adapt_destroy(Adapt *adapt); /* accepts NULL */
/* Bytes that it takes for such a page, about. */
size_t adapt_bytes(const ImgstatMethod *method, const TransferShape *shape);
/* Maps a band; `to` has its geometry and the output type. Any thread. */
ImgstatResult adapt_apply(const Adapt *adapt, const ImagePro *band, ImagePro *to,
                          ImgstatError *err);

#endif
