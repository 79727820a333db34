/* SPDX-License-Identifier: MIT */
/* tiff_strip.c: deflate strips too large to hold, decompressed as their rows are asked for, about
 * twice as fast as libtiff with zlib. Whatever is not exactly as it should be is left to libtiff,
 * which begins with the strip anew. */
#include "inflate.h"
#include "tiff.h"

#include <stdlib.h>

enum { READ_BYTES = 1 << 18 }; /* compressed: within the cache */

struct TiffStrip {
    uint32_t index; /* of the strip */
    uint32_t row;   /* of it that comes next */
    uint64_t at;    /* in the file, behind input */
    uint64_t left;  /* of the strip, not yet read */
    uint8_t *input; /* READ_BYTES */
    const uint8_t *data;
    size_t n_data;
    uint8_t *scratch; /* see tiff_predictor_undo */
    Inflater *inflater;
    bool failed; /* libtiff has the page */
};

void tiff_strip_destroy(TiffStrip *strip)
{
    if (!strip)
        return;
    inflater_destroy(strip->inflater);
    free(strip->scratch);
    free(strip->input);
    free(strip);
}

static bool suits(const TiffDecoder *td)
{
    const TiffLayout *const layout = &td->layout;
    return td->base.way != DECODE_PLAIN &&
           (layout->compression == COMPRESSION_DEFLATE ||
            layout->compression == COMPRESSION_ADOBE_DEFLATE) &&
           tiff_predictor_known(layout);
}

static uint32_t rows_of(const TiffDecoder *td, uint32_t index)
{
    const uint32_t height = td->layout.chunk_height;
    const uint32_t left = td->base.page.height - index % td->layout.down * height;
    return left < height ? left : height;
}

static bool begin(TiffStrip *strip, const TiffDecoder *td, uint32_t index)
{
    inflater_destroy(strip->inflater);
    strip->inflater = inflater_create((uint64_t)rows_of(td, index) * td->layout.row_bytes);
    strip->index = index;
    strip->row = 0;
    strip->at = TIFFGetStrileOffset(td->handle.tif, index);
    strip->left = TIFFGetStrileByteCount(td->handle.tif, index);
    strip->n_data = 0;
    return strip->inflater != NULL;
}

static bool read_on(TiffStrip *strip, const Source *source)
{
    const size_t n = strip->left < READ_BYTES ? (size_t)strip->left : READ_BYTES;
    size_t got = 0;
    if (source_read(source, strip->at, strip->input, n, &got, NULL) != IMGSTAT_OK || got < n)
        return false;
    strip->at += n;
    strip->left -= n;
    strip->data = strip->input;
    strip->n_data = n;
    return n > 0;
}

/* Fills `room` bytes; the last of the strip only where the stream ends with them. */
static bool decompress(TiffStrip *strip, const Source *source, uint8_t *to, size_t room, bool last)
{
    InflateState state = INFLATE_MORE;
    while (room > 0) {
        if (state == INFLATE_END || (strip->n_data == 0 && !read_on(strip, source)))
            return false;
        state = inflater_run(strip->inflater, &strip->data, &strip->n_data, &to, &room);
        if (state == INFLATE_DAMAGED)
            return false;
    }
    while (last && state != INFLATE_END) {
        uint8_t surplus, *at = &surplus;
        const size_t before = strip->n_data;
        room = 1;
        state = inflater_run(strip->inflater, &strip->data, &strip->n_data, &at, &room);
        if (state == INFLATE_DAMAGED || room == 0)
            return false;
        if (state == INFLATE_MORE && (strip->n_data == before) && before > 0)
            return false;
        if (state == INFLATE_MORE && strip->n_data == 0 && !read_on(strip, source))
            return false;
    }
    return last || state == INFLATE_MORE;
}

bool tiff_strip_rows(TiffDecoder *td, uint32_t index, uint32_t row, uint32_t rows, uint8_t *to)
{
    if (!td->strip) {
        if (!suits(td) || !(td->strip = calloc(1, sizeof *td->strip)))
            return false;
        td->strip->input = malloc(READ_BYTES);
        td->strip->failed = td->strip->input == NULL;
    }
    TiffStrip *const strip = td->strip;
    const size_t bytes = rows * td->layout.row_bytes;
    const bool last = row + rows == rows_of(td, index);
    if (strip->failed)
        return false;
    strip->failed = (row == 0 && !begin(strip, td, index)) || strip->index != index ||
                    strip->row != row || !decompress(strip, td->base.source, to, bytes, last) ||
                    !tiff_predictor_undo(&td->layout, to, bytes, &strip->scratch);
    strip->row += rows;
    return !strip->failed;
}
