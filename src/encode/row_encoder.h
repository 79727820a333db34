/* SPDX-License-Identifier: MIT */
/* row_encoder.h: what the parts of a row encoder share. */
#ifndef IMGSTAT_ENCODE_ROW_ENCODER_H
#define IMGSTAT_ENCODE_ROW_ENCODER_H

#include "codec/tile_lanes.h"
#include "encode/rows.h"

enum { ADLER_BYTES = 4 };

/* What images take. */
typedef struct Needs {
    size_t n_there;             /* images that the device makes */
    size_t pieces, pieces_here; /* of all images, and of those that the processor makes */
    size_t here, there;         /* bytes of lists, results and copies, and of all there is */
    size_t pieces_at, list_bytes, results_at, copies_at, scratch_at, rows_at; /* places in these */
    size_t pieces_there;
    uint64_t blocks_there;
    /* Of the largest piece of the processor: its rows before packing with the one above them,
     * filtered, compressed; what packing takes. */
    size_t raw, filtered, out, room;
} Needs;

/* A piece of an image. */
typedef struct RowPiece {
    size_t image, number; /* of the piece in its image */
    int slot;             /* where the processor makes it; NO_SLOT: the device has made it */
    size_t bytes;         /* of its part of the stream */
    uint32_t adler;       /* of its filtered rows */
    uint8_t *chunk;       /* where it goes */
} RowPiece;

enum { NO_SLOT = -1 };

/* A piece that the processor makes. */
typedef struct RowSlot {
    size_t piece;
    uint8_t *raw, *out;
} RowSlot;

typedef struct RowThread {
    Deflater *deflater;
    uint8_t *filtered, *room;
} RowThread;

struct RowEncoder {
    Device *device;
    const PngFilters *filters;
    bool fast;
    Needs has; /* of each, the most that there is memory for */
    DevMem there;
    uint8_t *here, *raw, *files; /* of host_alloc */
    uint8_t *out;
    size_t files_bytes, n_slots;
    RowSlot *slots;
    RowThread *threads;
    unsigned n_threads;
    RowPiece *pieces;
    /* What is enqueued: */
    RowImage *images;
    size_t n;
    Needs now;
    DeviceEncode call;
};

/* Returns room for as many copies as there are pieces. */
static inline DeviceCopy *row_copies(const RowEncoder *encoder)
{
    return (DeviceCopy *)(void *)(encoder->here + encoder->now.copies_at);
}

/* Returns whether an image becomes strips or tiles: each piece is a zlib stream of its own. */
static inline bool row_is_tiled(const RowImage *image)
{
    return image->tiles.page.n_tiles > 0;
}

/* Returns how many rows of a PNG a piece has. */
static inline size_t row_piece_rows(const RowImage *image, size_t number)
{
    const size_t left = image->rows.n - number * image->piece_rows;
    return left < image->piece_rows ? left : image->piece_rows;
}

static inline size_t row_piece_bytes(const RowImage *image, size_t number)
{
    const TiledPage *const page = &image->tiles.page;
    if (!row_is_tiled(image))
        return row_piece_rows(image, number) * (image->rows.row_bytes + 1);
    const uint32_t inside = tile_place(page, (uint32_t)number).rows;
    return (size_t)page->row_bytes * (image->tiles.padded ? page->tile_height : inside);
}

/* Returns whether a piece begins or ends a zlib stream. */
static inline bool row_piece_begins(const RowImage *image, size_t number)
{
    return row_is_tiled(image) || number == 0;
}

static inline bool row_piece_ends(const RowImage *image, size_t number)
{
    return row_is_tiled(image) || (number + 1) * image->piece_rows >= image->rows.n;
}

/* Returns what the device says of a piece of an image that it makes. */
static inline const DeflatedPiece *row_piece_there(const RowEncoder *encoder, const RowImage *image,
                                                   size_t number)
{
    return &encoder->call.results[image->first_there + number];
}

/* Returns its description. */
static inline const DeflatePiece *row_piece_listed(const RowEncoder *encoder, const RowImage *image,
                                                   size_t number)
{
    return (const DeflatePiece *)(const void *)(encoder->here + encoder->now.pieces_at) +
           image->first_there + number;
}

#endif
