/* SPDX-License-Identifier: MIT */
/* tile_decompress.c: deflate strips and tiles through libdeflate, about twice as fast as libtiff
 * with zlib, and LZW ones by lzw.c. Whatever is not exactly as it should be is left to libtiff. */
#include "tiff/decoder.h"
#include "tiff/lzw.h"
#include "tiff/predictor.h"

#include <stdlib.h>
#include <string.h>
#ifdef IMGSTAT_WITH_LIBDEFLATE
#include <libdeflate.h>
#endif

/* Compression makes a tile hardly larger; more means that its size in the directory is wrong. */
enum { SPARE_BYTES = 1 << 16 };

struct TiffDecompressor {
    Lzw *lzw; /* the one that the page needs */
#ifdef IMGSTAT_WITH_LIBDEFLATE
    struct libdeflate_decompressor *deflate;
#endif
    uint8_t *raw; /* a tile as it is in the file */
    size_t room;
    uint8_t *scratch; /* see tiff_predictor_decode */
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
bool tiff_decompressor_suits(const TiffDecoder *td)
{
    const TiffLayout *const layout = &td->layout;
    return layout->mode == TIFF_READ_TILES && is_known(layout) && tiff_predictor_known(layout);
}

TiffDecompressor *tiff_decompressor_create(const TiffDecoder *td)
{
    TiffDecompressor *const decompressor = calloc(1, sizeof *decompressor);
    bool complete = false;
    if (!decompressor)
        return NULL;
    if (!is_deflate(&td->layout)) {
        decompressor->lzw = lzw_create();
        complete = decompressor->lzw != NULL;
    }
#ifdef IMGSTAT_WITH_LIBDEFLATE
    if (is_deflate(&td->layout)) {
        decompressor->deflate = libdeflate_alloc_decompressor();
        complete = decompressor->deflate != NULL;
    }
#endif
    if (complete)
        return decompressor;
    free(decompressor);
    return NULL;
}

void tiff_decompressor_destroy(TiffDecompressor *decompressor)
{
    if (!decompressor)
        return;
    lzw_destroy(decompressor->lzw);
#ifdef IMGSTAT_WITH_LIBDEFLATE
    libdeflate_free_decompressor(decompressor->deflate);
#endif
    buffer_cache_release(decompressor->raw);
    free(decompressor->scratch);
    free(decompressor);
}

/* The n bytes that a tile takes in the file. */
static bool read_raw(TiffDecompressor *decompressor, const TiffDecoder *td, uint32_t index,
                     size_t *n)
{
    const TiffLayout *const layout = &td->layout;
    const uint64_t at = TIFFGetStrileOffset(td->handle.tif, index);
    const uint64_t stored = TIFFGetStrileByteCount(td->handle.tif, index);
    const uint64_t usual = (uint64_t)layout->tile_bytes + layout->tile_bytes / 2 + SPARE_BYTES;
    *n = 0;
    if (stored > usual || stored > SIZE_MAX / 2)
        return false;
    if (stored + LZW_SPARE > decompressor->room) {
        const size_t room = (size_t)stored + stored / 2 + LZW_SPARE;
        buffer_cache_release(decompressor->raw);
        decompressor->room = 0;
        decompressor->raw = buffer_cache_acquire(td->base.options.buffers, room);
        if (!decompressor->raw)
            return false;
        decompressor->room = room;
    }
    if (source_read(td->base.source, at, decompressor->raw, (size_t)stored, n, NULL) !=
            IMGSTAT_OK ||
        *n < stored)
        return false;
    memset(decompressor->raw + stored, 0, LZW_SPARE);
    return true;
}

static bool decompress(TiffDecompressor *decompressor, size_t n, uint8_t *to, size_t bytes,
                       size_t room)
{
    if (decompressor->lzw)
        return lzw_decode(decompressor->lzw, decompressor->raw, n, to, bytes);
#ifdef IMGSTAT_WITH_LIBDEFLATE
    /* With a checksum that holds and nothing too much or too little, zlib gives the same bytes. */
    size_t used = 0, made = 0;
    return libdeflate_zlib_decompress_ex(decompressor->deflate, decompressor->raw, n, to, room,
                                         &used, &made) == LIBDEFLATE_SUCCESS &&
           made >= bytes;
#else
    (void)room;
    return false;
#endif
}

bool tiff_decompress_tile(TiffDecompressor *decompressor, const TiffDecoder *td, uint32_t index,
                          uint8_t *to, size_t bytes, size_t room)
{
    size_t n;
    return read_raw(decompressor, td, index, &n) && decompress(decompressor, n, to, bytes, room) &&
           tiff_predictor_decode(&td->layout, to, bytes, &decompressor->scratch);
}
