/* SPDX-License-Identifier: MIT */
/* png_write.h: what the parts of the PNG encoder share. */
#ifndef IMGSTAT_PNG_WRITE_H
#define IMGSTAT_PNG_WRITE_H

#include "encode.h"

enum {
    PNG_GRAY = 0,
    PNG_RGB = 2,
    PNG_PALETTE = 3,
    PNG_GRAY_ALPHA = 4,
    PNG_RGBA = 6,
    PNG_ADAM7 = 7 /* passes of an interlaced image */
};

/* The end of the file so far; chunks go there. */
typedef struct PngSink {
    Output *output;
    uint64_t at;
} PngSink;

/* png_chunks.c */
ImgstatResult png_chunk_write(PngSink *sink, const char *type, const void *data, size_t bytes,
                              ImgstatError *err);
uint32_t png_get32(const uint8_t *at);
void png_put32(uint8_t *at, uint32_t value);

/* Header and palette. */
typedef struct PngForm {
    uint8_t color_type, depth;
    bool interlaced;
    uint16_t n_colors, n_alpha; /* entries of the palette and of its tRNS */
    uint8_t colors[256][3], alpha[256];
    uint8_t
        significant; /* bits, where fewer than depth and not said by a chunk of the input; else 0 */
} PngForm;

/* Reads IHDR, PLTE and tRNS of an open PNG. */
ImgstatResult png_form_read(const Source *source, PngForm *form, ImgstatError *err);
/* Copies the chunks in front of the input's pixels that still hold for `form`, PLTE and tRNS of
 * `form` among them; those behind the pixels go to *tail, to be written there and freed. */
ImgstatResult png_chunks_copy(PngSink *sink, const Decoder *like, const PngForm *form,
                              Warnings *warnings, uint8_t **tail, size_t *tail_bytes,
                              ImgstatError *err);
ImgstatResult png_palette_write(PngSink *sink, const PngForm *form, ImgstatError *err);

/* png_from_tiff.c: what a TIFF page says that PNG has a place for. */
ImgstatResult png_chunks_from_tiff(PngSink *sink, const Decoder *like, const PngForm *form,
                                   Warnings *warnings, ImgstatError *err);

/* png_filter.c: one row of `bytes` bytes to 1 + bytes at `to`. above: the row above, zeros for
 * none. trial: scratch of 1 + bytes. pixel_bytes: distance to the pixel on the left, at least 1. */
void png_filter_row(const uint8_t *row, const uint8_t *above, size_t bytes, unsigned pixel_bytes,
                    bool choose, uint8_t *trial, uint8_t *to);

/* png_idat.c: rows to IDAT chunks. */
typedef struct PngIdat PngIdat;
/* total: bytes of all rows with their filter bytes. choose: pick a filter for every row. */
ImgstatResult png_idat_create(PngSink *sink, const EncodeHow *how, bool choose, uint64_t total,
                              PngIdat **out, ImgstatError *err);
void png_idat_destroy(PngIdat *idat); /* accepts NULL */
/* Rows of another length follow, and the first of them has none above it. */
ImgstatResult png_idat_begin(PngIdat *idat, size_t row_bytes, unsigned pixel_bytes,
                             ImgstatError *err);
/* Where the caller puts the next row, before png_idat_push. */
uint8_t *png_idat_row(PngIdat *idat);
ImgstatResult png_idat_push(PngIdat *idat, ImgstatError *err);
ImgstatResult png_idat_finish(PngIdat *idat, ImgstatError *err);

#endif
