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
    const Transfer
        *transfer;        /* given, or of all files: a set. NULL: made from each group of pages */
    bool saved;           /* the transfer is given: it says what undefined samples become */
    ImgstatGrouping by;   /* as ImgstatBatch.together, within a file */
    Reference *reference; /* for IMGSTAT_MATCH */
    const ImgstatWrite *write;
    uint64_t memory; /* bytes for pixels and codecs of all files at work */
} Pipeline;

/* Transforms the pages of an open file that the job asks for. made: NULL, or receives the transfer,
 * which the caller then owns, if exactly one was made; else NULL. */
ImgstatResult pipeline_run(const Pipeline *pipeline, TransformWorker *worker, ImgstatFile *file,
                           const ImgstatJob *job, Transfer **made, ImgstatError *err);

/* The largest page that is decoded once and kept, of Pipeline.memory `memory`. */
static inline uint64_t kept_page_bytes(uint64_t memory)
{
    return memory / 4;
}

/* The keys of wide samples that are sorted at a time. */
static inline size_t sort_bytes(uint64_t memory)
{
    return (size_t)(memory / 8);
}

/* The largest strip that is compressed: libtiff holds it six times. The default memory has the
 * largest of any (tiff/output_layout.c). */
static inline size_t strip_bytes(uint64_t memory)
{
    return (size_t)(memory / 32);
}

/* ---- transform/page_memory.c ---- */

/* The memory that transforming a page takes. */
typedef struct PageMemory {
    uint64_t bytes; /* upper bound of the allocations */
    bool keep;      /* the page is decoded once; its pixels are part of `bytes` */
} PageMemory;

/* Estimates the memory of the page that the decoder has selected, for decoder->options.threads. */
PageMemory page_memory(const Pipeline *pipeline, const Decoder *decoder);

#endif
