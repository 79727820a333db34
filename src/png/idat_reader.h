/* SPDX-License-Identifier: MIT */
/* idat_reader.h: the rows of a PNG as they are before unfiltering, straight from its IDAT chunks.
 */
#ifndef IMGSTAT_PNG_IDAT_READER_H
#define IMGSTAT_PNG_IDAT_READER_H

#include "codec/codec.h"

typedef struct PngStream PngStream;

/* at: where the data of the first IDAT chunk lie, chunk_bytes of them. row_bytes: without the byte
 * that names the filter. max_chunk: IDAT chunks beyond it, and beyond all rows together, are
 * refused. threaded: a thread decompresses ahead. scratch: where its memory comes from. NULL: no
 * such stream, for whatever reason. */
PngStream *png_stream_open(const Source *source, uint64_t at, uint32_t chunk_bytes,
                           size_t row_bytes, uint32_t rows, uint64_t max_chunk, bool threaded,
                           BufferCache *scratch);
void png_stream_close(PngStream *stream); /* accepts NULL */

/* The next row: its filter, then row_bytes bytes, valid until the next call. NULL: something is not
 * as it should be; what was given before is right. */
const uint8_t *png_stream_row(PngStream *stream);

/* After the last row: whether stream, chunks and all that follows them to the end of the image are
 * in order, so that libpng would have no word to say. */
bool png_stream_ends_well(PngStream *stream);

#endif
