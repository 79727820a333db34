/* SPDX-License-Identifier: MIT */
/* libpng_rows.c: reads rows through libpng, from the start or again, and what follows the pixels.
 */
#include "png/decoder.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

static ImgstatResult map_colors(PngDecoder *pd, const uint8_t *from, uint8_t *to, uint32_t y,
                                ImgstatError *err)
{
    const ImgstatPage *const page = &pd->base.page;
    unsigned largest = 0;
    if (page->channels == 4) {
        for (size_t x = 0; x < page->width; x++) {
            largest = from[x] > largest ? from[x] : largest;
            memcpy(to + 4 * x, pd->form.colors[from[x]], 4);
        }
    } else {
        for (size_t x = 0; x < page->width; x++) {
            const uint8_t *const color = pd->form.colors[from[x]];
            largest = from[x] > largest ? from[x] : largest;
            to[3 * x] = color[0];
            to[3 * x + 1] = color[1];
            to[3 * x + 2] = color[2];
        }
    }
    if (largest >= pd->form.n_colors)
        return error_file(err, IMGSTAT_ERR_FORMAT, pd->base.source->name,
                          "row %u has index %u where the palette has %u colours", y, largest,
                          pd->form.n_colors);
    return IMGSTAT_OK;
}

static void add_key_alpha(const PngDecoder *pd, const uint8_t *from, uint8_t *to)
{
    const uint8_t opaque = (uint8_t)((1u << pd->base.page.bits) - 1);
    for (size_t x = 0; x < pd->base.page.width; x++) {
        to[2 * x] = from[x];
        to[2 * x + 1] = from[x] == pd->key[0] ? 0 : opaque;
    }
}

ImgstatResult png_finish_row(PngDecoder *pd, const uint8_t *from, uint8_t *to, uint32_t y,
                             ImgstatError *err)
{
    if (pd->step == ROW_PALETTE)
        return map_colors(pd, from, to, y, err);
    if (pd->step == ROW_GRAY_KEY)
        add_key_alpha(pd, from, to);
    else if (from != to)
        memcpy(to, from, pd->png_row_bytes);
    return IMGSTAT_OK;
}

/* Starts again with libpng. Fails if the image has changed. */
static ImgstatResult start_anew(PngDecoder *pd, ImgstatError *err)
{
    const ImgstatPage before = pd->base.page;
    IMGSTAT_TRY(png_begin_reading(pd, err));
    IMGSTAT_TRY(png_read_head(pd, err));
    if (!page_has_shape(&pd->base.page, &before))
        return decoder_changed(&pd->base, err);
    pd->decided = true;
    return IMGSTAT_OK;
}

uint32_t png_held_rows(const PngDecoder *pd)
{
    enum { SHARE = 3 }; /* of the limit: bands, results and codecs need 17 of the least 32 MiB */
    const uint32_t height = pd->base.page.height;
    const uint64_t rows = pd->base.how.limits.max_tile_bytes / SHARE / pd->png_row_bytes;
    return rows == 0 ? 1 : rows < height ? (uint32_t)rows : height;
}

static uint8_t *held_row(const PngDecoder *pd, uint32_t y)
{
    return pd->held + (size_t)(y - pd->held_from) * pd->png_row_bytes;
}

/* Reads all passes of an interlaced image, and keeps the rows from held_from to held_end. */
static ImgstatResult read_passes(PngDecoder *pd, ImgstatError *err)
{
    if (setjmp(png_jmpbuf(pd->png)))
        return png_failure(pd, err);
    for (int pass = 0; pass < PNG_INTERLACE_ADAM7_PASSES; pass++)
        for (uint32_t y = 0; y < pd->base.page.height; y++)
            png_read_row(pd->png,
                         y >= pd->held_from && y < pd->held_end ? held_row(pd, y) : pd->row, NULL);
    return IMGSTAT_OK;
}

/* Reads and holds as many rows of an interlaced image, from y on, as the limit allows. */
static ImgstatResult hold_rows(PngDecoder *pd, uint32_t y, ImgstatError *err)
{
    const uint32_t height = pd->base.page.height, most = png_held_rows(pd);
    const uint32_t end = most < height - y ? y + most : height;
    if (y > 0)
        IMGSTAT_TRY(start_anew(pd, err));
    if (!pd->row && !(pd->row = malloc(pd->png_row_bytes)))
        return error_memory(err, pd->png_row_bytes, "a row of pixels");
    buffer_cache_release(pd->held);
    pd->held = buffer_cache_acquire_zeroed(pd->base.options.buffers, end - y, pd->png_row_bytes);
    if (!pd->held)
        return error_memory(err, (size_t)(end - y) * pd->png_row_bytes, "an interlaced image");
    pd->held_from = y;
    pd->held_end = end;
    return read_passes(pd, err);
}

/* Reads what follows the pixels. Damage there gives a warning, unless it is in the checksums of the
 * pixels. */
static ImgstatResult read_tail(PngDecoder *pd, ImgstatError *err)
{
    if (setjmp(png_jmpbuf(pd->png))) {
        if (png_get_io_chunk_type(pd->png) == 0x49444154u /* IDAT */ ||
            pd->failure.code == IMGSTAT_ERR_IO)
            return png_failure(pd, err);
        warnings_report(&pd->base.warnings, "damaged after its pixels%s",
                        pd->ends_early ? ": ends early" : "");
        return IMGSTAT_OK;
    }
    png_read_end(pd->png, NULL);
    return IMGSTAT_OK;
}

/* Reads libpng's next row. */
static ImgstatResult decode_row(PngDecoder *pd, uint8_t *to, ImgstatError *err)
{
    if (setjmp(png_jmpbuf(pd->png)))
        return png_failure(pd, err);
    png_read_row(pd->png, to, NULL);
    return IMGSTAT_OK;
}

ImgstatResult png_pass_over(PngDecoder *pd, uint32_t rows, ImgstatError *err)
{
    IMGSTAT_TRY(start_anew(pd, err));
    uint8_t *const row = malloc(pd->png_row_bytes);
    if (!row)
        return error_memory(err, pd->png_row_bytes, "a row of pixels");
    ImgstatResult res = IMGSTAT_OK;
    for (uint32_t i = 0; i < rows && res == IMGSTAT_OK; i++)
        res = decode_row(pd, row, err);
    free(row);
    return res;
}

static ImgstatResult read_row(PngDecoder *pd, uint8_t *to, uint32_t y, ImgstatError *err)
{
    if (pd->form.interlaced)
        return png_finish_row(pd, held_row(pd, y), to, y, err);
    uint8_t *const from = pd->step == ROW_AS_IT_IS ? to : pd->row;
    IMGSTAT_TRY(decode_row(pd, from, err));
    return png_finish_row(pd, from, to, y, err);
}

static ImgstatResult row_room(PngDecoder *pd, ImgstatError *err)
{
    if (pd->form.interlaced || pd->step == ROW_AS_IT_IS || pd->row)
        return IMGSTAT_OK;
    pd->row = malloc(pd->png_row_bytes);
    return pd->row ? IMGSTAT_OK : error_memory(err, pd->png_row_bytes, "a row of pixels");
}

ImgstatResult png_read_plainly(PngDecoder *pd, uint8_t *to, size_t pitch, uint32_t y, uint32_t rows,
                               ImgstatError *err)
{
    IMGSTAT_TRY(row_room(pd, err));
    for (uint32_t i = 0; i < rows; i++) {
        if (pd->form.interlaced && y + i >= pd->held_end)
            IMGSTAT_TRY(hold_rows(pd, y + i, err));
        IMGSTAT_TRY(read_row(pd, to + i * pitch, y + i, err));
    }
    if (y + rows < pd->base.page.height)
        return IMGSTAT_OK;
    buffer_cache_release(pd->held); /* another read begins with the file */
    pd->held = NULL;
    IMGSTAT_TRY(read_tail(pd, err));
    if (pd->bad_checksum)
        return error_file(err, IMGSTAT_ERR_FORMAT, pd->base.source->name,
                          "the checksum of its pixels is wrong");
    return IMGSTAT_OK;
}
