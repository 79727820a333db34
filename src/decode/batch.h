/* SPDX-License-Identifier: MIT */
/* batch.h: what the parts of a batch of pages share. */
#ifndef IMGSTAT_DECODE_BATCH_H
#define IMGSTAT_DECODE_BATCH_H

#include "decode/page_batch.h"

#include "codec/decode_work.h"
#include "decode/tile_place.h"

enum { BATCH_ROW_ALIGN = 16 }; /* of pixels in the device's memory */

typedef struct BatchPage {
    ImgstatPage page;
    ImagePro image; /* in the device's memory */
    DeflatedRows rows;
    TiledPage tiled;  /* if it has tiles */
    size_t record_at; /* among all records */
    size_t check;     /* which one is its own */
} BatchPage;

struct PageBatch {
    Device *device;
    DevMem memory;
    DevMem checks_there; /* its beginning */
    void *list;          /* host_alloc: what the device decodes */
    size_t bottom, top;  /* what lies between is free */
    void *staging;       /* host_alloc: staging_bytes, through which files go there */
    size_t staging_bytes;
    size_t staged; /* bytes in it, which belong below `bottom` */
    BatchPage page[BATCH_PAGES];
    size_t n, n_tiled; /* pages; those of tiles */
    CodedTile *tiles;  /* of these, in order */
    size_t n_tiles;
    PageCount count;
    DeflatedCheck check[BATCH_PAGES];
    uint8_t *counts; /* records */
    size_t counts_bytes;
};

/* Makes an image of memory of the device, with a page's shape and nodata value. */
ImgstatResult batch_wrap(const Device *device, uint64_t address, size_t pitch,
                         const ImgstatPage *page, ImagePro *out, ImgstatError *err);

/* Finds a page of a file; NULL if the processor must decode it. */
const BatchPage *batch_page(const FedPages *fed, const ImgstatPage *page);

/* Finds out which pages the device doubts. */
ImgstatResult batch_read_checks(PageBatch *batch, ImgstatError *err);

/* ---- decode/staging.c ---- */

/* Makes room for so many bytes behind what is staged. */
ImgstatResult batch_reserve_staging(PageBatch *batch, size_t bytes, ImgstatError *err);

/* Moves what is staged to the device. */
ImgstatResult batch_upload_staged(PageBatch *batch, ImgstatError *err);

/* Stages a part of a file, which belongs at `bottom`, and moves that behind it. *read becomes false
 * if the file lacks it. */
ImgstatResult batch_stage_file(PageBatch *batch, const Source *source, const FileSpan *span,
                               bool *read, ImgstatError *err);

#endif
