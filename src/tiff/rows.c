/* SPDX-License-Identifier: MIT */
/* rows.c: rows of a TIFF page from its strips or tiles, in bounded memory. */
#include "tiff/decoder.h"

#include <string.h>

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
        IMGSTAT_TRY(tiff_rgba_read(td, down + i, row, pitch, rows, err));
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

ImgstatResult tiff_rows_read(TiffDecoder *td, uint8_t *to, size_t pitch, uint32_t rows,
                             ImgstatError *err)
{
    if (td->layout.mode == TIFF_READ_SCANLINES)
        return tiff_scanlines_read(td, to, pitch, rows, err);
    if (td->layout.mode != TIFF_READ_RAW)
        return read_by_tile_rows(td, to, pitch, rows, err);
    const uint16_t first = tiff_first_plane(td), n_planes = tiff_planes_together(td);
    for (uint16_t plane = first; plane - first < n_planes; plane++)
        IMGSTAT_TRY(tiff_raw_read(td, plane, to, pitch, rows, err));
    return IMGSTAT_OK;
}
