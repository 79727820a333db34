/* SPDX-License-Identifier: MIT */
/* idat_reader.h: reads the filtered rows of a PNG from its IDAT chunks, without libpng. */
#ifndef IMGSTAT_PNG_IDAT_READER_H
#define IMGSTAT_PNG_IDAT_READER_H

#include "codec/codec.h"

/* The compressed pixels of one image. */
typedef struct PngStream PngStream;

/* Opens a stream. at, chunk_bytes: place and length of the data of the first IDAT chunk. row_bytes:
 * of a row without its filter byte. max_chunk: larger IDAT chunks are refused, unless all rows
 * together are larger. threads: for decompressing; with more than one they work ahead. always: as
 * in InflateSource. buffers: for its memory; NULL: memory is not kept. Returns NULL if libpng must
 * read the image. */
PngStream *png_stream_open(const Source *source, uint64_t at, uint32_t chunk_bytes,
                           size_t row_bytes, uint32_t rows, uint64_t max_chunk, unsigned threads,
                           bool always, BufferCache *buffers);

/* Accepts NULL. */
void png_stream_close(PngStream *stream);

/* Returns the next rows, as many as are at hand, `most` > 0 at most: *n of them, each its filter
 * and row_bytes bytes, one behind the other, valid until the next call. Returns NULL for every
 * fault; rows returned before are right. */
const uint8_t *png_stream_rows(PngStream *stream, uint32_t most, uint32_t *n);

/* Returns whether the stream and all chunks up to the end of the image are right, so that libpng
 * would report nothing. Call it after the last row. */
bool png_stream_ends_well(PngStream *stream);

/* Returns whether the chunks from `at` on are those of a usual end of an image, so that libpng
 * would report nothing. */
bool png_tail_is_usual(const Source *source, uint64_t at);

#endif
