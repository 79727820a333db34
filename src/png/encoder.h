/* SPDX-License-Identifier: MIT */
/* encoder.h: what the parts of the PNG encoder share. */
#ifndef IMGSTAT_PNG_ENCODER_H
#define IMGSTAT_PNG_ENCODER_H

#include "codec/encoder.h"
#include "png/chunks.h"

/* ---- png/chunks.c ---- */

/* Copies the chunks of the input that are still true for `form`, and writes PLTE and tRNS of `form`
 * among them. Chunks that follow the pixels go to *tail, which the caller writes there and frees.
 * mapped: chunks that describe values are left out. */
ImgstatResult png_chunks_copy(PngSink *sink, const Decoder *like, const PngForm *form, bool mapped,
                              Warnings *warnings, uint8_t **tail, size_t *tail_bytes,
                              ImgstatError *err);

/* Writes PLTE and tRNS, if the form has a palette. */
ImgstatResult png_palette_write(PngSink *sink, const PngForm *form, ImgstatError *err);

/* ---- png/metadata.c ---- */

/* Writes metadata of another format for which PNG has a place. */
ImgstatResult png_metadata_write(PngSink *sink, const Metadata *metadata, const PngForm *form,
                                 Warnings *warnings, ImgstatError *err);

/* ---- png/idat_writer.c ---- */

/* Rows on their way to IDAT chunks. */
typedef struct PngIdat PngIdat;

/* Packs a row, on any thread. */
typedef void (*PngPack)(const void *context, const uint8_t *from, uint8_t *to);

/* The rows of an image. */
typedef struct PngRows {
    size_t n;
    size_t from_bytes;  /* of a row before packing */
    size_t row_bytes;   /* of a packed row */
    size_t pixel_bytes; /* distance to the pixel on the left, at least 1 */
    PngPack pack;       /* NULL: rows are packed already */
    const void *context;
} PngRows;

/* Begins the pixels of an image. choose: chooses a filter for every row; else rows are not
 * filtered. */
ImgstatResult png_idat_create(PngSink *sink, const EncodeOptions *how, bool choose,
                              const PngRows *rows, PngIdat **out, ImgstatError *err);

/* Accepts NULL. */
void png_idat_destroy(PngIdat *idat);

/* Returns how many rows are compressed at once. Bands of a multiple of them are not copied. */
size_t png_idat_batch(const PngIdat *idat);

/* Compresses the next n rows. */
ImgstatResult png_idat_write(PngIdat *idat, const uint8_t *rows, size_t pitch, size_t n,
                             ImgstatError *err);

/* Writes the rest, after all rows. */
ImgstatResult png_idat_finish(PngIdat *idat, ImgstatError *err);

#endif
