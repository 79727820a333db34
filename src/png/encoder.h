/* SPDX-License-Identifier: MIT */
/* encoder.h: what the parts of the PNG encoder share. */
#ifndef IMGSTAT_PNG_ENCODER_H
#define IMGSTAT_PNG_ENCODER_H

#include "codec/encoder.h"
#include "png/chunks.h"
#include "png/filter.h"

/* The rows of an image, and how PNG stores them. */
typedef struct PngRows {
    size_t n;
    size_t from_bytes;  /* of a row before packing */
    size_t row_bytes;   /* of a packed row */
    size_t pixel_bytes; /* distance to the pixel on the left, at least 1 */
    PngChoice choice;   /* of filters */
    uint32_t width;
    uint16_t channels;
    int16_t alpha;       /* index of that channel, or -1 */
    uint8_t bits, depth; /* of samples as they come, and of those of the output */
    bool invert;         /* samples are min-is-white, which PNG is not */
    bool widen;          /* samples have fewer bits than PNG can give this colour type */
} PngRows;

/* ---- png/encoder.c ---- */

enum { PNG_HEAD_MOST = PNG_SIGNATURE_BYTES + 2 * PNG_CHUNK_FRAME + 13 + 4 };

/* Chooses the form of a page and of its rows. Fails for a page that PNG cannot hold. name: of the
 * output. like: the decoder of the page that it comes from, or NULL. how: with the setting. */
ImgstatResult png_form_choose(const char *name, const EncodePage *page, const Decoder *like,
                              const EncodeOptions *how, PngForm *form, PngRows *rows,
                              ImgstatError *err);

/* Makes what a file begins with: the signature, IHDR, sBIT. Returns its bytes. */
size_t png_head_make(const PngForm *form, uint32_t width, uint32_t height,
                     uint8_t to[PNG_HEAD_MOST]);

/* Returns the rows of the page that was begun, of which none has been written; NULL if the output
 * is no PNG, or made with a search for matches of a level. */
const PngRows *png_encoder_rows(const Encoder *encoder);

/* Writes all rows of that page as chunks that somebody else has made. */
ImgstatResult png_encoder_write(Encoder *encoder, const uint8_t *chunks, size_t bytes,
                                ImgstatError *err);

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

enum { PNG_PIECE_BYTES = 512 << 10 }; /* of a piece's filtered rows at most, unless it has one */

/* Returns whether packing does nothing but put the upper byte of 16 bits first. */
static inline bool png_rows_plain(const PngRows *rows)
{
    return rows->depth >= 8 && !rows->widen && !rows->invert;
}

/* Returns whether packing does nothing. */
static inline bool png_rows_packed(const PngRows *rows)
{
    return rows->depth == 8 && png_rows_plain(rows);
}

/* Returns how many rows a piece has; the last one has what remains. */
size_t png_piece_rows(const PngRows *rows);

/* Packs and filters n rows. above: the row above the first one, not packed; NULL where there is
 * none. room: two packed rows. */
void png_filter_piece(const PngFilters *filters, const PngRows *rows, const uint8_t *above,
                      const uint8_t *from, size_t pitch, size_t n, uint8_t *room, uint8_t *to);

/* Rows on their way to IDAT chunks. */
typedef struct PngIdat PngIdat;

/* Begins the pixels of an image. */
ImgstatResult png_idat_create(PngSink *sink, const EncodeOptions *how, const PngRows *rows,
                              PngIdat **out, ImgstatError *err);

/* Accepts NULL. */
void png_idat_destroy(PngIdat *idat);

/* Returns how many rows are compressed at once. */
size_t png_idat_batch(const PngIdat *idat);

/* Compresses the next rows: as many as png_idat_batch says, or the last ones. */
ImgstatResult png_idat_write(PngIdat *idat, const uint8_t *rows, size_t pitch, size_t n,
                             ImgstatError *err);

/* Writes what is compressed, after all rows. */
ImgstatResult png_idat_finish(PngIdat *idat, ImgstatError *err);

#endif
