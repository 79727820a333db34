/* SPDX-License-Identifier: MIT */
/* strip_stream.c: strips too large to hold, decompressed as their rows are asked for: deflate and
 * LZW about twice as fast as by libtiff, and none of them with its compressed bytes held. Whatever
 * is not exactly as it should be is left to libtiff, which begins with the strip anew. */
#include "codec/inflate.h"
#include "tiff/decoder.h"
#include "tiff/lzw.h"
#include "tiff/predictor.h"

#include <stdlib.h>
#include <string.h>

enum {
    READ_BYTES = 1 << 18, /* compressed, of all planes: within the cache */
    LEAST_READ = 1 << 12  /* of one */
};

struct TiffStrip {
    uint32_t index; /* of the strip */
    uint32_t row;   /* of it that comes next */
    uint64_t at;    /* in the file, behind input */
    uint64_t left;  /* of the strip, not yet read */
    uint8_t *input; /* `room` bytes and LZW_SPARE */
    size_t room;
    const uint8_t *data;
    size_t n_data;
    const Source *source;
    uint8_t *scratch;       /* see tiff_predictor_decode */
    InflateStream *inflate; /* a strip's, or */
    LzwStream *lzw;         /* the page's */
    bool failed;            /* libtiff has the page */
};

void tiff_strip_destroy(TiffStrip *strip)
{
    if (!strip)
        return;
    inflate_stream_destroy(strip->inflate);
    lzw_stream_destroy(strip->lzw);
    free(strip->scratch);
    buffer_cache_release(strip->input);
    free(strip);
}

bool tiff_strip_suits(const TiffDecoder *td)
{
    const TiffLayout *const layout = &td->layout;
    return td->base.mode != DECODE_PLAIN && tiff_predictor_known(layout) &&
           (tiff_is_deflate(layout->compression) || layout->compression == COMPRESSION_LZW);
}

/* Threads that decompress one stream. Those of several planes, row by row, would be too many. */
static unsigned threads_of(const TiffDecoder *td)
{
    return tiff_planes_together(td) > 1 ? 1 : decoder_threads(&td->base);
}

uint64_t tiff_strip_holds(const TiffDecoder *td)
{
    const TiffLayout *const layout = &td->layout;
    const uint64_t stored = layout->stored_bytes ? layout->stored_bytes : layout->tile_bytes;
    return tiff_is_deflate(layout->compression)
               ? inflate_stream_bytes(layout->tile_bytes, stored, threads_of(td))
               : 0;
}

static size_t read_bytes(const TiffDecoder *td)
{
    const size_t room = (size_t)READ_BYTES / tiff_planes_together(td);
    return room > LEAST_READ ? room : LEAST_READ;
}

static uint32_t rows_of(const TiffDecoder *td, uint32_t index)
{
    const uint32_t height = td->layout.tile_height;
    const uint32_t left = td->base.page.height - index % td->layout.down * height;
    return left < height ? left : height;
}

/* Reads more of the strip: InflateRead. */
static size_t read_strip(void *context, uint8_t *to, size_t room)
{
    TiffStrip *const strip = context;
    const size_t n = strip->left < room ? (size_t)strip->left : room;
    size_t got = 0;
    if (source_read(strip->source, strip->at, to, n, &got, NULL) != IMGSTAT_OK || got < n)
        return 0;
    strip->at += n;
    strip->left -= n;
    return n;
}

static bool begin(TiffStrip *strip, const TiffDecoder *td, uint32_t index)
{
    inflate_stream_destroy(strip->inflate);
    strip->inflate = NULL;
    strip->index = index;
    strip->row = 0;
    strip->at = TIFFGetStrileOffset(td->handle.tif, index);
    strip->left = TIFFGetStrileByteCount(td->handle.tif, index);
    strip->data = strip->input;
    strip->n_data = 0;
    if (strip->lzw) {
        lzw_stream_begin(strip->lzw);
        return true;
    }
    const InflateSource input = {.read = read_strip,
                                 .context = strip,
                                 .total = (uint64_t)rows_of(td, index) * td->layout.row_bytes,
                                 .compressed = strip->left,
                                 .read_bytes = strip->room,
                                 .threads = threads_of(td),
                                 .always = td->base.mode == DECODE_THREADS};
    strip->inflate = inflate_stream_create(&input, td->base.options.buffers);
    return strip->inflate != NULL;
}

/* Behind what is left of the bytes before: less than a code of LZW. */
static bool read_on(TiffStrip *strip)
{
    const size_t kept = strip->n_data;
    if (kept > 0)
        memmove(strip->input, strip->data, kept);
    const size_t n = read_strip(strip, strip->input + kept, strip->room - kept);
    memset(strip->input + kept + n, 0, LZW_SPARE);
    strip->data = strip->input;
    strip->n_data = kept + n;
    return n > 0;
}

/* Fills `room` bytes. */
static bool decode_lzw(TiffStrip *strip, uint8_t *to, size_t room)
{
    for (;;) {
        if (!lzw_stream_run(strip->lzw, &strip->data, &strip->n_data, &to, &room))
            return false;
        if (room == 0)
            return true;
        if (!read_on(strip))
            return false;
    }
}

/* Fills `room` bytes; the last of the strip only where the stream ends with them. */
static bool inflate_rows(TiffStrip *strip, uint8_t *to, size_t room, bool last)
{
    bool surplus;
    return inflate_stream_read(strip->inflate, to, room) &&
           (!last || inflate_stream_end(strip->inflate, &surplus));
}

static TiffStrip *create(const TiffDecoder *td)
{
    TiffStrip *const strip = calloc(1, sizeof *strip);
    const bool lzw = td->layout.compression == COMPRESSION_LZW;
    if (!strip)
        return NULL;
    strip->source = td->base.source;
    strip->room = read_bytes(td);
    if (lzw) {
        strip->input = buffer_cache_acquire(td->base.options.buffers, strip->room + LZW_SPARE);
        strip->lzw = lzw_stream_create();
    }
    strip->failed = lzw && (!strip->input || !strip->lzw);
    return strip;
}

bool tiff_strip_rows(const TiffDecoder *td, TiffStrip **of, uint32_t index, uint32_t row,
                     uint32_t rows, uint8_t *to)
{
    if (!*of && (!tiff_strip_suits(td) || !(*of = create(td))))
        return false;
    TiffStrip *const strip = *of;
    const size_t bytes = rows * td->layout.row_bytes;
    const bool last = row + rows == rows_of(td, index);
    if (strip->failed)
        return false;
    bool good = row > 0 || begin(strip, td, index);
    good = good && strip->index == index && strip->row == row;
    if (good)
        good = strip->lzw ? decode_lzw(strip, to, bytes) : inflate_rows(strip, to, bytes, last);
    good = good && tiff_predictor_decode(&td->layout, to, bytes, &strip->scratch);
    strip->failed = !good;
    strip->row += rows;
    return good;
}
