/* SPDX-License-Identifier: MIT */
/* chunk_decompress.c: deflate strips and tiles through libdeflate, about twice as fast as libtiff
 * with zlib, and LZW ones by lzw.c. Whatever is not exactly as it should be is left to libtiff. */
#include "tiff/decoder.h"
#include "tiff/lzw.h"

#include <stdlib.h>
#include <string.h>
#ifdef IMGSTAT_WITH_LIBDEFLATE
#include <libdeflate.h>
#endif

/* Compression makes a chunk hardly larger; more means that its size in the directory is wrong. */
enum { SPARE_BYTES = 1 << 16 };

struct TiffQuick {
    Lzw *lzw; /* the one that the page needs */
#ifdef IMGSTAT_WITH_LIBDEFLATE
    struct libdeflate_decompressor *deflate;
#endif
    uint8_t *raw; /* a chunk as it is in the file */
    size_t room;
    uint8_t *scratch; /* see tiff_predictor_undo */
};

static bool is_deflate(const TiffLayout *layout)
{
    return layout->compression == COMPRESSION_DEFLATE ||
           layout->compression == COMPRESSION_ADOBE_DEFLATE;
}

static bool is_known(const TiffLayout *layout)
{
#ifdef IMGSTAT_WITH_LIBDEFLATE
    if (is_deflate(layout))
        return true;
#endif
    return layout->compression == COMPRESSION_LZW;
}

/* Whether this file treats the page as libtiff does. */
bool tiff_quick_suits(const TiffDecoder *td)
{
    const TiffLayout *const layout = &td->layout;
    return layout->path == TIFF_PATH_CHUNKS && is_known(layout) && tiff_predictor_known(layout);
}

TiffQuick *tiff_quick_create(const TiffDecoder *td)
{
    TiffQuick *const quick = calloc(1, sizeof *quick);
    bool complete = false;
    if (!quick)
        return NULL;
    if (!is_deflate(&td->layout)) {
        quick->lzw = lzw_create();
        complete = quick->lzw != NULL;
    }
#ifdef IMGSTAT_WITH_LIBDEFLATE
    if (is_deflate(&td->layout)) {
        quick->deflate = libdeflate_alloc_decompressor();
        complete = quick->deflate != NULL;
    }
#endif
    if (complete)
        return quick;
    free(quick);
    return NULL;
}

void tiff_quick_destroy(TiffQuick *quick)
{
    if (!quick)
        return;
    lzw_destroy(quick->lzw);
#ifdef IMGSTAT_WITH_LIBDEFLATE
    libdeflate_free_decompressor(quick->deflate);
#endif
    buffer_cache_release(quick->raw);
    free(quick->scratch);
    free(quick);
}

/* The n bytes that a chunk takes in the file. */
static bool read_raw(TiffQuick *quick, const TiffDecoder *td, uint32_t index, size_t *n)
{
    const TiffLayout *const layout = &td->layout;
    const uint64_t at = TIFFGetStrileOffset(td->handle.tif, index);
    const uint64_t stored = TIFFGetStrileByteCount(td->handle.tif, index);
    const uint64_t usual = (uint64_t)layout->chunk_bytes + layout->chunk_bytes / 2 + SPARE_BYTES;
    *n = 0;
    if (stored > usual || stored > SIZE_MAX / 2)
        return false;
    if (stored + LZW_SPARE > quick->room) {
        const size_t room = (size_t)stored + stored / 2 + LZW_SPARE;
        buffer_cache_release(quick->raw);
        quick->room = 0;
        quick->raw = buffer_cache_acquire(td->base.options.buffers, room);
        if (!quick->raw)
            return false;
        quick->room = room;
    }
    if (source_read(td->base.source, at, quick->raw, (size_t)stored, n, NULL) != IMGSTAT_OK ||
        *n < stored)
        return false;
    memset(quick->raw + stored, 0, LZW_SPARE);
    return true;
}

static bool decompress(TiffQuick *quick, size_t n, uint8_t *to, size_t bytes, size_t room)
{
    if (quick->lzw)
        return lzw_decode(quick->lzw, quick->raw, n, to, bytes);
#ifdef IMGSTAT_WITH_LIBDEFLATE
    /* With a checksum that holds and nothing too much or too little, zlib gives the same bytes. */
    size_t used = 0, made = 0;
    return libdeflate_zlib_decompress_ex(quick->deflate, quick->raw, n, to, room, &used, &made) ==
               LIBDEFLATE_SUCCESS &&
           made >= bytes;
#else
    (void)room;
    return false;
#endif
}

bool tiff_quick_chunk(TiffQuick *quick, const TiffDecoder *td, uint32_t index, uint8_t *to,
                      size_t bytes, size_t room)
{
    size_t n;
    return read_raw(quick, td, index, &n) && decompress(quick, n, to, bytes, room) &&
           tiff_predictor_undo(&td->layout, to, bytes, &quick->scratch);
}
