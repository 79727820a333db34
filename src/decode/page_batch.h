/* SPDX-License-Identifier: MIT */
/* page_batch.h: pages of many files, decompressed and counted by a device together. Only compressed
 * bytes and records move between the device and the host. */
#ifndef IMGSTAT_DECODE_PAGE_BATCH_H
#define IMGSTAT_DECODE_PAGE_BATCH_H

#include "codec/codec.h"
#include "device/device.h"

typedef struct PageBatch PageBatch;

/* How the device counts the pages of a batch. */
typedef struct PageCount {
    unsigned parts;       /* of records */
    ImgstatRegion region; /* of each page; width and height 0: all of it */
} PageCount;

enum { BATCH_PAGES = 96 }; /* most pages of a batch */

/* Counts images of zeros as pages like that one are counted: nothing is loaded or allocated later,
 * while the GPU is at work. page: NULL: only what decodes is loaded. */
ImgstatResult page_batch_warm(Device *device, const ImgstatPage *page, unsigned parts,
                              ImgstatError *err);

/* device: has no other batch, and is the caller's thread's. bytes: of its memory, for compressed
 * bytes, filtered rows and pixels. */
ImgstatResult page_batch_create(Device *device, size_t bytes, PageBatch **out, ImgstatError *err);
void page_batch_destroy(PageBatch *batch); /* accepts NULL */

/* Empties a batch. */
void page_batch_begin(PageBatch *batch);

/* The pages of a file in a batch, that a device has decoded or doubts. */
typedef struct FedPages {
    const PageBatch *batch;
    size_t first, n; /* of the pages in the batch */
    double seconds;  /* its share of the time that the batch took */
} FedPages;

typedef enum PageAdded {
    PAGE_ADDED,
    PAGE_FULL,   /* there is no room beside the others */
    PAGE_REFUSED /* the processor decodes it */
} PageAdded;

/* Adds all chosen pages of a file, or none. The first of them is selected. count: NULL, or how they
 * will be counted, which is the same for all pages of a batch: a device counts samples of at most
 * 16 bits. The processor decodes a file that sets *unusual. *pages: the places of the pages in the
 * batch. Fails only if the device does. */
ImgstatResult page_batch_add(PageBatch *batch, ImgstatFile *file, const PageCount *count,
                             const bool *unusual, PageAdded *added, FedPages *pages,
                             ImgstatError *err);

/* Ends the filling, and has the pages decoded. */
ImgstatResult page_batch_send(PageBatch *batch, ImgstatError *err);

/* Waits for the pages that were sent, on the thread that has sent them. */
ImgstatResult page_batch_wait(PageBatch *batch, ImgstatError *err);

/* Waits for the pages that were sent, on the thread that has sent them, and counts them. There is
 * one at least. */
ImgstatResult page_batch_count(PageBatch *batch, const PageCount *count, ImgstatError *err);

/* What a worker has of a device that decodes. */
typedef struct Feeder {
    bool feeds;
    Device *device;   /* NULL: none yet */
    bool owned;       /* it is closed with the feeder */
    PageBatch *pages; /* NULL: it has none yet */
} Feeder;

/* Releases what a worker has of the device. */
void feeder_release(Feeder *feeder);

/* Makes the finalized record of a page of the file. *out becomes NULL if the processor must decode
 * it: it is not in the batch, the device doubts it, or it has another shape now. */
ImgstatResult fed_page_record(const FedPages *fed, const ImgstatPage *page, BufferCache *cache,
                              Record **out, ImgstatError *err);

/* Returns the pixels of a page of the file, on the device; NULL if the processor must decode it. */
const ImagePro *fed_page_image(const FedPages *fed, const ImgstatPage *page);

#endif
