/* SPDX-License-Identifier: MIT */
/* raw_strips.c: rows of uncompressed strips, from their place in the file. */
#include "tiff/decoder.h"

#include <string.h>

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
    return start + (uint64_t)inside * layout->row_bytes;
}

static ImgstatResult read_block(const TiffDecoder *td, uint64_t at, uint8_t *to, size_t bytes,
                                uint32_t strip, ImgstatError *err)
{
    size_t got = 0;
    char tile[64];
    IMGSTAT_TRY(source_read(td->base.source, at, to, bytes, &got, err));
    if (got < bytes) {
        tiff_tile_name(td, strip, tile);
        return error_file(err, IMGSTAT_ERR_TRUNCATED, td->base.source->name, "%s ends early", tile);
    }
    tiff_swap(&td->layout, to, bytes);
    return IMGSTAT_OK;
}

ImgstatResult tiff_raw_read(TiffDecoder *td, uint16_t plane, uint8_t *to, size_t pitch,
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

bool tiff_rows_random(const TiffDecoder *td)
{
    return td->layout.mode == TIFF_READ_RAW && tiff_is_direct(td);
}

bool tiff_rows_at(const TiffDecoder *td, uint16_t plane, uint32_t row, uint8_t *to, uint32_t rows)
{
    const size_t row_bytes = td->layout.row_bytes;
    const uint32_t most = block_rows(&td->layout, true);
    for (uint32_t done = 0, n = 0; done < rows; done += n) {
        const uint32_t left = rows - done;
        const uint64_t at = row_place(td, plane, row + done, left < most ? left : most, &n);
        if (at == 0 ||
            read_block(td, at, to + done * row_bytes, n * row_bytes, 0, NULL) != IMGSTAT_OK)
            return false;
    }
    return true;
}
