/* SPDX-License-Identifier: MIT */
/* deflated.c: the compressed pixels of an image as one stream, for devices that decompress it. */
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

/* Describes rows whose samples a device can make. */
static bool describe_rows(const PngDecoder *pd, DeflatedRows *out,
                          uint8_t colors[DEFLATED_COLORS][4])
{
    const ImgstatPage *const page = &pd->base.page;
    const PngForm *const form = &pd->form;
    const bool palette = form->color_type == PNG_PALETTE;
    const uint64_t row_bytes = png_form_row_bytes(form, page->width);
    if (form->interlaced || (!palette && page->channels != png_form_channels(form)) ||
        page->width == 0 || row_bytes >= DEFLATED_ROWS_MOST ||
        (1 + row_bytes) * page->height > DEFLATED_ROWS_MOST) /* a key's alpha is the processor's */
        return false;
    out->width = page->width;
    out->height = page->height;
    out->row_bytes = (uint32_t)row_bytes;
    out->channels = (uint8_t)page->channels;
    out->depth = form->depth;
    out->pixel_bytes = (uint8_t)png_form_pixel_bytes(form);
    out->form = pd->step == ROW_PALETTE ? ROWS_COLORS : form->depth < 8 ? ROWS_PACKED : ROWS_PLAIN;
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
    const uint64_t rows = (1 + (uint64_t)out->row_bytes) * out->height;
    const uint64_t most = base->how.limits.max_tile_bytes;
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
