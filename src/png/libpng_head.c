/* SPDX-License-Identifier: MIT */
/* libpng_head.c: libpng reads what precedes the pixels, and is prepared for them. */
#include "png/decoder.h"

#include "codec/limits.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

enum { DEFLATE_RATIO = 1032 }; /* deflate cannot expand by more: 258 bytes from 2 bits */

/* Every limit for tiles allows chunks of this size, such as the palette: libpng would leave them
 * out with a warning. */
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

void png_end_reading(PngDecoder *pd)
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
    png_end_reading(pd);
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
