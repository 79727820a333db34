/* SPDX-License-Identifier: MIT */
/* idat_reader.h: the rows of a PNG as they are before unfiltering, straight from its IDAT chunks.
 */
#ifndef IMGSTAT_PNG_IDAT_READER_H
#define IMGSTAT_PNG_IDAT_READER_H

#include "codec/codec.h"

/* The compressed pixels of one image. */
typedef struct PngStream PngStream;

/* Opens the stream whose first IDAT chunk has chunk_bytes bytes of data at `at`. row_bytes: of a
 * row without its filter byte. max_chunk: larger IDAT chunks are refused, unless all rows together
 * are larger. threaded: a thread decompresses ahead. buffers: of its memory; NULL: it is not kept.
 * Returns NULL where libpng must decide, for whatever reason. */
PngStream *png_stream_open(const Source *source, uint64_t at, uint32_t chunk_bytes,
                           size_t row_bytes, uint32_t rows, uint64_t max_chunk, bool threaded,
                           BufferCache *buffers);

/* Accepts NULL. */
void png_stream_close(PngStream *stream);

/* Returns the next row, its filter and row_bytes bytes, valid until the next call. Returns NULL for
 * anything out of the ordinary; rows returned before are right. */
const uint8_t *png_stream_row(PngStream *stream);

/* Returns whether stream, chunks and everything up to the end of the image are in order, so that
 * libpng would report nothing. After the last row. */
bool png_stream_ends_well(PngStream *stream);

#endif
