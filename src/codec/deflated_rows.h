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
    DEFLATED_BAND = 32,             /* rows that are unfiltered together */
    DEFLATED_BYTES_MOST = 1 << 28,  /* of a stream: its bits are counted in 32 bits */
    DEFLATED_ROWS_MOST = 0x7FFFFFFF /* bytes of filtered rows */
};

/* What becomes of unfiltered rows. */
typedef enum RowForm {
    ROWS_PLAIN,  /* samples of 8 bits, or of 16, the upper byte first */
    ROWS_PACKED, /* samples of 1, 2, 4 or 8 bits become bytes */
    ROWS_COLORS  /* indices of 1, 2, 4 or 8 bits become colours */
} RowForm;

/* One image; places are addresses in the device's memory. */
typedef struct DeflatedRows {
    uint64_t in;        /* the stream, on a boundary of DEFLATED_ALIGN */
    uint64_t filtered;  /* on one as well: height rows of 1 + row_bytes, and DEFLATED_BEHIND more */
    uint64_t rows;      /* not with ROWS_PLAIN: room for height rows of row_pitch bytes */
    uint64_t row_pitch; /* a multiple of 4 */
    uint64_t colors;    /* with ROWS_COLORS: 4 bytes each */
    uint64_t told;      /* uint32_t of each band: how far its last row is */
    uint64_t pixels;    /* of the image */
    uint64_t pitch;
    uint32_t n_in, window, adler; /* bytes; largest distance; Adler-32 of the filtered rows */
    uint32_t width, height, row_bytes;
    uint32_t n_colors;
    uint8_t form, depth, pixel_bytes; /* RowForm; bits of a sample; distance to the left pixel */
    uint8_t channels;                 /* of the image */
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
