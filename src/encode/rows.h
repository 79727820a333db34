/* SPDX-License-Identifier: MIT */
/* rows.h: rows of images to IDAT chunks, or to strips and tiles of TIFF. A device filters and
 * compresses what it can; the processor does the rest, and gives the same bytes. */
#ifndef IMGSTAT_ENCODE_ROWS_H
#define IMGSTAT_ENCODE_ROWS_H

#include "base/thread_pool.h"
#include "codec/device_pieces.h"
#include "device/device.h"
#include "png/encoder.h"

/* An image. */
typedef struct RowImage {
    PngRows rows;     /* of a PNG; or */
    TiledImage tiles; /* of a TIFF, without places: page.n_tiles is not 0 */
    /* Of a TIFF: receive bytes and places of the tiles behind `at`, by number. */
    uint64_t *tile_bytes, *tile_at;
    ImagePro image; /* in host memory, or in the device's own */
    /* What is written around the chunks of a PNG; or room around the tiles of a TIFF: */
    uint8_t head[PNG_HEAD_MOST];
    size_t head_bytes, tail_bytes; /* a tail of a PNG is IEND */
    /* Not IMGSTAT_OK: the image is left out. row_encoder_finish makes it IMGSTAT_ERR_LIMIT where
     * the memory for files is too small, and IMGSTAT_ERR_MEMORY where memory runs out. */
    ImgstatResult result;
    /* Set by row_encoder_finish: where its bytes are, until row_encoder_async. */
    uint8_t *at;
    size_t bytes;
    bool on_device; /* set by row_encoder_async: the device makes it */
    /* The encoder's: */
    size_t piece_rows, first_there;
    uint32_t adler;
} RowImage;

/* Loads what a device encodes with: later the driver may wait until the device is idle. */
ImgstatResult row_encoder_load(Device *device, ImgstatError *err);

/* Encodes images, with all the memory that it takes. */
typedef struct RowEncoder RowEncoder;

/* fast: the setting, as EncodeOptions has it. threads: of the processor, that it may use. */
ImgstatResult row_encoder_create(Device *device, bool fast, unsigned threads, RowEncoder **out,
                                 ImgstatError *err);

/* Accepts NULL. */
void row_encoder_destroy(RowEncoder *encoder);

/* Returns how many bytes n images can become. */
size_t row_encoder_bound(const RowImage *images, size_t n);

/* Has memory for n such images, whose pixels are not read, and `bytes` bytes for what they become.
 * Allocates, and may wait, where it has less. */
ImgstatResult row_encoder_reserve(RowEncoder *encoder, const RowImage *images, size_t n,
                                  size_t bytes, ImgstatError *err);

/* Returns whether there is memory for n images, but for what they become. */
bool row_encoder_fits(const RowEncoder *encoder, const RowImage *images, size_t n);

/* Enqueues n images, which fit, all of PNG or all of TIFF. They stay, and so do their pixels, until
 * row_encoder_finish. */
ImgstatResult row_encoder_async(RowEncoder *encoder, RowImage *images, size_t n, void *stream,
                                ImgstatError *err);

/* Waits for the stream, and does what the device did not. pool: of `threads` threads or more, or
 * NULL: the caller's thread does it. Fails if the device fails. */
ImgstatResult row_encoder_finish(RowEncoder *encoder, ThreadPool *pool, void *stream,
                                 ImgstatError *err);

#endif
