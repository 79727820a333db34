/* SPDX-License-Identifier: MIT */
/* damaged.c: what libtiff still decodes of a strip or tile that it fails on: rows of strips up to
 * the damage, and rows that it completes. */
#include "codec/salvage.h"
#include "tiff/decoder.h"

#include <string.h>

/* libtiff keeps state of what failed. */
static bool reset(TiffDecoder *td)
{
    td->primed = false;
    if (!tiff_handle_read_directory(td, &td->handle))
        return false;
    tiff_page_prepare(td);
    return true;
}

/* From here on libjpeg makes up all rows. */
static bool jpeg_ended(const TiffDecoder *td)
{
    return td->failure.code != IMGSTAT_OK && strstr(td->failure.message, "Premature end of JPEG");
}

bool tiff_row_salvaged(const TiffDecoder *td)
{
    return td->base.how.salvage && td->layout.compression != COMPRESSION_PACKBITS &&
           !jpeg_ended(td);
}

/* Decodes a whole tile; errors are in td->failure. */
static bool decode(TiffDecoder *td, uint32_t index, size_t bytes)
{
    const tmsize_t n = (tmsize_t)bytes;
    if (!reset(td))
        return false;
    TIFF *const tif = td->handle.tif;
    if (!tiff_renew_codec(td, tif))
        return false;
    tiff_prime_lzw(td, index);
    tiff_clear_error(td);
    return (td->layout.tiled ? TIFFReadEncodedTile(tif, index, td->tile, n)
                             : TIFFReadEncodedStrip(tif, index, td->tile, n)) == n;
}

/* How many rows at the end of a decoded tile have nothing but a pattern. */
static uint32_t untouched_rows(const TiffDecoder *td, uint32_t rows, uint8_t pattern)
{
    const size_t bytes = rows * td->layout.row_bytes;
    size_t n = 0;
    while (n < bytes && td->tile[bytes - 1 - n] == pattern)
        n++;
    return (uint32_t)(n / td->layout.row_bytes);
}

/* Decodes `bytes` over two patterns; returns how many of the rows come from data. *complete:
 * libtiff gave a whole tile. */
static uint32_t decoded_rows(TiffDecoder *td, uint32_t index, uint32_t rows, size_t bytes,
                             bool *complete)
{
    static const uint8_t patterns[] = {0xAA, 0x55};
    uint32_t untouched = rows;
    for (size_t p = 0; p < sizeof patterns; p++) {
        memset(td->tile, patterns[p], bytes);
        *complete = decode(td, index, bytes);
        const uint32_t n = untouched_rows(td, rows, patterns[p]);
        untouched = n < untouched ? n : untouched;
    }
    /* CCITT data that end clear the row in which they do. */
    const bool one_more = td->layout.compression != COMPRESSION_JPEG && untouched > 0;
    return rows - untouched - (one_more && untouched < rows);
}

/* ---- Tiles: all or nothing ---- */

static uint32_t salvage_tile(TiffDecoder *td, uint32_t index, uint32_t y, uint32_t rows)
{
    const bool all_rows = td->layout.compression == COMPRESSION_JBIG;
    const size_t bytes = all_rows ? td->layout.tile_bytes : rows * td->layout.row_bytes;
    bool complete = false;
    uint32_t n = rows;
    if (tiff_ends_silently(td->layout.compression))
        n = decoded_rows(td, index, rows, bytes, &complete);
    else
        complete = decode(td, index, bytes);
    if (!complete || n < rows || (td->failure.code != IMGSTAT_OK && !tiff_row_salvaged(td)))
        return 0;
    if (td->failure.code != IMGSTAT_OK)
        salvage_damage_rows(&td->base, y, rows);
    return rows;
}

/* ---- Strips: row after row ---- */

/* Puts the rows in their place as well; returns how many there are. */
static uint32_t salvage_strip(TiffDecoder *td, uint32_t index, uint16_t plane, uint32_t y,
                              uint8_t *to, size_t pitch, uint32_t rows)
{
    TIFF *const tif = td->handle.tif;
    const uint16_t compression = td->layout.compression;
    bool complete, damaged = false;
    uint32_t most = rows;
    if (tiff_ends_silently(compression))
        most = decoded_rows(td, index, rows, rows * td->layout.row_bytes, &complete);
    if (!reset(td) || (uint64_t)TIFFScanlineSize64(tif) != td->layout.row_bytes ||
        !tiff_renew_codec(td, tif))
        return 0;
    tiff_prime_lzw(td, index);
    for (uint32_t i = 0; i < most; i++) {
        tiff_clear_error(td);
        tiff_clear_before(td, td->tile, td->layout.row_bytes);
        if (TIFFReadScanline(tif, td->tile, y + i, plane) != 1 || jpeg_ended(td))
            return i;
        /* Later blocks of a JPEG stream are differences to those that failed. */
        damaged = td->failure.code != IMGSTAT_OK || (damaged && compression == COMPRESSION_JPEG);
        if (damaged)
            salvage_damage_rows(&td->base, y + i, 1);
        tiff_place_row(td, td->tile, plane, 0, td->base.page.width, to + i * pitch);
        if (damaged && compression == COMPRESSION_PACKBITS) /* the next row begins within a run */
            return i + 1;
    }
    return most;
}

/* ---- Both ---- */

static bool is_salvaged(const TiffDecoder *td)
{
    return td->base.how.salvage &&
           (td->failure.code == IMGSTAT_OK || salvage_is_damage(td->failure.code));
}

/* Fills and notes what is lost of a tile from row n of it on. */
static ImgstatResult lose(TiffDecoder *td, uint32_t index, uint16_t plane, uint32_t n, uint8_t *to,
                          size_t pitch, uint32_t rows, ImgstatError *err)
{
    const TiffLayout *const layout = &td->layout;
    const uint32_t column = index % layout->across, x = column * layout->tile_width;
    const uint32_t y = index / layout->across % layout->down * layout->tile_height;
    const uint32_t left = td->base.page.width - x;
    const uint32_t pixels = left < layout->tile_width ? left : layout->tile_width;
    const bool alone = td->base.caps.lost_planes > 0 && layout->planes > 1;
    if (n < rows) {
        salvage_fill(&td->base, to + n * pitch, pitch, x, pixels, rows - n, alone ? plane : 0,
                     alone ? 1 : decoder_channels(&td->base));
        if (layout->tiled)
            salvage_lose_tile(&td->base, plane, y, column);
        else
            salvage_lose_rows(&td->base, plane, y + n, rows - n);
    }
    return reset(td) ? IMGSTAT_OK : tiff_tile_failed(td, index, err);
}

ImgstatResult tiff_tile_lose(TiffDecoder *td, uint32_t index, uint8_t *to, size_t pitch,
                             uint32_t rows, ImgstatError *err)
{
    return is_salvaged(td) ? lose(td, index, 0, 0, to, pitch, rows, err)
                           : tiff_tile_failed(td, index, err);
}

ImgstatResult tiff_tile_salvage(TiffDecoder *td, uint32_t index, uint16_t plane, uint8_t *to,
                                size_t pitch, uint32_t rows, ImgstatError *err)
{
    TiffLayout *const layout = &td->layout;
    const uint32_t x = index % layout->across * layout->tile_width;
    const uint32_t y = index / layout->across % layout->down * layout->tile_height;
    const uint32_t left = td->base.page.width - x;
    const uint32_t pixels = left < layout->tile_width ? left : layout->tile_width;
    if (!is_salvaged(td))
        return tiff_tile_failed(td, index, err);
    IMGSTAT_TRY(tiff_tile_reserve(td, layout->tile_bytes, err));
    if (layout->tiled) {
        const uint32_t n = salvage_tile(td, index, y, rows);
        for (uint32_t i = 0; i < n; i++)
            tiff_place_row(td, td->tile + i * layout->row_bytes, plane, x, pixels, to + i * pitch);
        return lose(td, index, plane, n, to, pitch, rows, err);
    }
    const TiffReadMode mode = layout->mode;
    layout->mode = TIFF_READ_SCANLINES; /* which says what libtiff's warnings mean */
    const uint32_t n = salvage_strip(td, index, plane, y, to, pitch, rows);
    layout->mode = mode;
    return lose(td, index, plane, n, to, pitch, rows, err);
}
