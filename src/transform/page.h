/* SPDX-License-Identifier: MIT */
/* page.h: the transform of one page. */
#ifndef IMGSTAT_TRANSFORM_PAGE_H
#define IMGSTAT_TRANSFORM_PAGE_H

#include "codec/encoder.h"
#include "transform/file.h"

/* Whether a page is the transparency mask of another page. Masks are copied and never measured. */
bool page_is_mask(const ImgstatPage *page);

/* Measures the page that the decoder has selected, makes its transfer unless the pipeline has one,
 * maps it and writes it. place: role and parent of the output page; the rest of it is not used.
 * made: NULL, or receives the transfer if one was made, which the caller then owns. */
ImgstatResult page_transform(const Pipeline *pipeline, TransformWorker *worker, Decoder *decoder,
                             Encoder *encoder, const EncodePage *place, Transfer **made,
                             ImgstatError *err);

#endif
