/* SPDX-License-Identifier: MIT */
/* decoder.c: the PNG codec. Rows are read without libpng where that is possible. */
#include "png/decoder.h"
#include "base/byteswap.h"
#include "base/pixel.h"
#include "codec/inflate.h"
#include "png/filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEADER_BYTES = 8 + 8 + 8, /* signature, head of IHDR, width and height */
    THREAD_BYTES = 1 << 20    /* images smaller than this are not worth a thread's start */
};

/* ---- Rows without libpng ---- */

/* Opens the stream of an image that needs no libpng. */
static bool open_stream(PngDecoder *pd)
{
    const Decoder *const base = &pd->base;
    const uint64_t bytes = (uint64_t)pd->stored_row_bytes * base->page.height;
    const bool always = base->mode == DECODE_THREADS;
    const unsigned threads = bytes >= THREAD_BYTES || always ? decoder_threads(base) : 1;
    uint64_t at;
    uint32_t length;
    if (base->mode == DECODE_PLAIN || pd->pixel_bytes == 0 || !png_first_data(pd, &at, &length))
        return false;
    pd->above = calloc(1, pd->stored_row_bytes);
    pd->row_below = malloc(pd->stored_row_bytes);
    if (pd->form.depth < 8 && !pd->row)
        pd->row = malloc(pd->png_row_bytes);
    if (!pd->above || !pd->row_below || (pd->form.depth < 8 && !pd->row))
        return false;
    pd->stream =
        png_stream_open(base->source, at, length, pd->stored_row_bytes, base->page.height,
                        base->how.limits.max_tile_bytes, threads, always, base->options.buffers);
    return pd->stream != NULL;
}

/* Returns how many of n rows of a stream come before one with a filter that there is not. */
static uint32_t count_usable(const uint8_t *from, uint32_t n, size_t stride)
{
    uint32_t i = 0;
    while (i < n && from[i * stride] < PNG_FILTERS)
        i++;
    return i;
}

/* Reads rows from the stream, unfiltered straight to their place. Returns how many are right. */
static uint32_t read_straight(PngDecoder *pd, uint8_t *to, size_t pitch, uint32_t rows)
{
    const size_t n = pd->png_row_bytes;
    const bool swap = pd->base.page.sample == IMGSTAT_U16 && !host_big_endian;
    const uint8_t *above = pd->above;
    for (uint32_t done = 0, got; done < rows; done += got) {
        uint8_t *const place = to + done * pitch;
        const uint32_t wanted = rows - done < UNFILTER_ROWS ? rows - done : UNFILTER_ROWS;
        const uint8_t *const from = png_stream_rows(pd->stream, wanted, &got);
        if (!from)
            return done;
        const uint32_t usable = count_usable(from, got, 1 + n);
        unfilter_rows(&(FilteredRows){from, usable, n, above, place, pitch}, pd->pixel_bytes);
        above = place + (got - 1) * pitch;
        if (usable == got && (swap || done + got == rows)) {
            memcpy(pd->above, above, n); /* the caller may change the rows that it got */
            above = pd->above;
        }
        for (uint32_t y = 0; swap && y < usable; y++)
            swap_words(place + y * pitch, place + y * pitch, n, 2);
        if (usable < got)
            return done + usable;
    }
    return rows;
}

/* Reads rows from the stream, whose samples become others. Returns how many are right. */
static uint32_t read_expanded(PngDecoder *pd, uint8_t *to, size_t pitch, uint32_t y, uint32_t rows)
{
    const unsigned depth = pd->form.depth;
    for (uint32_t done = 0, some; done < rows; done++) {
        const uint8_t *const from = png_stream_rows(pd->stream, 1, &some);
        uint8_t *const row = pd->row_below, *const above = pd->above;
        if (!from || from[0] >= PNG_FILTERS)
            return done;
        unfilter_rows(&(FilteredRows){from, 1, pd->stored_row_bytes, above, row, 0},
                      pd->pixel_bytes);
        if (depth < 8)
            unpack_bits(depth, row, pd->row, pd->base.page.width);
        if (png_finish_row(pd, depth < 8 ? pd->row : row, to + done * pitch, y + done, NULL) !=
            IMGSTAT_OK)
            return done;
        pd->row_below = above;
        pd->above = row;
    }
    return rows;
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
        const bool straight = pd->step == ROW_AS_IT_IS && pd->form.depth >= 8;
        done =
            straight ? read_straight(pd, to, pitch, rows) : read_expanded(pd, to, pitch, y, rows);
        const bool last = y + rows == base->page.height;
        if (done < rows || (last && !png_stream_ends_well(pd->stream))) {
            IMGSTAT_TRY(png_pass_over(pd, y, err));
            done = 0;
        }
    }
    return done == 0 ? png_read_plainly(pd, to, pitch, y, rows, err) : IMGSTAT_OK;
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
    if (pd->form.interlaced) {
        enum { PASSES_WEIGHT = 6 }; /* libpng decodes, merges and expands the rows of each pass */
        const uint32_t held = png_held_rows(pd);
        base->caps.held_bytes = (uint64_t)pd->png_row_bytes * held;
        base->caps.weight =
            PASSES_WEIGHT * (base->page.height / held + (base->page.height % held > 0));
    } else if (base->mode != DECODE_PLAIN && pd->pixel_bytes > 0)
        base->caps.held_bytes =
            inflate_stream_bytes((uint64_t)(pd->stored_row_bytes + 1) * base->page.height,
                                 base->source->bytes, decoder_threads(base));
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
                          (unsigned long long)source_end(source));
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
    .is_whole = png_is_whole,
    .open = open_decoder,
    .select = select_page,
    .plan = plan_page,
    .read_rows = read_rows,
    .palette = palette,
    .deflated = png_deflated,
    .metadata = png_metadata_read,
    .layout = describe_layout,
    .libraries = libraries,
    .close = close_decoder,
};
