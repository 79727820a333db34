/* SPDX-License-Identifier: MIT */
/* scanlines.c: rows of strips that are too large to hold, one after the other. */
#include "tiff/decoder.h"

#include <stdlib.h>

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
        if (!TIFFSetSubDirectory(td->planes[i].tif, td->page_at[td->base.page.page]))
            return error_set(err, IMGSTAT_ERR_FORMAT, "%s: %s", td->base.source->name,
                             td->failure.message);
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
        const bool ready = inside != 0 || tiff_reset_jpeg_tables(td, handle->tif);
        tiff_clear_error(td);
        tiff_clear_before(td, decoded, layout->row_bytes);
        if (!ready || !catch_up(td, handle, plane, y) ||
            TIFFReadScanline(handle->tif, decoded, y, plane) != 1 || td->failure.code != IMGSTAT_OK)
            return tiff_tile_failed(td, strip, err);
        if (!direct)
            tiff_place_row(td, decoded, plane, 0, layout->tile_width, row);
    }
    return IMGSTAT_OK;
}

/* Rows that follow those read last. */
ImgstatResult tiff_scanlines_read(TiffDecoder *td, uint8_t *to, size_t pitch, uint32_t rows,
                                  ImgstatError *err)
{
    const TiffLayout *const layout = &td->layout;
    IMGSTAT_TRY(open_planes(td, err));
    if ((uint64_t)TIFFScanlineSize64(td->handle.tif) != layout->row_bytes)
        return error_set(err, IMGSTAT_ERR_FORMAT, "%s: rows are not as long as declared",
                         td->base.source->name);
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
