/* SPDX-License-Identifier: MIT */
/* file.h: one file: every page is measured, given its transfer, mapped and written. */
#ifndef IMGSTAT_TRANSFORM_FILE_H
#define IMGSTAT_TRANSFORM_FILE_H

#include "codec/table.h"
#include "transform/reference.h"
#include "transform/worker.h"

/* How files are transformed. */
typedef struct Pipeline {
    const ImgstatMethod *method;
    const Transfer *transfer; /* given; NULL: made from each page */
    Reference *reference;     /* for IMGSTAT_MATCH */
    const ImgstatWrite *write;
    uint64_t memory; /* bytes for pixels and codecs of all files at work */
} Pipeline;

/* Options of the encoder of a worker that uses so many threads. */
EncodeOptions pipeline_encode_options(const Pipeline *pipeline, const TransformWorker *worker,
                                      unsigned threads);

/* The output's format; NULL: no format has the name that the pipeline asks for. */
const EncodeFormat *pipeline_format(const Pipeline *pipeline, const ImgstatJob *job,
                                    const Decoder *decoder);

/* Transforms all pages, or the one asked for, of an open file. made: NULL, or takes the transfer if
 * exactly one was made here, else NULL; the caller's then. */
ImgstatResult pipeline_run(const Pipeline *pipeline, TransformWorker *worker, ImgstatFile *file,
                           const ImgstatJob *job, Transfer **made, ImgstatError *err);

#endif
