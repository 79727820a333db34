/* SPDX-License-Identifier: MIT */
/* preview.h: a small copy of an image, made of its rows as they come. */
#ifndef IMGSTAT_RECORD_PREVIEW_H
#define IMGSTAT_RECORD_PREVIEW_H

#include "base/image.h"

typedef struct Preview {
    uint32_t width, height;
    uint16_t channels;
    float *samples; /* interleaved; not a number where no sample is valid */
    /* Of the image that is copied: */
    uint32_t from_height;
    uint32_t next;    /* of the 3 rows of each cell, in order, those that have come */
    uint8_t *count;   /* valid ones in each sample of a cell so far */
    uint32_t *column; /* 3 of each cell in a row */
} Preview;

/* Begins the copy of an image of `width` times `height` pixels, whose larger side becomes at most
 * `side`. */
ImgstatResult preview_create(const ImagePro *like, uint32_t width, uint32_t height, uint32_t side,
                             Preview **out, ImgstatError *err);
void preview_destroy(Preview *preview); /* accepts NULL */
/* Adds the next rows, which are in host memory. */
void preview_add(Preview *preview, const ImagePro *rows);
/* Divides the sums, once all rows have come. */
void preview_finish(Preview *preview);

#endif
