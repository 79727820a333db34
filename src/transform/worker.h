/* SPDX-License-Identifier: MIT */
/* worker.h: a device, threads and buffers that transform one file after another. */
#ifndef IMGSTAT_TRANSFORM_WORKER_H
#define IMGSTAT_TRANSFORM_WORKER_H

#include "base/thread_pool.h"
#include "codec/atomic_file.h"
#include "codec/deflate.h"
#include "decode/page_batch.h"
#include "encode/page.h"
#include "measure/page_reader.h"
#include "transfer/transfer.h"

/* What was done to the pages of a file, for ImgstatDone. */
typedef struct MappedPages {
    ImgstatMapped *items; /* n of them; their texts are owned */
    size_t n, room;
} MappedPages;

/* Adds a page; takes over its texts, which are malloc's. NULL is an allocation failure. */
ImgstatResult mapped_pages_add(MappedPages *pages, const ImgstatMapped *item, ImgstatError *err);

/* Frees what it holds, and empties it. */
void mapped_pages_release(MappedPages *pages);

/* Used by one thread at a time. */
typedef struct TransformWorker {
    Device *device;
    const char *name; /* of the device, as it was opened */
    ThreadPool *pool;
    BandMemory in, indices, out;
    Deflaters *deflaters;
    Transfer *with_nodata;   /* last result of transfer_with_nodata, or NULL */
    TransferId *given;       /* identity of the transfer that it was made from */
    TransferShape shape;     /* that it was made for */
    MappedPages *mapped;     /* receives the pages of the file at hand; NULL: nobody asks */
    ImgstatClamped *clamped; /* of the page at hand; NULL: nothing is counted */
    uint64_t reserved;       /* bytes of the batch's memory budget: buffers and the file at hand */
    AtomicFile **output;     /* NULL, or receives a file that is complete but for its name */
    bool redoes;             /* the output exists and is not whole */
    Feeder feeder;           /* where the device decodes many files at a time, */
    const FedPages *fed;     /* and NULL, or the pages of the file at hand */
    DevMem mapped_there;     /* memory for a page that is mapped on the device */
    PageRows *rows;          /* and for compressing it there; NULL: none yet */
} TransformWorker;

/* Makes what a worker with `threads` threads needs beside a device. Takes over the device, and
 * closes it on failure. name: outlives the worker. cancel: of the device from now on. */
ImgstatResult worker_open(Device *device, const char *name, unsigned threads, Cancel cancel,
                          TransformWorker *out, ImgstatError *err);

/* Releases the contents; all of them may be zero. */
void worker_close(TransformWorker *worker);

/* Frees buffers until at most `bytes` are kept. Below 5 MiB free heap memory returns to the system.
 */
void worker_trim(TransformWorker *worker, uint64_t bytes);

/* Destroys with_nodata. */
void worker_forget_nodata(TransformWorker *worker);

/* Sets the number of threads that the device has for the next file. */
void worker_use_threads(TransformWorker *worker, unsigned threads);

#endif
