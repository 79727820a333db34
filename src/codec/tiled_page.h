/* SPDX-License-Identifier: MIT */
/* tiled_page.h: an image as TIFF holds it, strips or tiles that are compressed each by itself, for
 * devices that decode or encode it. */
#ifndef IMGSTAT_CODEC_TILED_PAGE_H
#define IMGSTAT_CODEC_TILED_PAGE_H

#include "codec/deflated_rows.h"

enum {
    TILE_ALIGN = 16,
    TILE_BYTES_MOST = (1 << 28) - 4 /* compressed: bits are counted in 32 bits */
};

/* Decompressed bytes of a page: what a small file asks for must not be a device's whole memory. */
#define TILES_BYTES_MOST (UINT64_C(1) << 32)

/* How the bytes of tiles become rows. */
typedef enum TileCoding {
    TILE_PLAIN,
    TILE_DEFLATED,
    TILE_LZW,
    TILE_PACKBITS,
    TILE_CODINGS
} TileCoding;

/* What the samples of rows are. */
typedef enum TilePrediction {
    TILE_SAMPLES,     /* samples */
    TILE_DIFFERENCES, /* to the sample of the pixel before, of 8, 16 or 32 bits; encoded: or 64 */
    TILE_FLOATS       /* the same of bytes, which lie in planes, highest first */
} TilePrediction;

/* One tile; places are addresses in the device's memory. */
typedef struct CodedTile {
    uint64_t in;  /* its bytes, anywhere */
    uint64_t out; /* TILE_PLAIN: `in`; else on a boundary of TILE_ALIGN: room for n_out bytes, and
                     up to the next such boundary */
    uint32_t n_in, n_out;   /* bytes */
    uint32_t window, adler; /* TILE_DEFLATED: largest distance; Adler-32 of the output */
    uint32_t page, number;  /* which page, and which tile of it */
    bool parted;            /* the stream is decompressed in parts, before */
} CodedTile;

/* One image. Tiles have numbers from left to right, then down, then by plane. */
typedef struct TiledPage {
    uint64_t pixels, pitch; /* of the image */
    uint32_t width, height, tile_width, tile_height, across, down;
    uint32_t row_bytes; /* of a tile */
    uint32_t n_tiles;
    uint16_t channels, planes, per_tile; /* of the image; 1: samples of a pixel lie together;
                                            samples of a pixel in a tile */
    uint8_t coding, prediction;          /* TileCoding, TilePrediction */
    uint8_t bits, sample_bytes;          /* of a sample in a tile, and in the image */
    bool swapped, is_signed; /* bytes of words are in the other order; bits are extended */
} TiledPage;

#endif
