/* SPDX-License-Identifier: MIT */
/* encoder.h: what the parts of the PNG encoder share. */
#ifndef IMGSTAT_PNG_ENCODER_H
#define IMGSTAT_PNG_ENCODER_H

#include "codec/table.h"
#include "png/chunks.h"

/* png/chunks.c. Copies the chunks in front of the input's pixels that still hold for `form`, PLTE
 * and tRNS of `form` among them; those behind the pixels go to *tail, to be written there and
 * freed. */
ImgstatResult png_chunks_copy(PngSink *sink, const Decoder *like, const PngForm *form,
                              Warnings *warnings, uint8_t **tail, size_t *tail_bytes,
                              ImgstatError *err);
ImgstatResult png_palette_write(PngSink *sink, const PngForm *form, ImgstatError *err);

/* png/metadata.c: chunks of what another format says that PNG has a place for. */
ImgstatResult png_metadata_write(PngSink *sink, const Metadata *metadata, const PngForm *form,
                                 Warnings *warnings, ImgstatError *err);

/* png/pack.c: rows of samples as PNG stores them. */
typedef struct PngPacking {
    const EncodePage *page;
    uint8_t depth; /* of the output */
    bool invert;   /* samples are min-is-white, which PNG is not */
    bool widen;    /* samples have fewer bits than PNG can give this colour type */
} PngPacking;

void png_pack_row(const void *packing, const uint8_t *from, uint8_t *to);

/* png/idat_writer.c: rows to IDAT chunks. */
typedef struct PngIdat PngIdat;
typedef void (*PngPack)(const void *context, const uint8_t *from, uint8_t *to);

/* Rows of an image. */
typedef struct PngRows {
    size_t n;
    size_t from_bytes;  /* of a row as it is given */
    size_t row_bytes;   /* of one as PNG has it */
    size_t pixel_bytes; /* distance to the pixel on the left, at least 1 */
    PngPack pack;       /* from the one to the other, on any thread; NULL where they are the same */
    const void *context;
} PngRows;

/* choose: pick a filter for every row. */
ImgstatResult png_idat_create(PngSink *sink, const EncodeOptions *how, bool choose,
                              const PngRows *rows, PngIdat **out, ImgstatError *err);
void png_idat_destroy(PngIdat *idat); /* accepts NULL */
/* Rows are copied, unless a multiple of png_idat_batch comes at once. */
size_t png_idat_batch(const PngIdat *idat);
ImgstatResult png_idat_write(PngIdat *idat, const uint8_t *rows, size_t pitch, size_t n,
                             ImgstatError *err);
ImgstatResult png_idat_finish(PngIdat *idat, ImgstatError *err);

#endif
