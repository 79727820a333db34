/* SPDX-License-Identifier: MIT */
/* layout.h: how the samples of a page lie in its file, and how they are read. In tiff/ a tile is a
 * strip or a tile: what the file compresses as one. */
#ifndef IMGSTAT_TIFF_LAYOUT_H
#define IMGSTAT_TIFF_LAYOUT_H

#include "codec/codec.h"

struct TiffDecoder;

/* How rows are read. */
typedef enum TiffReadMode {
    TIFF_READ_RAW,       /* uncompressed strips: any rows, from their place in the file */
    TIFF_READ_TILES,     /* tiles and small strips: whole */
    TIFF_READ_SCANLINES, /* strips too large to hold: decoded row after row */
    TIFF_READ_RGBA       /* YCbCr that libtiff converts: whole tiles */
} TiffReadMode;

/* Samples of a page as they lie in the file. */
typedef struct TiffLayout {
    TiffReadMode mode;
    bool tiled;    /* false: strips */
    bool swapped;  /* the file has the other byte order; libtiff does not swap TIFF_READ_RAW */
    bool reversed; /* bits within bytes are in the other order; so are those of TIFF_READ_RAW */
    uint16_t compression, photometric, format, bits;
    uint16_t predictor; /* of compressions that have them; else 1 */
    uint16_t samples;   /* per pixel */
    uint16_t planes;    /* 1: samples of a pixel lie together */
    uint16_t per_tile;  /* samples per pixel in one tile: samples, or 1 with planes */
    uint32_t tile_width, tile_height;
    uint32_t across, down; /* tiles of a plane */
    size_t row_bytes;      /* of a tile's row as libtiff decodes it */
    size_t tile_bytes;     /* row_bytes * tile_height */
    uint64_t stored_bytes; /* of the tile that takes most in the file; 0: not known */
    uint32_t stored_most;  /* the index of that tile */
    bool converted;        /* YCbCr that libtiff converts */
} TiffLayout;

/* Fills in base.page, names of channels, layout and palette from the directory just read. */
ImgstatResult tiff_page_describe(struct TiffDecoder *td, ImgstatError *err);

/* Chooses how the page is read, for the decoder's options. After tiff_check_tiles. */
ImgstatResult tiff_page_plan(struct TiffDecoder *td, ImgstatError *err);

/* Returns what decoding the page holds beside the rows that it gives, roughly. After
 * tiff_page_plan. */
uint64_t tiff_page_holds(const struct TiffDecoder *td);

/* DecodeCaps.weight */
unsigned tiff_codec_weight(uint16_t compression);

/* Returns whether data of a compression may be differences. */
bool tiff_has_predictor(uint16_t compression);

/* Returns whether libjpeg converts the colours of a page. */
bool tiff_jpeg_converts(const TiffLayout *layout);

#endif
