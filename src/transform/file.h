/* SPDX-License-Identifier: MIT */
/* file.h: one file: every page is measured, given its transfer, mapped and written. */
#ifndef IMGSTAT_TRANSFORM_FILE_H
#define IMGSTAT_TRANSFORM_FILE_H

#include "base/thread_pool.h"
#include "codec/encoder.h"
#include "measure/page_reader.h"
#include "transform/transfer_source.h"

/* What a worker keeps from file to file. */
typedef struct TransformWorker {
    Device *device;
    ThreadPool *pool;
    BandMemory in, indices, out;
    Deflaters *deflaters;
    Transfer *with_nodata; /* the last that transfer_with_nodata made; NULL: none yet */
    TransferId *given;     /* of the one that it was made from */
    size_t strip_bytes;    /* of strips that are compressed, of the file at hand */
    uint64_t share; /* of the batch's memory, for the file at hand and for what is kept after it */
    Cancel cancel;
} TransformWorker;

/* counter_bytes: as Pipeline has it. */
ImgstatResult worker_open(const char *device, unsigned threads, size_t counter_bytes, Cancel cancel,
                          TransformWorker *out, ImgstatError *err);
void worker_close(TransformWorker *worker); /* contents only */
/* Frees what the worker keeps beyond that many bytes; back to the system where it is to be little.
 */
void worker_trim(TransformWorker *worker, uint64_t bytes);
/* For the file at hand, whose decoder has as many. */
void worker_use_threads(TransformWorker *worker, unsigned threads);

/* The file that others are matched to, measured when it is first asked for. Threads share it. */
typedef struct Reference Reference;

ImgstatResult reference_create(const char *path, uint32_t page, const ImgstatOpen *how,
                               size_t memory, Reference **out, ImgstatError *err);
void reference_destroy(Reference *reference);           /* accepts NULL */
Decoder *reference_decoder(const Reference *reference); /* its page selected */
/* What images of that shape are matched to; belongs to the reference. */
ImgstatResult reference_get(Reference *reference, TransformWorker *worker,
                            const ImgstatMethod *method, const TransferShape *shape,
                            const MatchReference **out, ImgstatError *err);

/* How files are transformed. */
typedef struct Pipeline {
    const ImgstatMethod *method;
    const Transfer *transfer; /* given; NULL: made from each page */
    Reference *reference;     /* of IMGSTAT_MATCH */
    const ImgstatWrite *write;
    uint64_t other_bytes; /* what the program takes whatever the files are */
    uint64_t for_files;   /* all that are at work; what follows is of both together: */
    uint64_t keep_bytes;  /* pages up to this are decoded once, if all else fits beside them */
    size_t sort_bytes;    /* for keys of wide types, and as many for their counters */
    size_t counter_bytes; /* of the threads of a worker, for further reads of wide types */
    size_t strip_bytes;   /* of strips that are compressed, where there is room for them */
} Pipeline;

/* transform/memory_estimate.c: of the whole program. After other_bytes, which are less. */
void pipeline_set_memory(Pipeline *pipeline, uint64_t memory);

enum {
    PIPELINE_OUT_BYTES = 4 << 20,  /* of an output band */
    PIPELINE_CODEC_BYTES = 5 << 20 /* decoder and encoder, without their chunks */
};

/* How a worker writes a file that has so many threads. */
EncodeOptions pipeline_how(const Pipeline *pipeline, const TransformWorker *worker,
                           unsigned threads);

/* Whether a page only says which pixels of another one count: no transform changes or counts it. */
bool page_is_mask(const ImgstatPage *page);

/* Of the output; NULL: none is called what the pipeline says. */
const EncodeFormat *pipeline_format(const Pipeline *pipeline, const ImgstatJob *job,
                                    const Decoder *decoder);

/* transform/memory_estimate.c: bytes that transforming the page selected takes, and no less. */
typedef struct PipelineBytes {
    uint64_t kept; /* of its pixels, where they are kept; else 0 */
    uint64_t all;
} PipelineBytes;

/* With the decoder's threads, which are the encoder's, too. */
PipelineBytes pipeline_bytes(const Pipeline *pipeline, const TransformWorker *worker,
                             Decoder *decoder, const EncodeFormat *format);

/* Transforms all pages, or the one asked for, of an open file. made: the transfer where exactly one
 * was made here, else NULL; the caller's then. NULL: not wanted. */
ImgstatResult pipeline_run(const Pipeline *pipeline, TransformWorker *worker, ImgstatFile *file,
                           const ImgstatJob *job, Transfer **made, ImgstatError *err);

#endif
