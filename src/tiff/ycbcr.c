/* SPDX-License-Identifier: MIT */
/* ycbcr.c: YCbCr that comes as RGB through libtiff's own conversion. */
#include "tiff/decoder.h"

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

ImgstatResult tiff_rgba_read(TiffDecoder *td, uint32_t down, uint8_t *to, size_t pitch,
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
        if (!ok || td->failure.code != IMGSTAT_OK)
            return tiff_tile_failed(td, down * layout->across + i, err);
        place_raster(td, raster, x, layout->tiled ? layout->tile_height : rows, to, pitch, rows);
    }
    return IMGSTAT_OK;
}
