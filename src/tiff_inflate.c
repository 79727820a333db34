/* SPDX-License-Identifier: MIT */
/* tiff_inflate.c: deflate strips and tiles through libdeflate, about twice as fast as libtiff with
 * zlib. Whatever is not exactly as it should be is left to libtiff. */
#include "tiff.h"
#include "undo.h"

#include <stdlib.h>
#ifdef IMGSTAT_WITH_LIBDEFLATE
#include <libdeflate.h>
#endif

/* Deflate makes a chunk hardly larger; more means that its size in the directory is wrong. */
enum { SPARE_BYTES = 1 << 16 };

struct TiffInflate {
    struct libdeflate_decompressor *state;
    uint8_t *raw; /* a chunk as it is in the file */
    size_t room;
    uint8_t *scratch; /* predictor 3: a row */
};

/* Whether this file treats the page as libtiff does. */
bool tiff_inflate_suits(const TiffDecoder *td)
{
#ifdef IMGSTAT_WITH_LIBDEFLATE
    const TiffLayout *const layout = &td->layout;
    const unsigned bits = layout->bits;
    const bool whole = bits == 8 || bits == 16 || bits == 32 || bits == 64;
    if (layout->path != TIFF_PATH_CHUNKS || layout->reversed ||
        (layout->compression != COMPRESSION_DEFLATE &&
         layout->compression != COMPRESSION_ADOBE_DEFLATE))
        return false;
    switch (layout->predictor) {
    case PREDICTOR_NONE:
        return whole || !layout->swapped;
    case PREDICTOR_HORIZONTAL:
        return whole;
    case PREDICTOR_FLOATINGPOINT:
        return whole && bits > 8 && layout->format == SAMPLEFORMAT_IEEEFP;
    default:
        return false;
    }
#else
    (void)td;
    return false;
#endif
}

#ifdef IMGSTAT_WITH_LIBDEFLATE

TiffInflate *tiff_inflate_create(void)
{
    TiffInflate *const inflate = calloc(1, sizeof *inflate);
    if (!inflate)
        return NULL;
    inflate->state = libdeflate_alloc_decompressor();
    if (!inflate->state) {
        free(inflate);
        return NULL;
    }
    return inflate;
}

void tiff_inflate_destroy(TiffInflate *inflate)
{
    if (!inflate)
        return;
    libdeflate_free_decompressor(inflate->state);
    free(inflate->raw);
    free(inflate->scratch);
    free(inflate);
}

static bool undo_predictor(TiffInflate *inflate, const TiffLayout *layout, uint8_t *to,
                           size_t bytes)
{
    const size_t row_bytes = layout->row_bytes, step = layout->per_chunk;
    if (layout->predictor == PREDICTOR_FLOATINGPOINT && !inflate->scratch)
        inflate->scratch = malloc(row_bytes);
    if (layout->predictor == PREDICTOR_FLOATINGPOINT && !inflate->scratch)
        return false;
    if (layout->predictor != PREDICTOR_FLOATINGPOINT)
        tiff_swap(layout, to, bytes);
    for (size_t at = 0; layout->predictor != PREDICTOR_NONE && at < bytes; at += row_bytes) {
        uint8_t *const row = to + at;
        if (layout->predictor == PREDICTOR_FLOATINGPOINT)
            undo_float(row, row_bytes, layout->bits / 8u, step, inflate->scratch);
        else if (layout->bits == 8)
            undo_sub8(row, row_bytes, step);
        else if (layout->bits == 16)
            undo_sub16(row, row_bytes, step);
        else if (layout->bits == 32)
            undo_sub32(row, row_bytes, step);
        else
            undo_sub64(row, row_bytes, step);
    }
    return true;
}

bool tiff_inflate_chunk(TiffInflate *inflate, const TiffDecoder *td, uint32_t index, uint8_t *to,
                        size_t bytes, size_t room)
{
    const TiffLayout *const layout = &td->layout;
    const uint64_t at = TIFFGetStrileOffset(td->handle.tif, index);
    const uint64_t stored = TIFFGetStrileByteCount(td->handle.tif, index);
    size_t got = 0, made = 0;
    if (stored > (uint64_t)layout->chunk_bytes + layout->chunk_bytes / 8 + SPARE_BYTES)
        return false;
    if (stored > inflate->room) {
        free(inflate->raw);
        inflate->room = 0;
        inflate->raw = malloc((size_t)stored + stored / 8);
        if (!inflate->raw)
            return false;
        inflate->room = (size_t)(stored + stored / 8);
    }
    if (source_read(td->base.source, at, inflate->raw, (size_t)stored, &got, NULL) != IMGSTAT_OK ||
        got < stored)
        return false;
    /* With a checksum that holds and nothing too much or too little, zlib gives the same bytes. */
    size_t used = 0;
    if (libdeflate_zlib_decompress_ex(inflate->state, inflate->raw, got, to, room, &used, &made) !=
            LIBDEFLATE_SUCCESS ||
        made < bytes)
        return false;
    return undo_predictor(inflate, layout, to, bytes);
}

#else

TiffInflate *tiff_inflate_create(void)
{
    return NULL;
}

void tiff_inflate_destroy(TiffInflate *inflate)
{
    (void)inflate;
}

bool tiff_inflate_chunk(TiffInflate *inflate, const TiffDecoder *td, uint32_t index, uint8_t *to,
                        size_t bytes, size_t room)
{
    (void)inflate, (void)td, (void)index, (void)to, (void)bytes, (void)room;
    return false;
}

#endif
