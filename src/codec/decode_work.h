/* SPDX-License-Identifier: MIT */
/* decode_work.h: what a device decodes in one call. */
#ifndef IMGSTAT_CODEC_DECODE_WORK_H
#define IMGSTAT_CODEC_DECODE_WORK_H

#include "codec/deflated_rows.h"
#include "codec/parted_stream.h"
#include "codec/tiled_page.h"

/* Compressed bytes on their way to the device, where the first `tiles` tiles then are complete. */
typedef struct DecodeUpload {
    uint64_t to;
    const void *from; /* any host memory */
    size_t bytes;
    size_t tiles;
} DecodeUpload;

/* Lists that lie one behind the other in one piece of memory, but for uploads. The checks of rows
 * come first, then those of pages. */
typedef struct DecodeWork {
    DeflatedRows *rows;
    TiledPage *pages;
    CodedTile *tiles;     /* of all pages, in order */
    PartedStream *parted; /* of rows and tiles */
    size_t n_rows, n_pages, n_tiles, n_parted;
    const DecodeUpload *uploads; /* in the order of tiles; those of other tiles have been made */
    size_t n_uploads;
} DecodeWork;

static inline size_t decode_work_bytes(const DecodeWork *work)
{
    return work->n_rows * sizeof(DeflatedRows) + work->n_pages * sizeof(TiledPage) +
           work->n_tiles * sizeof(CodedTile) + work->n_parted * sizeof(PartedStream);
}

/* Returns the same lists where they lie at another address. */
static inline DecodeWork decode_work_at(const DecodeWork *work, void *at)
{
    DecodeWork moved = *work;
    moved.rows = (DeflatedRows *)at;
    moved.pages = (TiledPage *)(moved.rows + work->n_rows);
    moved.tiles = (CodedTile *)(moved.pages + work->n_pages);
    moved.parted = (PartedStream *)(moved.tiles + work->n_tiles);
    return moved;
}

#endif
