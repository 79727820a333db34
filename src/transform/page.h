/* SPDX-License-Identifier: MIT */
/* page.h: the transform of one page. */
#ifndef IMGSTAT_TRANSFORM_PAGE_H
#define IMGSTAT_TRANSFORM_PAGE_H

#include "codec/table.h"
#include "transform/file.h"

/* Whether a page is the transparency mask of another page. Masks are copied and never measured. */
bool page_is_mask(const ImgstatPage *page);

/* Finds what an image of a shape is matched to. file: its name; a failure names both files. */
ImgstatResult page_reference(const Pipeline *pipeline, TransformWorker *worker,
                             const TransferShape *shape, const char *file,
                             const MatchReference **out, ImgstatError *err);

/* Measures the page that the decoder has selected, makes its transfer unless the pipeline has one,
 * maps it and writes it. place: role and parent of the output page; the rest of it is not used.
 * made: NULL, or receives the transfer if one was made, which the caller then owns. */
ImgstatResult page_transform(const Pipeline *pipeline, TransformWorker *worker, Decoder *decoder,
                             Encoder *encoder, const EncodePage *place, Transfer **made,
                             ImgstatError *err);

#endif
