/* SPDX-License-Identifier: MIT */
/* decoder.c: the PNG codec: rows without libpng where that is possible, else through it. */
#include "png/decoder.h"
#include "base/byteswap.h"
#include "png/unfilter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEADER_BYTES = 8 + 8 + 8, /* signature, head of IHDR, width and height */
    THREAD_BYTES = 1 << 20    /* images smaller than this are not worth a thread's start */
};

/* ---- Without libpng ---- */

/* Whole bytes, and no change of their number. */
static bool is_common(const PngDecoder *pd)
{
    return pd->base.mode != DECODE_PLAIN && pd->pixel_bytes > 0;
}

/* Only what is common is decoded without libpng. */
static bool open_stream(PngDecoder *pd)
{
    const Decoder *const base = &pd->base;
    const uint64_t bytes = (uint64_t)pd->png_row_bytes * base->page.height;
    const bool large = bytes >= THREAD_BYTES || base->mode == DECODE_THREADS;
    const uint64_t at = pd->offset - (pd->filled - pd->at); /* behind the head of an IDAT chunk */
    uint8_t length[4];
    size_t got = 0;
    if (!is_common(pd) || at < 8 ||
        source_read(base->source, at - 8, length, sizeof length, &got, NULL) != IMGSTAT_OK ||
        got < sizeof length)
        return false;
    pd->unfiltered[0] = calloc(1, pd->png_row_bytes);
    pd->unfiltered[1] = malloc(pd->png_row_bytes);
    if (!pd->unfiltered[0] || !pd->unfiltered[1])
        return false;
    pd->stream = png_stream_open(base->source, at, png_get32(length), pd->png_row_bytes,
                                 base->page.height, base->how.limits.max_tile_bytes,
                                 large && base->options.threads != 1, base->options.buffers);
    return pd->stream != NULL;
}

/* Returns how many rows are right. Rows whose bytes are the samples are unfiltered into their
 * place. */
static uint32_t read_stream(PngDecoder *pd, uint8_t *to, size_t pitch, uint32_t y, uint32_t rows)
{
    const size_t n = pd->png_row_bytes;
    const bool wide = pd->base.page.sample == IMGSTAT_U16;
    const bool straight = pd->step == ROW_AS_IT_IS && !wide;
    const uint8_t *above = pd->unfiltered[0];
    for (uint32_t done = 0; done < rows; done++) {
        const uint8_t *const raw = png_stream_row(pd->stream);
        if (!raw || raw[0] > 4)
            return done;
        uint8_t *const place = to + done * pitch;
        uint8_t *const row = straight ? place : pd->unfiltered[1];
        unfilter_row(raw[0], raw + 1, above, row, n, pd->pixel_bytes);
        if (wide && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
            swap_words(row, place, n, 2);
        else if (!straight && png_finish_row(pd, row, place, y + done, NULL) != IMGSTAT_OK)
            return done;
        above = row;
        if (!straight) {
            pd->unfiltered[1] = pd->unfiltered[0];
            pd->unfiltered[0] = row;
        }
    }
    if (straight && y + rows < pd->base.page.height)
        memcpy(pd->unfiltered[0], above, n); /* the caller may change the rows that it got */
    return rows;
}

/* libpng from the start, and the rows that were given already passed over. */
static ImgstatResult pass_over(PngDecoder *pd, uint32_t rows, ImgstatError *err)
{
    IMGSTAT_TRY(png_start_anew(pd, err));
    uint8_t *const row = malloc(pd->png_row_bytes);
    if (!row)
        return error_memory(err, pd->png_row_bytes, "a row of pixels");
    ImgstatResult res = IMGSTAT_OK;
    for (uint32_t i = 0; i < rows && res == IMGSTAT_OK; i++)
        res = png_decode_row(pd, row, err);
    free(row);
    return res;
}

static ImgstatResult read_rows(Decoder *base, void *to, size_t pitch, uint32_t rows,
                               ImgstatError *err)
{
    PngDecoder *const pd = (PngDecoder *)base;
    const uint32_t y = base->next_row;
    uint32_t done = 0;
    if (rows == 0)
        return IMGSTAT_OK;
    if (!pd->decided && !open_stream(pd)) {
        png_stream_close(pd->stream);
        pd->stream = NULL;
    }
    pd->decided = true;
    if (pd->stream) {
        done = read_stream(pd, to, pitch, y, rows);
        const bool last = y + rows == base->page.height;
        if (done < rows || (last && !png_stream_ends_well(pd->stream))) {
            IMGSTAT_TRY(pass_over(pd, y, err));
            done = 0;
        }
    }
    if (done == 0)
        IMGSTAT_TRY(png_read_plainly(pd, to, pitch, y, rows, err));
    return IMGSTAT_OK;
}

/* ---- The codec ---- */

static ImgstatResult select_page(Decoder *base, ImgstatError *err)
{
    PngDecoder *const pd = (PngDecoder *)base;
    IMGSTAT_TRY(png_begin_reading(pd, err));
    return png_read_head(pd, err);
}

static ImgstatResult plan_page(Decoder *base, ImgstatError *err)
{
    const PngDecoder *const pd = (const PngDecoder *)base;
    (void)err;
    base->caps.held_bytes =
        pd->form.interlaced ? (uint64_t)pd->png_row_bytes * png_held_rows(pd) : 0;
    return IMGSTAT_OK;
}

static bool probe(const uint8_t *bytes, size_t n)
{
    return n >= sizeof png_signature && memcmp(bytes, png_signature, sizeof png_signature) == 0;
}

static bool palette(const Decoder *base, ImagePro *colors, unsigned *n)
{
    const PngForm *const form = &((const PngDecoder *)base)->form;
    if (form->color_type != PNG_PALETTE || colors->sample != IMGSTAT_U8 ||
        colors->width != 1u << form->depth)
        return false;
    uint8_t *to = colors->host;
    for (size_t i = 0; i < colors->width; i++, to += colors->channels)
        memcpy(to, form->colors[i], colors->channels);
    *n = form->n_colors;
    return true;
}

static void libraries(char *to, size_t room)
{
    snprintf(to, room, "libpng %s", png_get_libpng_ver(NULL));
}

static void close_decoder(Decoder *base)
{
    if (!base)
        return;
    PngDecoder *const pd = (PngDecoder *)base;
    png_end_reading(pd);
    warnings_release(&base->warnings);
    free(pd->buffer);
    free(pd);
}

/* The size limits come first, so that libpng never sees a file beyond them. */
static ImgstatResult check_header(const Source *source, const ImgstatLimits *limits,
                                  ImgstatError *err)
{
    uint8_t head[HEADER_BYTES] = {0};
    size_t n = 0;
    IMGSTAT_TRY(source_read(source, 0, head, sizeof head, &n, err));
    if (n < sizeof head)
        return error_file(err, IMGSTAT_ERR_TRUNCATED, source->name, "ends early, after %llu bytes",
                          (unsigned long long)source->bytes);
    if (memcmp(head + 12, "IHDR", 4) != 0)
        return error_file(err, IMGSTAT_ERR_FORMAT, source->name,
                          "damaged PNG: does not begin with IHDR");
    return limits_check(limits, source->name, png_get32(head + 16), png_get32(head + 20), 1, 1,
                        err);
}

static ImgstatResult open_decoder(const Source *source, const ImgstatOpen *how, Decoder **out,
                                  ImgstatError *err)
{
    *out = NULL;
    IMGSTAT_TRY(check_header(source, &how->limits, err));
    PngDecoder *const pd = calloc(1, sizeof *pd);
    if (!pd)
        return error_memory(err, sizeof *pd, "a PNG decoder");
    pd->base = (Decoder){
        .codec = &png_codec,
        .source = source,
        .how = *how,
        .warnings = {.warn = how->warn, .context = how->warn_context, .name = source->name},
        .page = {.format = "png", .alpha = -1},
    };
    pd->buffer = malloc(PNG_READ_BYTES);
    if (!pd->buffer) {
        close_decoder(&pd->base);
        return error_memory(err, PNG_READ_BYTES, "a PNG decoder");
    }
    *out = &pd->base;
    return IMGSTAT_OK;
}

static void describe_layout(Decoder *base, ImgstatLayout *out)
{
    const PngDecoder *const pd = (const PngDecoder *)base;
    out->compression = "deflate";
    out->interlaced = pd->form.interlaced;
    out->tile_width = base->page.width;
    out->tile_height = base->page.height;
    out->tiles = 1;
    out->big_endian = true;
}

const Codec png_codec = {
    .name = "png",
    .probe = probe,
    .open = open_decoder,
    .select = select_page,
    .plan = plan_page,
    .read_rows = read_rows,
    .palette = palette,
    .metadata = png_metadata_read,
    .layout = describe_layout,
    .libraries = libraries,
    .close = close_decoder,
};
