/* SPDX-License-Identifier: MIT */
/* deflated.c: the compressed pixels of an image as one stream, for devices that decompress it. */
#include "base/padded.h"
#include "codec/inflate.h"
#include "png/decoder.h"

#include <string.h>

/* Copies the data of all IDAT chunks, the first of which has `length` bytes at `at`, one after the
 * other. *bytes becomes how many they are. Returns false if a checksum is wrong, or anything up to
 * the end of the file is unusual. longest: of a chunk. */
static bool copy_chunks(const Source *source, uint64_t at, uint32_t length, uint64_t longest,
                        uint8_t *to, size_t room, size_t *bytes)
{
    uint8_t frame[4 + PNG_CHUNK_HEAD];
    size_t got = 0;
    for (*bytes = 0;;) {
        if (length > room - *bytes || length > longest ||
            source_read(source, at, to + *bytes, length, &got, NULL) != IMGSTAT_OK || got < length)
            return false;
        const uint32_t crc =
            inflate_crc(inflate_crc(0, (const uint8_t *)"IDAT", 4), to + *bytes, length);
        *bytes += length;
        at += length;
        if (source_read(source, at, frame, sizeof frame, &got, NULL) != IMGSTAT_OK ||
            got < sizeof frame || png_get32(frame) != crc)
            return false;
        if (memcmp(frame + 8, "IDAT", 4) != 0)
            return png_tail_is_usual(source, at + 4);
        length = png_get32(frame + 4);
        at += sizeof frame;
    }
}

/* The pixels of each pass: of an image without interlacing, and of Adam7. */
static const DeflatedPass all_pixels = {.step_x = 1, .step_y = 1};
static const DeflatedPass adam7[DEFLATED_PASSES] = {
    {.x = 0, .y = 0, .step_x = 8, .step_y = 8}, {.x = 4, .y = 0, .step_x = 8, .step_y = 8},
    {.x = 0, .y = 4, .step_x = 4, .step_y = 8}, {.x = 2, .y = 0, .step_x = 4, .step_y = 4},
    {.x = 0, .y = 2, .step_x = 2, .step_y = 4}, {.x = 1, .y = 0, .step_x = 2, .step_y = 2},
    {.x = 0, .y = 1, .step_x = 1, .step_y = 2}};

/* Lists the passes that have pixels: others are not in the file. Returns false if they are too
 * large. */
static bool list_passes(const ImgstatPage *page, const PngForm *form, DeflatedRows *out)
{
    const DeflatedPass *const first = form->interlaced ? adam7 : &all_pixels;
    const DeflatedPass *const end = first + (form->interlaced ? DEFLATED_PASSES : 1);
    uint32_t rows = 0;
    for (const DeflatedPass *from = first; from < end; from++) {
        DeflatedPass pass = *from;
        pass.width = (page->width + pass.step_x - 1 - pass.x) / pass.step_x;
        pass.height = (page->height + pass.step_y - 1 - pass.y) / pass.step_y;
        const uint64_t row_bytes = png_form_row_bytes(form, pass.width);
        if (row_bytes >= DEFLATED_ROWS_MOST ||
            (1 + row_bytes) * pass.height > DEFLATED_ROWS_MOST - out->n_out)
            return false;
        if (pass.width == 0 || pass.height == 0)
            continue;
        pass.row_bytes = (uint32_t)row_bytes;
        pass.row_pitch = (uint32_t)padded(row_bytes, 4);
        pass.filtered = out->n_out;
        pass.rows = rows; /* all together at most twice the filtered bytes */
        pass.band = out->bands;
        out->n_out += (1 + pass.row_bytes) * pass.height;
        rows += pass.row_pitch * pass.height;
        out->bands += (pass.height + DEFLATED_BAND - 1) / DEFLATED_BAND;
        out->pass[out->n_passes++] = pass;
    }
    return true;
}

/* Describes rows whose samples a device can make. */
static bool describe_rows(const PngDecoder *pd, DeflatedRows *out,
                          uint8_t colors[DEFLATED_COLORS][4])
{
    const ImgstatPage *const page = &pd->base.page;
    const PngForm *const form = &pd->form;
    const bool palette = form->color_type == PNG_PALETTE;
    if (!list_passes(page, form, out) || out->n_passes == 0)
        return false;
    out->channels = (uint8_t)page->channels;
    out->depth = form->depth;
    out->pixel_bytes = (uint8_t)png_form_pixel_bytes(form);
    out->keyed = pd->keyed;
    memcpy(out->key, pd->key, sizeof out->key);
    out->form = pd->step == ROW_PALETTE                            ? ROWS_COLORS
                : form->depth < 8 || form->interlaced || pd->keyed ? ROWS_SAMPLES
                                                                   : ROWS_PLAIN;
    out->n_colors = form->n_colors;
    if (palette && out->form != ROWS_COLORS)
        return false; /* libpng warns of indices without a colour */
    if (out->form == ROWS_COLORS)
        memcpy(colors, form->colors, sizeof form->colors);
    return true;
}

bool png_deflated(Decoder *base, uint8_t *to, size_t room, DeflatedRows *out,
                  uint8_t colors[DEFLATED_COLORS][4])
{
    const PngDecoder *const pd = (const PngDecoder *)base;
    uint64_t at;
    uint32_t length;
    size_t bytes = 0;
    memset(out, 0, sizeof *out);
    if (base->mode == DECODE_PLAIN || !describe_rows(pd, out, colors) ||
        !png_first_data(pd, &at, &length))
        return false;
    const uint64_t rows = out->n_out, most = base->how.limits.max_tile_bytes;
    const size_t before = DEFLATED_ALIGN - ZLIB_HEAD;
    if (room <= before ||
        !copy_chunks(base->source, at, length, rows > most ? rows : most, to + before,
                     room - before, &bytes) ||
        !inflate_read_frame(to + before, bytes, &out->window, &out->adler) ||
        bytes - ZLIB_FRAME > DEFLATED_BYTES_MOST)
        return false;
    out->n_in = (uint32_t)(bytes - ZLIB_FRAME);
    return true;
}
