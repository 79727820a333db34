/* SPDX-License-Identifier: MIT */
/* undefined.h: what becomes of samples that are nodata, masked or NaN in an output. */
#ifndef IMGSTAT_TRANSFORM_UNDEFINED_H
#define IMGSTAT_TRANSFORM_UNDEFINED_H

#include "base/thread_pool.h"
#include "codec/encoder.h"
#include "transform/file.h"

/* Undefined samples of a page that a map does not leave as they should be. */
typedef struct Undefined {
    bool any;        /* some need work */
    bool given;      /* the value was asked for */
    int16_t alpha;   /* this channel stays */
    Holes holes;     /* what they become; with `masked` the page has a mask */
    bool named;      /* the output names `nodata`, and not what the input does */
    bool has_nodata; /* the output has a nodata value: `nodata` */
    ImgstatValue nodata;
} Undefined;

/* Sets the hole of the shape of the page that a decoder has selected: the value that undefined
 * samples of its output become where that is not the nodata value itself. */
ImgstatResult undefined_choose(const Pipeline *pipeline, const Decoder *decoder,
                               TransferShape *shape, ImgstatError *err);

/* Returns what is to be done once a page of that shape is mapped. masked: it has a mask. */
Undefined undefined_of(const ImgstatWrite *write, const Decoder *decoder,
                       const TransferShape *shape, const Transfer *transfer, bool masked);

/* Fills undefined samples of a mapped host image. pool: NULL, or threads that help. */
void undefined_fill(const Undefined *undefined, ThreadPool *pool, const ImagePro *from,
                    ImagePro *to);

/* Warns of undefined samples that the output cannot tell from others, or has other values for. */
void undefined_warn(const Undefined *undefined, const Decoder *decoder, const TransferShape *shape,
                    Encoder *encoder);

#endif
