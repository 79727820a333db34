/* SPDX-License-Identifier: MIT */
/* device_pieces.h: rows of images that a device filters as PNG does, or predicts as TIFF does, and
 * compresses in pieces; docs/deflate-coder.md defines the bytes. Addresses are of the device's
 * memory. */
#ifndef IMGSTAT_CODEC_DEVICE_PIECES_H
#define IMGSTAT_CODEC_DEVICE_PIECES_H

#include "base/image.h"
#include "codec/deflate_coder.h"
#include "codec/filter_choice.h"
#include "codec/tiled_page.h"

enum {
    FILTER_ROW_MOST = (1 << 25) - 1, /* bytes of a row */
    DEFLATE_STORED_MOST = 65535,     /* bytes of a stored block */
    DEFLATE_HEADS_MOST = 11,         /* bytes that stored blocks add to 65,536 */
    DEFLATE_SCRATCH_HEAD = 16,
    DEFLATE_SEARCHES = 264,                            /* two a multiprocessor of an H100 */
    DEFLATE_SEARCH_DISTANCES = 3 * DEFLATE_CODER_BLOCK /* of 16 bits, of each: one a key */
};

/* An image, and where its filtered rows go: pieces of piece_rows rows, piece_pitch bytes apart. A
 * row has 1 + row_bytes bytes; those of a piece follow each other. */
typedef struct FilterImage {
    uint64_t pixels, to;
    uint64_t pitch, piece_pitch;
    uint32_t height, row_bytes, piece_rows; /* row_bytes <= FILTER_ROW_MOST */
    uint8_t pixel_bytes;                    /* distance to the pixel on the left */
    bool swap;                              /* samples of 16 bits: the upper byte goes first */
    uint8_t choice;                         /* PngChoice */
} FilterImage;

/* An image of whole samples of 8 to 64 bits, and where its strips or tiles go, tile_pitch bytes
 * apart, by number: each is a piece. */
typedef struct TiledImage {
    TiledPage page;
    uint64_t to, tile_pitch;
    bool padded; /* tiles, which have all their rows; the last strip ends with the image */
} TiledImage;

/* Bytes that are compressed independently of all others. */
typedef struct DeflatePiece {
    uint64_t from; /* on 16 bytes: faster */
    uint64_t to;   /* on a boundary of 4; deflate_pieces_bound bytes */
    uint64_t n;
    uint32_t first_block; /* of all blocks of all pieces: deflate_pieces_number */
    bool last;            /* it ends its stream */
} DeflatePiece;

typedef struct DeflatedPiece {
    uint64_t bytes; /* 0: the device has not made it */
    uint32_t adler; /* of the bytes before compression */
} DeflatedPiece;

/* Bytes of a block; in the stored setting, of one of the stream as well. */
static inline unsigned deflate_pieces_block(DeflateCoding coding)
{
    return coding == DEFLATE_STORED ? (unsigned)DEFLATE_STORED_MOST : (unsigned)DEFLATE_CODER_BLOCK;
}

static inline uint64_t deflate_pieces_blocks(uint64_t n, unsigned block_bytes)
{
    return n == 0 ? 1 : (n + block_bytes - 1) / block_bytes;
}

/* Returns how many bytes `to` must have for n bytes. */
static inline size_t deflate_pieces_bound(uint64_t n)
{
    /* What ends a piece, and the word in which it ends. */
    const uint64_t blocks = deflate_pieces_blocks(n, DEFLATE_STORED_MOST) + 1;
    return (size_t)((n + blocks * DEFLATE_HEADS_MOST + 8) / 4 * 4);
}

/* Numbers the blocks of all pieces, which are in host memory yet. Returns how many there are, or 0
 * if that is more than a launch can have. */
static inline uint32_t deflate_pieces_number(DeflateCoding coding, DeflatePiece *pieces, size_t n)
{
    const unsigned bytes = deflate_pieces_block(coding);
    uint64_t blocks = 0;
    for (size_t i = 0; i < n; i++) {
        pieces[i].first_block = (uint32_t)blocks;
        blocks += deflate_pieces_blocks(pieces[i].n, bytes);
        if (blocks > INT32_MAX)
            return 0;
    }
    return (uint32_t)blocks;
}

/* Bytes of scratch memory that begin as 0. */
static inline size_t deflate_pieces_counters(size_t n, uint64_t n_blocks)
{
    return DEFLATE_SCRATCH_HEAD + (2 * n + (size_t)n_blocks) * sizeof(uint64_t);
}

/* Blocks of n_blocks that are searched for matches at a time. */
static inline unsigned deflate_searches(uint64_t n_blocks)
{
    return n_blocks < DEFLATE_SEARCHES ? (unsigned)n_blocks : DEFLATE_SEARCHES;
}

/* Returns how many bytes of scratch memory n pieces of n_blocks blocks take. */
static inline size_t deflate_pieces_scratch(size_t n, uint64_t n_blocks)
{
    return deflate_pieces_counters(n, n_blocks) +
           deflate_searches(n_blocks) * DEFLATE_SEARCH_DISTANCES * sizeof(uint16_t);
}

/* A call of DeviceOps.encode_async. It filters or predicts images, cuts their rows into pieces, and
 * compresses each piece by runs, or with a search where matches pay. */
typedef struct DeviceEncode {
    const void *lists; /* in host_alloc's memory: n_images FilterImage, or TiledImage if `tiled`, */
    size_t pieces_at, list_bytes; /* and DeflatePiece from byte pieces_at on, list_bytes in all */
    size_t n_images, n_pieces;
    bool tiled;
    uint32_t rows, n_blocks; /* of the image that has most, tiles above each other; of all pieces */
    DeflateCoding coding;
    DevMem lists_there;
    DevMem results_there;   /* of n_pieces DeflatedPiece, and a byte each */
    DeflatedPiece *results; /* in host_alloc's memory: n_pieces, in the order of the stream */
    DevMem scratch;         /* deflate_pieces_scratch, on a boundary of 16 */
} DeviceEncode;

/* Returns how many bytes the results of n pieces take there. */
static inline size_t deflate_results_there(size_t n)
{
    return n * (sizeof(DeflatedPiece) + 1);
}

#endif
