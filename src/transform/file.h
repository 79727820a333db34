/* SPDX-License-Identifier: MIT */
/* file.h: one file: every page is measured, given its transfer, mapped and written. */
#ifndef IMGSTAT_TRANSFORM_FILE_H
#define IMGSTAT_TRANSFORM_FILE_H

#include "codec/codec.h"
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

/* Transforms the pages of an open file that the job asks for. made: NULL, or receives the transfer,
 * which the caller then owns, if exactly one was made; else NULL. */
ImgstatResult pipeline_run(const Pipeline *pipeline, TransformWorker *worker, ImgstatFile *file,
                           const ImgstatJob *job, Transfer **made, ImgstatError *err);

#endif
