/* SPDX-License-Identifier: MIT */
/* tiles.c: one strip or tile, decoded and put in its place in an image. Deflate goes through
 * libdeflate, about twice as fast as libtiff with zlib, and LZW through lzw.c; whatever is not
 * exactly as it should be is left to libtiff. */
#include "tiff/decoder.h"
#include "tiff/lzw.h"
#include "tiff/predictor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef IMGSTAT_WITH_LIBDEFLATE
#include <libdeflate.h>
#endif

const char *tiff_tile_name(const TiffDecoder *td, uint32_t index, char text[64])
{
    const TiffLayout *const layout = &td->layout;
    snprintf(text, 64, "%s %llu of %llu", layout->tiled ? "tile" : "strip",
             (unsigned long long)index + 1,
             (unsigned long long)layout->across * layout->down * layout->planes);
    return text;
}

ImgstatResult tiff_tile_failed(const TiffDecoder *td, uint32_t index, ImgstatError *err)
{
    char tile[64];
    tiff_tile_name(td, index, tile);
    const ImgstatResult code =
        td->failure.code == IMGSTAT_OK ? IMGSTAT_ERR_FORMAT : td->failure.code;
    if (code == IMGSTAT_ERR_TRUNCATED)
        return error_file(err, code, td->base.source->name, "%s ends early", tile);
    return error_file(err, code, td->base.source->name, "%s cannot be decoded: %s", tile,
                      td->failure.code == IMGSTAT_OK ? "damaged" : td->failure.message);
}

bool tiff_tile_absent(const TiffDecoder *td, uint32_t index)
{
    return TIFFGetStrileByteCount(td->handle.tif, index) == 0 ||
           TIFFGetStrileOffset(td->handle.tif, index) == 0;
}

/* ---- Without libtiff ---- */

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

static bool is_known(const TiffLayout *layout)
{
#ifdef IMGSTAT_WITH_LIBDEFLATE
    if (tiff_is_deflate(layout->compression))
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
    if (!tiff_is_deflate(td->layout.compression)) {
        decompressor->lzw = lzw_create();
        complete = decompressor->lzw != NULL;
    }
#ifdef IMGSTAT_WITH_LIBDEFLATE
    if (tiff_is_deflate(td->layout.compression)) {
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

bool tiff_stored_is_usual(const TiffLayout *layout, uint64_t stored)
{
    return stored <= (uint64_t)layout->tile_bytes + layout->tile_bytes / 2 + SPARE_BYTES;
}

/* The n bytes that a tile takes in the file. */
static bool read_raw(TiffDecompressor *decompressor, const TiffDecoder *td, uint32_t index,
                     size_t *n)
{
    const TiffLayout *const layout = &td->layout;
    const uint64_t at = TIFFGetStrileOffset(td->handle.tif, index);
    const uint64_t stored = TIFFGetStrileByteCount(td->handle.tif, index);
    *n = 0;
    if (!tiff_stored_is_usual(layout, stored) || stored > SIZE_MAX / 2)
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

static bool decompress_tile(TiffDecompressor *decompressor, const TiffDecoder *td, uint32_t index,
                            uint8_t *to, size_t bytes, size_t room)
{
    size_t n;
    return read_raw(decompressor, td, index, &n) && decompress(decompressor, n, to, bytes, room) &&
           tiff_predictor_decode(&td->layout, to, bytes, &decompressor->scratch);
}

/* ---- Memory and places ---- */

ImgstatResult tiff_tile_reserve(TiffDecoder *td, size_t bytes, ImgstatError *err)
{
    if (bytes <= td->tile_room)
        return IMGSTAT_OK;
    buffer_cache_release(td->tile);
    td->tile_room = 0;
    td->tile = buffer_cache_acquire(td->base.options.buffers, bytes);
    if (!td->tile)
        return error_memory(err, bytes, "a strip or tile");
    td->tile_room = bytes;
    return IMGSTAT_OK;
}

/* One tile row of whole samples, where unpacking or filling needs it. */
ImgstatResult tiff_row_reserve(TiffDecoder *td, ImgstatError *err)
{
    const size_t bytes = (size_t)td->layout.tile_width * td->layout.per_tile * 8;
    if (td->row)
        return IMGSTAT_OK;
    td->row = buffer_cache_acquire(td->base.options.buffers, bytes);
    return td->row ? IMGSTAT_OK : error_memory(err, bytes, "a row of pixels");
}

/* The type of samples before a palette is applied. */
static ImgstatSample stored_sample(const TiffDecoder *td)
{
    if (td->map8 || td->map16)
        return td->layout.bits <= 8 ? IMGSTAT_U8 : IMGSTAT_U16;
    return td->base.page.sample;
}

void tiff_place_row(TiffDecoder *td, const uint8_t *from, uint16_t plane, uint32_t x,
                    uint32_t pixels, uint8_t *to)
{
    if (tiff_needs_unpack(&td->layout)) {
        tiff_unpack(&td->layout, stored_sample(td), from, td->row,
                    (size_t)pixels * td->layout.per_tile);
        from = td->row;
    }
    tiff_place(td, from, plane, x, pixels, to);
}

void tiff_fill_absent(TiffDecoder *td, uint16_t plane, uint8_t *to, size_t pitch, uint32_t x,
                      uint32_t pixels, uint32_t rows)
{
    const size_t n = (size_t)pixels * td->layout.per_tile;
    if (td->map8 || td->map16)
        memset(td->row, 0, 2 * n); /* index 0 */
    else
        tiff_nodata_fill(&td->base.page, td->row, n);
    for (uint32_t y = 0; y < rows; y++)
        tiff_place(td, td->row, plane, x, pixels, to + y * pitch);
}

/* ---- Decoding ---- */

static bool make_codec_anew(const TiffDecoder *td, TIFF *tif)
{
    return TIFFSetField(tif, TIFFTAG_COMPRESSION, COMPRESSION_NONE) &&
           TIFFSetField(tif, TIFFTAG_COMPRESSION, td->layout.compression);
}

static bool make_jpeg_anew(const TiffDecoder *td, TIFF *tif)
{
    uint32_t n = 0;
    const void *tables = NULL;
    void *copy = NULL;
    if (TIFFGetField(tif, TIFFTAG_JPEGTABLES, &n, &tables) && n > 0) {
        copy = malloc(n);
        if (!copy)
            return false;
        memcpy(copy, tables, n);
    }
    const bool good =
        make_codec_anew(td, tif) && (!copy || TIFFSetField(tif, TIFFTAG_JPEGTABLES, n, copy));
    free(copy);
    tiff_page_prepare(td);
    return good;
}

static bool make_fax_anew(const TiffDecoder *td, TIFF *tif, uint32_t tag)
{
    uint32_t options = 0;
    const bool has = tag != 0 && TIFFGetField(tif, tag, &options);
    return make_codec_anew(td, tif) && (!has || TIFFSetField(tif, tag, options));
}

/* The JPEG decoder keeps the tables that one strip or tile defines for the next, the CCITT decoder
 * runs of its rows, which a damaged row takes for those above it: which pixels come would depend on
 * what a handle decoded before. A decoder made anew has neither. (Reading the directory again would
 * help as well, but takes time for each of its strips or tiles.) */
bool tiff_renew_codec(const TiffDecoder *td, TIFF *tif)
{
    switch (td->layout.compression) {
    case COMPRESSION_JPEG:
        return make_jpeg_anew(td, tif);
    case COMPRESSION_CCITTFAX3:
        return make_fax_anew(td, tif, TIFFTAG_GROUP3OPTIONS);
    case COMPRESSION_CCITTFAX4:
        return make_fax_anew(td, tif, TIFFTAG_GROUP4OPTIONS);
    case COMPRESSION_CCITTRLE:
    case COMPRESSION_CCITTRLEW:
        return make_fax_anew(td, tif, 0);
    default:
        return true;
    }
}

/* libtiff takes all LZW tiles of a page for old ones, lowest bit first, or for new ones as the one
 * looks that a handle decodes first. A handle that begins elsewhere looks at the page's first. */
void tiff_prime_lzw(TiffDecoder *td, uint32_t index)
{
    TIFF *const tif = td->handle.tif;
    const TiffLayout *const layout = &td->layout;
    const uint32_t n = layout->across * layout->down * layout->planes;
    uint32_t first = 0;
    if (td->primed || layout->compression != COMPRESSION_LZW)
        return;
    td->primed = true;
    for (uint32_t k = 0; k < n; k++) { /* in the order in which they are decoded */
        const uint32_t beside = k % layout->across, row = k / layout->across;
        first =
            (row % layout->planes * layout->down + row / layout->planes) * layout->across + beside;
        if (!tiff_tile_absent(td, first))
            break;
    }
    uint8_t *const pixels = first == index ? NULL : malloc(layout->row_bytes);
    if (pixels && layout->tiled)
        TIFFReadEncodedTile(tif, first, pixels, (tmsize_t)layout->row_bytes);
    else if (pixels)
        TIFFReadEncodedStrip(tif, first, pixels, (tmsize_t)layout->row_bytes);
    free(pixels);
}

/* libtiff's ThunderScan decoder leaves a run out that ends with its row: what the memory held
 * before would be taken for pixels. */
void tiff_clear_before(const TiffDecoder *td, uint8_t *to, size_t bytes)
{
    if (td->layout.compression == COMPRESSION_THUNDERSCAN)
        memset(to, 0, bytes);
}

/* Decodes the first rows of a tile, `bytes` in all. */
static bool decode_tile(TiffDecoder *td, uint32_t index, uint8_t *to, size_t bytes)
{
    TIFF *const tif = td->handle.tif;
    if (td->decompressor)
        return decompress_tile(td->decompressor, td, index, to, bytes,
                               to == td->tile ? td->layout.tile_bytes : bytes);
    const bool ready = tiff_renew_codec(td, tif);
    tiff_prime_lzw(td, index);
    tiff_clear_error(td);
    if (!ready)
        return false;
    tiff_clear_before(td, to, bytes);
    const tmsize_t got = td->layout.tiled ? TIFFReadEncodedTile(tif, index, to, (tmsize_t)bytes)
                                          : TIFFReadEncodedStrip(tif, index, to, (tmsize_t)bytes);
    return got == (tmsize_t)bytes && td->failure.code == IMGSTAT_OK;
}

/* CCITT data may end before the last row without a word, and so may JPEG and JBIG data that declare
 * fewer rows: those that are missing keep what the memory held before, so decoding into two
 * patterns shows them. */
static bool decode_whole_tile(TiffDecoder *td, uint32_t index, uint32_t rows, size_t bytes)
{
    static const uint8_t patterns[] = {0xAA, 0x55};
    const size_t last = (rows - 1) * td->layout.row_bytes;
    for (size_t p = 0; p < sizeof patterns; p++) {
        size_t same = 0;
        memset(td->tile, patterns[p], bytes);
        if (!decode_tile(td, index, td->tile, bytes))
            return false;
        while (same < td->layout.row_bytes && td->tile[last + same] == patterns[p])
            same++;
        if (same < td->layout.row_bytes)
            return true;
    }
    (void)!error_set(&td->failure, IMGSTAT_ERR_TRUNCATED, "ends before its last row");
    return false;
}

bool tiff_ends_silently(uint16_t compression)
{
    return compression == COMPRESSION_JPEG || compression == COMPRESSION_JBIG ||
           compression == COMPRESSION_CCITTRLE || compression == COMPRESSION_CCITTRLEW ||
           compression == COMPRESSION_CCITTFAX3 || compression == COMPRESSION_CCITTFAX4;
}

ImgstatResult tiff_tile_read(TiffDecoder *td, uint32_t index, uint32_t across, uint16_t plane,
                             uint8_t *to, size_t pitch, uint32_t rows, ImgstatError *err)
{
    const TiffLayout *const layout = &td->layout;
    const uint32_t x = across * layout->tile_width, left = td->base.page.width - x;
    const uint32_t pixels = left < layout->tile_width ? left : layout->tile_width;
    /* Some writers leave the rows below the image out of their last tiles; nobody needs those. */
    const bool all_rows = layout->tiled && layout->compression == COMPRESSION_JBIG;
    const size_t bytes = all_rows ? layout->tile_bytes : rows * layout->row_bytes;
    if (tiff_tile_absent(td, index)) {
        IMGSTAT_TRY(tiff_row_reserve(td, err));
        tiff_fill_absent(td, plane, to, pitch, x, pixels, rows);
        return IMGSTAT_OK;
    }
    const bool check = tiff_ends_silently(layout->compression);
    const bool straight =
        tiff_is_direct(td) && !layout->tiled && !check && pitch == layout->row_bytes;
    if (!straight)
        IMGSTAT_TRY(tiff_tile_reserve(td, layout->tile_bytes, err));
    if (tiff_needs_unpack(layout))
        IMGSTAT_TRY(tiff_row_reserve(td, err));

    if (check ? !decode_whole_tile(td, index, rows, bytes)
              : !decode_tile(td, index, straight ? to : td->tile, bytes))
        return tiff_tile_salvage(td, index, plane, to, pitch, rows, err);
    for (uint32_t y = 0; !straight && y < rows; y++)
        tiff_place_row(td, td->tile + y * layout->row_bytes, plane, x, pixels, to + y * pitch);
    return IMGSTAT_OK;
}

const uint8_t *tiff_tile_decompress(TiffDecoder *td, uint32_t index, uint32_t rows)
{
    const TiffLayout *const layout = &td->layout;
    const size_t bytes = rows * layout->row_bytes,
                 room = layout->tiled ? layout->tile_bytes : bytes;
    if (tiff_tile_reserve(td, layout->tile_bytes, NULL) != IMGSTAT_OK)
        return NULL;
    if (tiff_tile_absent(td, index))
        tiff_nodata_fill(&td->base.page, td->tile,
                         (size_t)rows * layout->tile_width * layout->per_tile);
    else if (!decompress_tile(td->decompressor, td, index, td->tile, bytes, room))
        return NULL;
    return td->tile;
}
