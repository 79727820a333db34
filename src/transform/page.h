/* SPDX-License-Identifier: MIT */
/* page.h: the transform of one page. */
#ifndef IMGSTAT_TRANSFORM_PAGE_H
#define IMGSTAT_TRANSFORM_PAGE_H

#include "codec/encoder.h"
#include "transform/file.h"
#include "transform/level_maker.h"

/* Whether a page is the transparency mask of another page. Masks are copied and never measured. */
bool page_is_mask(const ImgstatPage *page);

/* Where an output page goes. */
typedef struct PageOutput {
    Encoder *encoder;
    EncodePage place;       /* role, parent and plane; the rest is not used */
    LevelMaker *levels;     /* NULL, or takes the rows that are written */
    uint32_t group, groups; /* as ImgstatMapped has them */
} PageOutput;

/* Measures the page that the decoder has selected, makes its transfer unless the pipeline has one,
 * maps it and writes it. made: NULL, or receives the transfer if one was made, which the caller
 * then owns. */
ImgstatResult page_transform(const Pipeline *pipeline, TransformWorker *worker, Decoder *decoder,
                             const PageOutput *output, Transfer **made, ImgstatError *err);

/* Opens the selected page for reading, if the device has decoded it: then it is kept in the
 * device's memory. Returns false if it is not, or if something is to be done to its pixels that
 * only the processor does. */
bool page_open_there(const TransformWorker *worker, Decoder *decoder, const TransferShape *shape,
                     PageReader *out);

/* Writes a level that was made anew in place of the one that the decoder has selected. */
ImgstatResult page_write_level(const Pipeline *pipeline, TransformWorker *worker, Decoder *decoder,
                               const PageOutput *output, ImgstatError *err);

#endif
