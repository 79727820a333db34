/* SPDX-License-Identifier: MIT */
/* extras.h: what is made of the rows of images while they are measured: a hash, a preview, and the
 * number of clipped pixels. */
#ifndef IMGSTAT_MEASURE_EXTRAS_H
#define IMGSTAT_MEASURE_EXTRAS_H

#include "record/image_record.h"

typedef struct Extras {
    bool wanted;      /* rows are needed in their order */
    SampleHash *hash; /* NULL: none is wanted */
    uint32_t side;    /* of the preview; 0: none is wanted */
    Preview *preview; /* of the first image */
    bool counts;      /* clipped pixels, of all images */
    int32_t alpha;    /* the channel that is no colour; -1: none */
    Clipped clipped;
} Extras;

ImgstatResult extras_create(const ImgstatMeasure *how, Extras *out, ImgstatError *err);
void extras_release(Extras *extras);
/* Forgets the images so far. */
void extras_reset(Extras *extras);
/* Begins the next image, of `width` times `height` pixels of the type of `like`. alpha: its alpha
 * channel, or -1. */
ImgstatResult extras_begin(Extras *extras, const ImagePro *like, uint32_t width, uint32_t height,
                           int32_t alpha, ImgstatError *err);
/* Adds the next rows of the image, which are in host memory. */
void extras_add(Extras *extras, const ImagePro *rows);
/* Hands them over to the record of the images. */
void extras_keep(Extras *extras, ImgstatRecord *record);

#endif
