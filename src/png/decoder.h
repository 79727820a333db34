/* SPDX-License-Identifier: MIT */
/* decoder.h: what the parts of the PNG decoder share. */
#ifndef IMGSTAT_PNG_DECODER_H
#define IMGSTAT_PNG_DECODER_H

#include "codec/codec.h"
#include "png/chunks.h"
#include "png/idat_reader.h"

#include <png.h>

enum { PNG_READ_BYTES = 1 << 15 }; /* one system call for many small chunks */

/* How a row of libpng becomes a row of the decoder. */
typedef enum RowStep {
    ROW_AS_IT_IS,
    ROW_GRAY_KEY, /* gray of 1, 2, 4 bits whose tRNS names one transparent value */
    ROW_PALETTE   /* indices to colours */
} RowStep;

/* A PNG file being read. */
typedef struct PngDecoder {
    Decoder base;
    png_structp png;
    png_infop info;
    RowStep step;
    bool keyed;      /* tRNS of gray or RGB becomes alpha: */
    uint16_t key[3]; /* 0 where all samples are these */
    PngForm form;
    size_t png_row_bytes;         /* of a row as libpng gives it, where step changes it */
    uint8_t *row;                 /* one such row */
    size_t stored_row_bytes;      /* of a row in the file, without its filter */
    uint8_t *held;                /* rows of an interlaced image, as libpng returns them */
    uint32_t held_from, held_end; /* their numbers */
    uint64_t offset;              /* of the next byte to read from the source */
    uint8_t *buffer;              /* PNG_READ_BYTES */
    size_t at, filled;            /* in buffer */
    bool ends_early;              /* the source had fewer bytes than libpng wanted */
    bool bad_checksum;            /* of the compressed pixels as a whole */
    /* Reading without libpng, which ends at the first unusual byte: libpng then starts again. */
    PngStream *stream;    /* NULL: rows come from libpng */
    bool decided;         /* between these two */
    size_t pixel_bytes;   /* in the file, at least 1; 0 where only libpng gives the rows */
    uint8_t *above;       /* the last row read, in the order of the file */
    uint8_t *row_below;   /* room for the next one, where it becomes another */
    ImgstatError failure; /* of the last libpng call */
} PngDecoder;

/* ---- png/libpng_head.c ---- */

/* Frees what belongs to one reading of the file. */
void png_end_reading(PngDecoder *pd);

/* Creates a new state of libpng, at the start of the file. */
ImgstatResult png_begin_reading(PngDecoder *pd, ImgstatError *err);

/* Reads all chunks before the pixels and prepares libpng for reading rows. */
ImgstatResult png_read_head(PngDecoder *pd, ImgstatError *err);

/* Returns libpng's last error. */
ImgstatResult png_failure(const PngDecoder *pd, ImgstatError *err);

/* Finds the data of the first IDAT chunk, before any row is read. Returns false if the file does
 * not have its head. */
bool png_first_data(const PngDecoder *pd, uint64_t *at, uint32_t *length);

/* ---- png/metadata.c ---- */

/* Codec.metadata */
ImgstatResult png_metadata_read(Decoder *base, Metadata *out, Warnings *warnings,
                                ImgstatError *err);

/* ---- png/deflated.c ---- */

/* Codec.deflated */
bool png_deflated(Decoder *base, uint8_t *to, size_t room, DeflatedRows *out,
                  uint8_t colors[DEFLATED_COLORS][4]);

/* ---- png/libpng_rows.c ---- */

/* Returns the most rows of an interlaced image that are held. */
uint32_t png_held_rows(const PngDecoder *pd);

/* Reads rows from y on through libpng. With the last row it reads what follows the pixels. */
ImgstatResult png_read_plainly(PngDecoder *pd, uint8_t *to, size_t pitch, uint32_t y, uint32_t rows,
                               ImgstatError *err);

/* Starts again with libpng and skips the rows that were read already. */
ImgstatResult png_pass_over(PngDecoder *pd, uint32_t rows, ImgstatError *err);

/* Converts libpng's row y to the row that the decoder gives. */
ImgstatResult png_finish_row(PngDecoder *pd, const uint8_t *from, uint8_t *to, uint32_t y,
                             ImgstatError *err);

#endif
