/* SPDX-License-Identifier: MIT */
/* decoder.c: the PNG codec. libpng reads what precedes the pixels; rows are read without it where
 * that is possible. */
#include "png/decoder.h"
#include "base/byteswap.h"
#include "base/pixel.h"
#include "codec/inflate_stream.h"
#include "png/filter.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEADER_BYTES = 8 + 8 + 8, /* signature, head of IHDR, width and height */
    THREAD_BYTES = 1 << 20,   /* images smaller than this are not worth a thread's start */
    DEFLATE_RATIO = 1032      /* deflate cannot expand by more: 258 bytes from 2 bits */
};

/* Chunks of this size are read under every limit for tiles: header, palette and key, of which
 * libpng would warn else. */
enum { LEAST_CHUNK = 1 << 16 };

/* ---- What libpng calls ---- */

static ImgstatResult failure_code(const PngDecoder *pd, const char *cause)
{
    if (pd->ends_early || strstr(cause, "Not enough image data"))
        return IMGSTAT_ERR_TRUNCATED;
    if (strstr(cause, "memory"))
        return IMGSTAT_ERR_MEMORY;
    if (strstr(cause, "user limit"))
        return IMGSTAT_ERR_LIMIT;
    return IMGSTAT_ERR_FORMAT;
}

static _Noreturn void on_error(png_structp png, png_const_charp cause)
{
    PngDecoder *const pd = png_get_error_ptr(png);
    const char *const name = pd->base.source->name;
    if (pd->failure.code == IMGSTAT_OK) { /* reading the source may have set it already */
        const ImgstatResult code = failure_code(pd, cause);
        if (code == IMGSTAT_ERR_MEMORY)
            (void)!error_file(&pd->failure, code, name, "out of memory for a PNG decoder");
        else if (pd->ends_early)
            (void)!error_file(&pd->failure, code, name, "ends early, after %llu bytes",
                              (unsigned long long)source_end(pd->base.source));
        else
            (void)!error_file(
                &pd->failure, code, name, "%s: %s",
                code == IMGSTAT_ERR_TRUNCATED ? "its pixels end early" : "damaged PNG", cause);
    }
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp cause)
{
    PngDecoder *const pd = png_get_error_ptr(png);
    if (strstr(cause, "IDAT") && strstr(cause, "incorrect data check"))
        pd->bad_checksum = true;
    else
        warnings_report(&pd->base.warnings, "%s", cause);
}

/* libpng drops what it has read of a chunk if less is there than it asks for: it is to read the
 * last bytes of a file that may be cut one by one. */
static void read_end_by_bytes(PngDecoder *pd)
{
    const uint64_t at = pd->offset - (pd->filled - pd->at);
    if (pd->base.how.salvage &&
        at + png_get_compression_buffer_size(pd->png) > pd->base.source->bytes)
        png_set_compression_buffer_size(pd->png, 1);
}

static void on_read(png_structp png, png_bytep to, size_t bytes)
{
    PngDecoder *const pd = png_get_io_ptr(png);
    while (bytes > 0) {
        if (pd->at == pd->filled) {
            pd->at = pd->filled = 0;
            if (source_read(pd->base.source, pd->offset, pd->buffer, PNG_READ_BYTES, &pd->filled,
                            &pd->failure) != IMGSTAT_OK)
                png_error(png, "read error");
            pd->offset += pd->filled;
            if (pd->filled == 0) {
                pd->ends_early = true;
                png_error(png, "end of file");
            }
        }
        const size_t left = pd->filled - pd->at;
        const size_t n = bytes < left ? bytes : left;
        memcpy(to, pd->buffer + pd->at, n);
        pd->at += n;
        to += n;
        bytes -= n;
    }
    read_end_by_bytes(pd);
}

/* ---- Before the pixels: raw samples, without gamma or colour conversion ---- */

ImgstatResult png_failure(const PngDecoder *pd, ImgstatError *err)
{
    if (err)
        *err = pd->failure;
    return pd->failure.code;
}

/* Frees what belongs to one reading of the file. */
static void end_reading(PngDecoder *pd)
{
    png_destroy_read_struct(&pd->png, &pd->info, NULL);
    png_stream_close(pd->stream);
    free(pd->above);
    free(pd->row_below);
    free(pd->row);
    buffer_cache_release(pd->held);
    pd->stream = NULL;
    pd->held = NULL;
    pd->held_from = pd->held_end = 0;
    pd->above = pd->row_below = pd->row = NULL;
    pd->decided = false;
}

ImgstatResult png_begin_reading(PngDecoder *pd, ImgstatError *err)
{
    end_reading(pd);
    pd->offset = pd->at = pd->filled = 0;
    pd->ends_early = pd->bad_checksum = false;
    pd->failure.code = IMGSTAT_OK;
    pd->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, pd, on_error, on_warning);
    pd->info = pd->png ? png_create_info_struct(pd->png) : NULL;
    if (!pd->info)
        return error_memory(err, sizeof *pd, "libpng's state");
    return IMGSTAT_OK;
}

static void read_palette(PngDecoder *pd)
{
    PngForm *const form = &pd->form;
    png_colorp rgb = NULL;
    png_bytep alpha = NULL;
    int n_rgb = 0, n_alpha = 0;
    png_get_PLTE(pd->png, pd->info, &rgb, &n_rgb);
    if (png_get_tRNS(pd->png, pd->info, &alpha, &n_alpha, NULL) == 0)
        n_alpha = 0;
    form->n_colors = (uint16_t)(n_rgb < 0 ? 0 : n_rgb > 256 ? 256 : n_rgb);
    form->n_alpha = (uint16_t)(n_alpha < 0 ? 0 : n_alpha);
    for (uint16_t i = 0; i < form->n_colors; i++) {
        form->colors[i][0] = rgb[i].red;
        form->colors[i][1] = rgb[i].green;
        form->colors[i][2] = rgb[i].blue;
        form->colors[i][3] = i < form->n_alpha ? alpha[i] : 255;
    }
}

static void read_form(PngDecoder *pd)
{
    pd->form =
        (PngForm){.color_type = png_get_color_type(pd->png, pd->info),
                  .depth = png_get_bit_depth(pd->png, pd->info),
                  .interlaced = png_get_interlace_type(pd->png, pd->info) != PNG_INTERLACE_NONE};
    if (pd->form.color_type == PNG_PALETTE)
        read_palette(pd);
}

/* Reads tRNS of gray or RGB: samples of `depth` bits. */
static bool read_key(PngDecoder *pd)
{
    const unsigned mask = (1u << pd->form.depth) - 1;
    png_color_16p key = NULL;
    if (pd->form.color_type == PNG_PALETTE ||
        png_get_tRNS(pd->png, pd->info, NULL, NULL, &key) == 0 || !key)
        return false;
    const bool gray = pd->form.color_type == PNG_GRAY;
    pd->key[0] = (uint16_t)((gray ? key->gray : key->red) & mask);
    pd->key[1] = (uint16_t)(key->green & mask);
    pd->key[2] = (uint16_t)(key->blue & mask);
    return true;
}

static const char *const gray_names[] = {"gray", "alpha"};
static const char *const rgb_names[] = {"red", "green", "blue", "alpha"};
static const char *const index_names[] = {"index"};

/* Chooses the sample type, and the transformations of libpng that return it. */
static void describe(PngDecoder *pd)
{
    Decoder *const base = &pd->base;
    const int color_type = pd->form.color_type;
    const uint8_t depth = pd->form.depth;
    const bool palette = color_type == PNG_COLOR_TYPE_PALETTE;
    const bool rgb = (color_type & PNG_COLOR_MASK_COLOR) && !palette;
    bool alpha = color_type & PNG_COLOR_MASK_ALPHA;
    bool colors = rgb;

    pd->step = ROW_AS_IT_IS;
    pd->keyed = read_key(pd);
    base->page.bits = depth;
    base->page.sample = depth == 16 ? IMGSTAT_U16 : IMGSTAT_U8;
    base->page.photometric = palette ? "palette" : rgb ? "rgb" : "gray";
    if (palette && !base->how.indices) {
        alpha = pd->form.n_alpha > 0;
        pd->step = ROW_PALETTE;
        base->page.bits = 8;
        colors = true;
    } else if (pd->keyed) {
        if (depth < 8)
            pd->step = ROW_GRAY_KEY;
        else
            png_set_tRNS_to_alpha(pd->png);
        alpha = true;
    }
    if (depth < 8)
        png_set_packing(pd->png);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (depth == 16)
        png_set_swap(pd->png);
#endif
    /* libpng warns of indices without a colour. */
    const bool plain =
        (pd->keyed && depth >= 8) || (palette && base->how.indices) || pd->form.interlaced;
    const size_t pixel_bits = (size_t)png_get_channels(pd->png, pd->info) * depth;
    pd->pixel_bytes = plain ? 0 : (pixel_bits + 7) / 8;
    pd->stored_row_bytes = (pixel_bits * base->page.width + 7) / 8;
    base->channel_names = colors ? rgb_names : palette ? index_names : gray_names;
    base->page.channels = (uint16_t)((colors ? 3 : 1) + (alpha ? 1 : 0));
    base->page.alpha = alpha ? (int16_t)(base->page.channels - 1) : -1;
}

/* Compares what the header declares with the limits and with what the file can hold. */
static ImgstatResult check_size(PngDecoder *pd, ImgstatError *err)
{
    const Decoder *const base = &pd->base;
    const ImgstatPage *const page = &base->page;
    const char *const name = base->source->name;
    IMGSTAT_TRY(limits_check(&base->how.limits, name, page->width, page->height, page->channels,
                             imgstat_sample_bytes(page->sample), err));
    const uint64_t stored = (uint64_t)pd->stored_row_bytes * page->height;
    if (stored / DEFLATE_RATIO > base->source->bytes)
        return error_file(err, IMGSTAT_ERR_TRUNCATED, name, "%llu bytes cannot hold %u x %u pixels",
                          (unsigned long long)base->source->bytes, page->width, page->height);
    return IMGSTAT_OK;
}

/* Skips chunks that do not concern samples: they take no time and no memory, and give no warnings.
 */
static void skip_chunks(png_structp png)
{
    static const png_byte names[] =
        "acTL\0bKGD\0cHRM\0eXIf\0fcTL\0fdAT\0gAMA\0hIST\0iCCP\0iTXt\0oFFs\0pCAL\0pHYs\0"
        "sBIT\0sCAL\0sPLT\0sRGB\0tEXt\0tIME\0zTXt";
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, names, (int)(sizeof names / 5));
}

ImgstatResult png_read_head(PngDecoder *pd, ImgstatError *err)
{
    Decoder *const base = &pd->base;
    if (setjmp(png_jmpbuf(pd->png)))
        return png_failure(pd, err);
    png_set_read_fn(pd->png, pd, on_read);
    png_set_user_limits(pd->png, base->how.limits.max_width, base->how.limits.max_height);
    const uint64_t chunk = base->how.limits.max_tile_bytes;
    png_set_chunk_malloc_max(pd->png,
                             (png_alloc_size_t)(chunk > LEAST_CHUNK ? chunk : LEAST_CHUNK));
    skip_chunks(pd->png);
    png_read_info(pd->png, pd->info);
    base->page.width = png_get_image_width(pd->png, pd->info);
    base->page.height = png_get_image_height(pd->png, pd->info);
    read_form(pd);
    describe(pd);
    IMGSTAT_TRY(check_size(pd, err));
    if (pd->form.interlaced)
        png_set_interlace_handling(pd->png);
    png_read_update_info(pd->png, pd->info);
    pd->png_row_bytes = png_get_rowbytes(pd->png, pd->info);
    return IMGSTAT_OK;
}

/* ---- Rows without libpng ---- */

bool png_first_data(const PngDecoder *pd, uint64_t *at, uint32_t *length)
{
    uint8_t head[4];
    size_t got = 0;
    *at = pd->offset - (pd->filled - pd->at); /* libpng has read the head of the chunk */
    if (*at < PNG_CHUNK_HEAD ||
        source_read(pd->base.source, *at - PNG_CHUNK_HEAD, head, sizeof head, &got, NULL) !=
            IMGSTAT_OK ||
        got < sizeof head)
        return false;
    *length = png_get32(head);
    return true;
}

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
    end_reading(pd);
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
