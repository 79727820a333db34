/* SPDX-License-Identifier: MIT */
/* deflated_rows.h: an image as PNG holds it, one deflate stream of filtered rows, for devices that
 * decode it. */
#ifndef IMGSTAT_CODEC_DEFLATED_ROWS_H
#define IMGSTAT_CODEC_DEFLATED_ROWS_H

#include "imgstat.h"

enum {
    DEFLATED_ALIGN = 16,
    DEFLATED_BEHIND = 64, /* bytes behind filtered rows that may be read */
    DEFLATED_COLORS = 256,
    DEFLATED_PASSES = 7,            /* of an interlaced image */
    DEFLATED_BAND = 32,             /* rows that are unfiltered together */
    DEFLATED_BYTES_MOST = 1 << 28,  /* of a stream: its bits are counted in 32 bits */
    DEFLATED_ROWS_MOST = 0x7FFFFFFF /* bytes of filtered rows */
};

/* What becomes of unfiltered rows. */
typedef enum RowForm {
    ROWS_PLAIN,   /* they are those of the image, of 8 bits, or of 16, the upper byte first */
    ROWS_SAMPLES, /* samples of 1 to 16 bits; pixels are moved, or get alpha by a key */
    ROWS_COLORS   /* indices of 1, 2, 4 or 8 bits become colours */
} RowForm;

/* Pixels that are filtered as an image of their own: every step_x-th of every step_y-th row, from
 * (x, y) on. They are all pixels, or a pass of an interlaced image. */
typedef struct DeflatedPass {
    uint32_t width, height; /* > 0 */
    uint32_t row_bytes;     /* each filtered row has one more */
    uint32_t row_pitch;     /* of unfiltered rows: a multiple of 4 */
    uint32_t filtered;      /* of the first row, behind that of the image; so is */
    uint32_t rows;          /* the first row unfiltered */
    uint32_t band;          /* number of the first band, among those of the image */
    uint8_t x, y, step_x, step_y;
} DeflatedPass;

/* One image; places are addresses in the device's memory. */
typedef struct DeflatedRows {
    uint64_t in;       /* the stream, on a boundary of DEFLATED_ALIGN */
    uint64_t filtered; /* on one as well: n_out bytes, and DEFLATED_BEHIND more */
    uint64_t rows;     /* not with ROWS_PLAIN: room for unfiltered rows */
    uint64_t colors;   /* with ROWS_COLORS: 4 bytes each */
    uint64_t told;     /* uint32_t of each band: how far its last row is */
    uint64_t pixels;   /* of the image */
    uint64_t pitch;
    DeflatedPass pass[DEFLATED_PASSES]; /* n_passes, one behind the other */
    uint32_t n_in, window, adler;       /* bytes; largest distance; Adler-32 of the filtered rows */
    uint32_t n_out, bands;              /* filtered bytes and bands of all passes */
    uint32_t n_colors;
    uint16_t key[3];                  /* if keyed: the samples whose alpha is 0 */
    uint8_t form, depth, pixel_bytes; /* RowForm; bits of a sample; distance to the left pixel */
    uint8_t channels, n_passes;       /* channels of the image */
    bool keyed;                       /* its last channel is alpha, which the rows lack */
    bool parted;                      /* the stream is decompressed in parts, before */
} DeflatedRows;

/* What the device finds out about it. */
typedef struct DeflatedCheck {
    uint64_t sum, weighted; /* of the filtered bytes, for Adler-32 */
    uint32_t doubt;         /* 0: the pixels are right; else the processor must decode the image */
    uint32_t taken;         /* bands of rows that are being unfiltered, or have been */
} DeflatedCheck;

enum { DOUBT_STREAM = 1, DOUBT_ADLER = 2, DOUBT_FILTER = 4, DOUBT_COLOR = 8 };

#endif
