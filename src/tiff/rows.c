/* SPDX-License-Identifier: MIT */
/* rows.c: rows of a TIFF page from its strips or tiles, in bounded memory, in each of the ways that
 * a layout can ask for. */
#include "codec/salvage.h"
#include "tiff/decoder.h"

#include <stdlib.h>
#include <string.h>

/* ---- Uncompressed strips, from their place in the file ---- */

/* Uncompressed rows that need work are read in blocks of about this size, which stay in the cache.
 */
enum { BLOCK_BYTES = 1 << 18 };

static uint32_t block_rows(const TiffLayout *layout, bool as_they_are)
{
    const size_t fit = BLOCK_BYTES / layout->row_bytes;
    if (as_they_are && !layout->swapped && !layout->reversed)
        return UINT32_MAX;
    return fit > 0 ? (uint32_t)fit : 1;
}

/* Where row y of a plane lies, 0 for nowhere; *rows: how many rows follow each other there, at most
 * `limit`. */
static uint64_t row_place(const TiffDecoder *td, uint16_t plane, uint32_t y, uint32_t limit,
                          uint32_t *rows)
{
    const TiffLayout *const layout = &td->layout;
    const uint32_t first = plane * layout->down + y / layout->tile_height;
    const uint32_t inside = y % layout->tile_height;
    const uint64_t start = TIFFGetStrileOffset(td->handle.tif, first);
    uint32_t n = layout->tile_height - inside;
    uint64_t end = start + (uint64_t)layout->tile_height * layout->row_bytes;
    *rows = n < limit ? n : limit;
    if (tiff_tile_absent(td, first))
        return 0;
    for (uint32_t strip = first + 1; n < limit; strip++) {
        if (TIFFGetStrileOffset(td->handle.tif, strip) != end || tiff_tile_absent(td, strip))
            break;
        n = limit - n < layout->tile_height ? limit : n + layout->tile_height;
        end += (uint64_t)layout->tile_height * layout->row_bytes;
        *rows = n;
    }
    return start + td->plane_at + (uint64_t)inside * layout->row_bytes;
}

static ImgstatResult read_block(const TiffDecoder *td, uint64_t at, uint8_t *to, size_t bytes,
                                uint32_t strip, ImgstatError *err)
{
    size_t got = 0;
    char tile[64];
    if (bytes <= td->pixels_end && at <= td->pixels_end - bytes)
        IMGSTAT_TRY(source_read(td->base.source, at, to, bytes, &got, err));
    if (got < bytes) {
        tiff_tile_name(td, strip, tile);
        return error_file(err, IMGSTAT_ERR_TRUNCATED, td->base.source->name, "%s ends early", tile);
    }
    tiff_swap(&td->layout, to, bytes);
    return IMGSTAT_OK;
}

static ImgstatResult read_raw(TiffDecoder *td, uint16_t plane, uint8_t *to, size_t pitch,
                              uint32_t rows, ImgstatError *err)
{
    const TiffLayout *const layout = &td->layout;
    const bool straight = tiff_is_direct(td) && pitch == layout->row_bytes;
    const uint32_t most = block_rows(layout, straight);
    if (!straight) {
        IMGSTAT_TRY(tiff_tile_reserve(td, most * layout->row_bytes, err));
        IMGSTAT_TRY(tiff_row_reserve(td, err));
    }
    for (uint32_t done = 0, n = 0; done < rows; done += n) {
        const uint32_t y = td->base.next_row + done, left = rows - done;
        const uint32_t strip = plane * layout->down + y / layout->tile_height;
        uint8_t *const row = to + done * pitch;
        const uint64_t at = row_place(td, plane, y, left < most ? left : most, &n);
        if (at == 0) {
            IMGSTAT_TRY(tiff_row_reserve(td, err));
            tiff_fill_absent(td, plane, row, pitch, 0, layout->tile_width, n);
            continue;
        }
        uint8_t *const block = straight ? row : td->tile;
        IMGSTAT_TRY(read_block(td, at, block, n * layout->row_bytes, strip, err));
        for (uint32_t i = 0; !straight && i < n; i++)
            tiff_place_row(td, block + i * layout->row_bytes, plane, 0, layout->tile_width,
                           row + i * pitch);
    }
    return IMGSTAT_OK;
}

bool tiff_rows_at(const Decoder *base, uint16_t plane, uint32_t row, void *to, uint32_t rows)
{
    const TiffDecoder *const td = (const TiffDecoder *)base;
    uint8_t *const first = to;
    const size_t row_bytes = td->layout.row_bytes;
    const uint32_t most = block_rows(&td->layout, true);
    for (uint32_t done = 0, n = 0; done < rows; done += n) {
        const uint32_t left = rows - done;
        const uint64_t at = row_place(td, plane, row + done, left < most ? left : most, &n);
        if (at == 0 ||
            read_block(td, at, first + done * row_bytes, n * row_bytes, 0, NULL) != IMGSTAT_OK)
            return false;
    }
    return true;
}

/* ---- Strips that are too large to hold, one after the other ---- */

/* A handle for each plane, so that each goes down its strips without decoding again. */
static ImgstatResult open_planes(TiffDecoder *td, ImgstatError *err)
{
    const uint16_t n = td->layout.planes;
    if (td->planes || tiff_planes_together(td) == 1)
        return IMGSTAT_OK;
    td->planes = calloc(n, sizeof *td->planes);
    if (!td->planes)
        return error_memory(err, n * sizeof *td->planes, "TIFF planes");
    for (uint16_t i = 1; i < n; i++) {
        IMGSTAT_TRY(tiff_handle_open(td, &td->planes[i], err));
        if (!tiff_handle_read_directory(td, &td->planes[i]))
            return error_file(err, td->failure.code ? td->failure.code : IMGSTAT_ERR_FORMAT,
                              td->base.source->name, "%s", td->failure.message);
        if ((uint64_t)TIFFScanlineSize64(td->planes[i].tif) != td->layout.row_bytes)
            return decoder_changed(&td->base, err);
    }
    return IMGSTAT_OK;
}

/* Where tiff/strip_stream.c gave up, or the handle was at another plane: libtiff comes to a row of
 * such a strip only through those above it. False: one of them is damaged. */
static bool catch_up(TiffDecoder *td, TiffHandle *handle, uint16_t plane, uint32_t y)
{
    const uint32_t inside = y % td->layout.tile_height;
    if (!handle->needs_catch_up)
        return true;
    handle->needs_catch_up = false;
    tiff_prime_lzw(td, plane * td->layout.down + y / td->layout.tile_height);
    tiff_clear_error(td);
    uint8_t *const row = malloc(td->layout.row_bytes);
    bool good = row != NULL;
    for (uint32_t i = inside; good && i > 0; i--)
        good = TIFFReadScanline(handle->tif, row, y - i, plane) == 1;
    free(row);
    return good;
}

/* Rows of one plane, by a handle that has decoded the row above the first or that `needs_catch_up`
 * is said of. */
static ImgstatResult read_plane_scanlines(TiffDecoder *td, TiffHandle *handle, uint16_t plane,
                                          uint8_t *to, size_t pitch, uint32_t rows,
                                          ImgstatError *err)
{
    const TiffLayout *const layout = &td->layout;
    const bool direct = tiff_is_direct(td), many = direct && pitch == layout->row_bytes;
    for (uint32_t i = 0, n = 1; i < rows; i += n) {
        const uint32_t y = td->base.next_row + i, inside = y % layout->tile_height;
        const uint32_t strip = plane * layout->down + y / layout->tile_height;
        uint8_t *const row = to + i * pitch;
        uint8_t *const decoded = direct ? row : td->tile;
        const bool absent = tiff_tile_absent(td, strip);
        n = rows - i < layout->tile_height - inside ? rows - i : layout->tile_height - inside;
        n = many ? n : 1;
        if (!absent && tiff_strip_rows(td, &handle->strip, strip, inside, n, decoded)) {
            handle->needs_catch_up = true;
            if (!direct)
                tiff_place_row(td, decoded, plane, 0, layout->tile_width, row);
            continue;
        }
        n = 1;
        if (absent) {
            IMGSTAT_TRY(tiff_row_reserve(td, err));
            tiff_fill_absent(td, plane, row, pitch, 0, layout->tile_width, 1);
            continue;
        }
        const bool ready = inside != 0 || tiff_renew_codec(td, handle->tif);
        tiff_clear_error(td);
        tiff_clear_before(td, decoded, layout->row_bytes);
        if (!ready || !catch_up(td, handle, plane, y) ||
            TIFFReadScanline(handle->tif, decoded, y, plane) != 1 ||
            (td->failure.code != IMGSTAT_OK && !tiff_row_salvaged(td)))
            return tiff_tile_failed(td, strip, err);
        if (td->failure.code != IMGSTAT_OK)
            salvage_damage_rows(&td->base, y, 1);
        if (!direct)
            tiff_place_row(td, decoded, plane, 0, layout->tile_width, row);
    }
    return IMGSTAT_OK;
}

/* Rows that follow those read last. */
static ImgstatResult read_scanlines(TiffDecoder *td, uint8_t *to, size_t pitch, uint32_t rows,
                                    ImgstatError *err)
{
    const TiffLayout *const layout = &td->layout;
    IMGSTAT_TRY(open_planes(td, err));
    if ((uint64_t)TIFFScanlineSize64(td->handle.tif) != layout->row_bytes)
        return error_file(err, IMGSTAT_ERR_FORMAT, td->base.source->name,
                          "rows are not as long as declared");
    if (!tiff_is_direct(td)) {
        IMGSTAT_TRY(tiff_tile_reserve(td, layout->row_bytes, err));
        IMGSTAT_TRY(tiff_row_reserve(td, err));
    }
    const uint16_t first = tiff_first_plane(td), n_planes = tiff_planes_together(td);
    for (uint16_t plane = first; plane - first < n_planes; plane++) {
        TiffHandle *const handle = plane == first ? &td->handle : &td->planes[plane];
        IMGSTAT_TRY(read_plane_scanlines(td, handle, plane, to, pitch, rows, err));
    }
    return IMGSTAT_OK;
}

/* ---- YCbCr that comes as RGB through libtiff's own conversion ---- */

/* Rows of a raster of packed ABGR words to RGB bytes. Strips and tiles come bottom row first. */
static void place_raster(const TiffDecoder *td, const uint32_t *raster, uint32_t x,
                         uint32_t decoded_rows, uint8_t *to, size_t pitch, uint32_t rows)
{
    const uint32_t left = td->base.page.width - x;
    const uint32_t pixels = left < td->layout.tile_width ? left : td->layout.tile_width;
    for (uint32_t y = 0; y < rows; y++) {
        const uint32_t *const from =
            raster + (size_t)(decoded_rows - 1 - y) * td->layout.tile_width;
        uint8_t *const row = to + y * pitch + (size_t)x * 3;
        for (size_t i = 0; i < pixels; i++) {
            row[3 * i] = (uint8_t)TIFFGetR(from[i]);
            row[3 * i + 1] = (uint8_t)TIFFGetG(from[i]);
            row[3 * i + 2] = (uint8_t)TIFFGetB(from[i]);
        }
    }
}

static ImgstatResult read_converted(TiffDecoder *td, uint32_t down, uint8_t *to, size_t pitch,
                                    uint32_t rows, ImgstatError *err)
{
    const TiffLayout *const layout = &td->layout;
    const uint32_t y = down * layout->tile_height;
    IMGSTAT_TRY(tiff_tile_reserve(
        td, (size_t)layout->tile_width * layout->tile_height * sizeof(uint32_t), err));
    for (uint32_t i = 0; i < layout->across; i++) {
        const uint32_t x = i * layout->tile_width;
        uint32_t *const raster = (uint32_t *)(void *)td->tile;
        tiff_clear_error(td);
        const int ok = layout->tiled ? TIFFReadRGBATileExt(td->handle.tif, x, y, raster, 1)
                                     : TIFFReadRGBAStripExt(td->handle.tif, y, raster, 1);
        if (!ok || td->failure.code != IMGSTAT_OK) {
            IMGSTAT_TRY(tiff_tile_lose(td, down * layout->across + i, to, pitch, rows, err));
            continue;
        }
        place_raster(td, raster, x, layout->tiled ? layout->tile_height : rows, to, pitch, rows);
    }
    return IMGSTAT_OK;
}

/* ---- All of them ---- */

/* Reads n rows of tiles, whole but for the end of the image. */
static ImgstatResult read_tile_rows(TiffDecoder *td, uint32_t down, uint32_t n, uint8_t *to,
                                    size_t pitch, ImgstatError *err)
{
    const uint32_t height = td->layout.tile_height;
    if (td->layout.mode == TIFF_READ_TILES)
        return tiff_tiles_read(td, down, n, to, pitch, err);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t y = (down + i) * height, left = td->base.page.height - y;
        const uint32_t rows = left < height ? left : height;
        uint8_t *const row = to + (size_t)i * height * pitch;
        IMGSTAT_TRY(read_converted(td, down + i, row, pitch, rows, err));
    }
    return IMGSTAT_OK;
}

static ImgstatResult read_by_tile_rows(TiffDecoder *td, uint8_t *to, size_t pitch, uint32_t rows,
                                       ImgstatError *err)
{
    const uint32_t tile_height = td->layout.tile_height;
    const ImgstatPage *const page = &td->base.page;
    const size_t row_bytes =
        (size_t)page->width * decoder_channels(&td->base) * imgstat_sample_bytes(page->sample);
    for (uint32_t done = 0, n = 0; done < rows; done += n) {
        const uint32_t y = td->base.next_row + done;
        const uint32_t down = y / tile_height, inside = y % tile_height;
        const uint32_t to_end = page->height - down * tile_height;
        const uint32_t height = to_end < tile_height ? to_end : tile_height;
        const uint32_t left = rows - done;
        n = height - inside < left ? height - inside : left;
        if (n == height) {
            const bool to_last = y + left == page->height;
            const uint32_t whole = left / tile_height;
            const uint32_t many = to_last ? left / tile_height + (left % tile_height > 0) : whole;
            n = to_last ? left : whole * tile_height;
            IMGSTAT_TRY(read_tile_rows(td, down, many, to + done * pitch, pitch, err));
            continue;
        }
        const uint32_t band = tiff_first_plane(td) * td->layout.down + down;
        if (td->band_at != band) {
            if (!td->band)
                td->band = buffer_cache_acquire(td->base.options.buffers, row_bytes * tile_height);
            if (!td->band)
                return error_memory(err, row_bytes * tile_height, "a row of strips or tiles");
            td->band_at = UINT32_MAX;
            IMGSTAT_TRY(read_tile_rows(td, down, 1, td->band, row_bytes, err));
            td->band_at = band;
        }
        for (uint32_t i = 0; i < n; i++)
            memcpy(to + (done + i) * pitch, td->band + (inside + i) * row_bytes, row_bytes);
    }
    return IMGSTAT_OK;
}

ImgstatResult tiff_rows_read(Decoder *base, void *to, size_t pitch, uint32_t rows,
                             ImgstatError *err)
{
    TiffDecoder *const td = (TiffDecoder *)base;
    if (td->layout.mode == TIFF_READ_SCANLINES)
        return read_scanlines(td, to, pitch, rows, err);
    if (td->layout.mode != TIFF_READ_RAW)
        return read_by_tile_rows(td, to, pitch, rows, err);
    const uint16_t first = tiff_first_plane(td), n_planes = tiff_planes_together(td);
    for (uint16_t plane = first; plane - first < n_planes; plane++)
        IMGSTAT_TRY(read_raw(td, plane, to, pitch, rows, err));
    return IMGSTAT_OK;
}
