/* SPDX-License-Identifier: MIT */
/* png_read.c: reading PNG through libpng: raw samples, without gamma or colour conversion. */
#include "codec.h"
#include "png_stream.h"
#include "swap.h"
#include "undo.h"

#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

enum {
    READ_BYTES = 1 << 16,     /* one system call for many small chunks */
    SIGNATURE_BYTES = 8,      /* of a PNG file */
    HEADER_BYTES = 8 + 8 + 8, /* signature, head of IHDR, width and height */
    THREAD_BYTES = 1 << 20,   /* images smaller than this are not worth a thread's start */
    DEFLATE_RATIO = 1032      /* deflate cannot expand by more: 258 bytes from 2 bits */
};

/* What turns libpng's row into ours. */
typedef enum RowStep {
    ROW_AS_IT_IS,
    ROW_GRAY_KEY, /* gray of 1, 2, 4 bits whose tRNS names one transparent value */
    ROW_PALETTE   /* indices to colours */
} RowStep;

typedef struct PngDecoder {
    Decoder base;
    png_structp png;
    png_infop info;
    RowStep step;
    unsigned gray_key;
    unsigned n_colors; /* of the palette */
    uint8_t colors[256][4];
    size_t png_row_bytes; /* of a row as libpng gives it, where step changes it */
    uint8_t *row;         /* one such row */
    uint8_t *whole;       /* interlaced images are decoded at once, as libpng gives rows */
    uint64_t offset;      /* of the next byte to read from the source */
    uint8_t *buffer;      /* READ_BYTES */
    size_t at, filled;    /* in buffer */
    bool ends_early;      /* the source had fewer bytes than libpng wanted */
    bool bad_checksum;    /* of the compressed pixels as a whole */
    bool interlaced;
    /* The fast way, which ends at the first thing out of the ordinary: libpng then starts anew. */
    PngStream *stream;      /* NULL: rows come from libpng */
    bool decided;           /* which of the two */
    size_t pixel_bytes;     /* in the file; 0 where only libpng gives the rows */
    uint8_t *unfiltered[2]; /* rows in the order of the file: the one above and the next */
    ImgstatError failure;   /* of the last libpng call */
} PngDecoder;

static uint32_t big_endian(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

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
        if (pd->ends_early)
            (void)!error_set(&pd->failure, code, "%s: ends early, after %llu bytes", name,
                             (unsigned long long)pd->base.source->bytes);
        else
            (void)!error_set(&pd->failure, code, "%s: %s: %s", name,
                             code == IMGSTAT_ERR_TRUNCATED ? "its pixels end early" : "damaged PNG",
                             cause);
    }
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp cause)
{
    PngDecoder *const pd = png_get_error_ptr(png);
    if (strstr(cause, "IDAT") && strstr(cause, "incorrect data check"))
        pd->bad_checksum = true;
    else
        warnings_tell(&pd->base.warnings, "%s", cause);
}

static void on_read(png_structp png, png_bytep to, size_t bytes)
{
    PngDecoder *const pd = png_get_io_ptr(png);
    while (bytes > 0) {
        if (pd->at == pd->filled) {
            pd->at = pd->filled = 0;
            if (source_read(pd->base.source, pd->offset, pd->buffer, READ_BYTES, &pd->filled,
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
}

/* ---- Before the pixels ---- */

static ImgstatResult take_failure(const PngDecoder *pd, ImgstatError *err)
{
    return error_set(err, pd->failure.code, "%s", pd->failure.message);
}

static void end_reading(PngDecoder *pd)
{
    png_destroy_read_struct(&pd->png, &pd->info, NULL);
    png_stream_close(pd->stream);
    free(pd->unfiltered[0]);
    free(pd->unfiltered[1]);
    free(pd->row);
    free(pd->whole);
    pd->stream = NULL;
    pd->unfiltered[0] = pd->unfiltered[1] = pd->row = pd->whole = NULL;
    pd->decided = false;
}

static ImgstatResult begin_reading(PngDecoder *pd, ImgstatError *err)
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

static void read_palette(PngDecoder *pd, bool *has_alpha)
{
    png_colorp rgb = NULL;
    png_bytep alpha = NULL;
    int n_rgb = 0, n_alpha = 0;
    png_get_PLTE(pd->png, pd->info, &rgb, &n_rgb);
    if (png_get_tRNS(pd->png, pd->info, &alpha, &n_alpha, NULL) == 0)
        n_alpha = 0;
    *has_alpha = n_alpha > 0;
    pd->n_colors = n_rgb < 0 ? 0u : (unsigned)n_rgb;
    for (int i = 0; i < n_rgb && i < 256; i++) {
        pd->colors[i][0] = rgb[i].red;
        pd->colors[i][1] = rgb[i].green;
        pd->colors[i][2] = rgb[i].blue;
        pd->colors[i][3] = i < n_alpha ? alpha[i] : 255;
    }
}

static const char *const gray_names[] = {"gray", "alpha"};
static const char *const rgb_names[] = {"red", "green", "blue", "alpha"};
static const char *const index_names[] = {"index"};

/* Chooses how samples are held and which transformations give them. */
static void describe(PngDecoder *pd)
{
    Decoder *const base = &pd->base;
    const int color_type = png_get_color_type(pd->png, pd->info);
    const uint8_t depth = png_get_bit_depth(pd->png, pd->info);
    const bool palette = color_type == PNG_COLOR_TYPE_PALETTE;
    const bool rgb = (color_type & PNG_COLOR_MASK_COLOR) && !palette;
    bool alpha = color_type & PNG_COLOR_MASK_ALPHA;
    bool colors = rgb;

    pd->step = ROW_AS_IT_IS;
    base->page.bits = depth;
    base->page.sample = depth == 16 ? IMGSTAT_U16 : IMGSTAT_U8;
    base->page.photometric = palette ? "palette" : rgb ? "rgb" : "gray";
    if (palette && !base->how.indices) {
        read_palette(pd, &alpha);
        pd->step = ROW_PALETTE;
        base->page.bits = 8;
        colors = true;
    } else if (!palette && png_get_valid(pd->png, pd->info, PNG_INFO_tRNS)) {
        png_color_16p key = NULL;
        if (!rgb && depth < 8 && png_get_tRNS(pd->png, pd->info, NULL, NULL, &key) && key) {
            pd->step = ROW_GRAY_KEY;
            pd->gray_key = key->gray & ((1u << depth) - 1);
        } else {
            png_set_tRNS_to_alpha(pd->png);
        }
        alpha = true;
    }
    if (depth < 8)
        png_set_packing(pd->png);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (depth == 16)
        png_set_swap(pd->png);
#endif
    const bool adds_alpha = alpha && !palette && !(color_type & PNG_COLOR_MASK_ALPHA);
    /* libpng looks for indices without a colour, and says so. */
    const bool plain = depth < 8 || adds_alpha || (palette && base->how.indices) ||
                       png_get_interlace_type(pd->png, pd->info) != PNG_INTERLACE_NONE;
    pd->pixel_bytes = plain ? 0 : (size_t)png_get_channels(pd->png, pd->info) * depth / 8;
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
    const uint64_t stored = ((uint64_t)page->width * png_get_channels(pd->png, pd->info) *
                                 png_get_bit_depth(pd->png, pd->info) +
                             7) /
                            8 * page->height;
    if (stored / DEFLATE_RATIO > base->source->bytes)
        return error_set(err, IMGSTAT_ERR_TRUNCATED, "%s: %llu bytes cannot hold %u x %u pixels",
                         name, (unsigned long long)base->source->bytes, page->width, page->height);
    return IMGSTAT_OK;
}

/* Chunks that say nothing of the samples are passed over: no time, no memory, no warnings for them.
 */
static void skip_chunks(png_structp png)
{
    static const png_byte names[] =
        "bKGD\0cHRM\0eXIf\0gAMA\0hIST\0iCCP\0iTXt\0oFFs\0pCAL\0pHYs\0sBIT\0sCAL\0"
        "sPLT\0sRGB\0tEXt\0tIME\0zTXt";
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, names, (int)(sizeof names / 5));
}

/* Reads all chunks before the pixels and gets libpng ready to give rows. */
static ImgstatResult read_head(PngDecoder *pd, ImgstatError *err)
{
    Decoder *const base = &pd->base;
    if (setjmp(png_jmpbuf(pd->png)))
        return take_failure(pd, err);
    png_set_read_fn(pd->png, pd, on_read);
    png_set_user_limits(pd->png, base->how.limits.max_width, base->how.limits.max_height);
    png_set_chunk_malloc_max(pd->png, (png_alloc_size_t)base->how.limits.max_chunk_bytes);
    skip_chunks(pd->png);
    png_read_info(pd->png, pd->info);
    base->page.width = png_get_image_width(pd->png, pd->info);
    base->page.height = png_get_image_height(pd->png, pd->info);
    describe(pd);
    IMGSTAT_TRY(check_size(pd, err));
    pd->interlaced = png_get_interlace_type(pd->png, pd->info) != PNG_INTERLACE_NONE;
    if (pd->interlaced)
        png_set_interlace_handling(pd->png);
    png_read_update_info(pd->png, pd->info);
    pd->png_row_bytes = png_get_rowbytes(pd->png, pd->info);
    return IMGSTAT_OK;
}

static ImgstatResult select_page(Decoder *base, uint32_t page, ImgstatError *err)
{
    PngDecoder *const pd = (PngDecoder *)base;
    base->channel_names = NULL;
    IMGSTAT_TRY(begin_reading(pd, err));
    base->page.page = page;
    base->next_row = 0;
    const ImgstatResult res = read_head(pd, err);
    if (res != IMGSTAT_OK)
        base->channel_names = NULL; /* no page is selected */
    return res;
}

/* ---- The pixels ---- */

static ImgstatResult map_colors(PngDecoder *pd, const uint8_t *from, uint8_t *to, uint32_t y,
                                ImgstatError *err)
{
    const ImgstatPage *const page = &pd->base.page;
    unsigned largest = 0;
    if (page->channels == 4) {
        for (size_t x = 0; x < page->width; x++) {
            largest = from[x] > largest ? from[x] : largest;
            memcpy(to + 4 * x, pd->colors[from[x]], 4);
        }
    } else {
        for (size_t x = 0; x < page->width; x++) {
            const uint8_t *const color = pd->colors[from[x]];
            largest = from[x] > largest ? from[x] : largest;
            to[3 * x] = color[0];
            to[3 * x + 1] = color[1];
            to[3 * x + 2] = color[2];
        }
    }
    if (largest >= pd->n_colors)
        return error_set(err, IMGSTAT_ERR_FORMAT,
                         "%s: row %u has index %u where the palette has %u colours",
                         pd->base.source->name, y, largest, pd->n_colors);
    return IMGSTAT_OK;
}

static void add_key_alpha(const PngDecoder *pd, const uint8_t *from, uint8_t *to)
{
    const uint8_t opaque = (uint8_t)((1u << pd->base.page.bits) - 1);
    for (size_t x = 0; x < pd->base.page.width; x++) {
        to[2 * x] = from[x];
        to[2 * x + 1] = from[x] == pd->gray_key ? 0 : opaque;
    }
}

static ImgstatResult finish_row(PngDecoder *pd, const uint8_t *from, uint8_t *to, uint32_t y,
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

/* Reads all passes of an interlaced image. */
static ImgstatResult read_whole(PngDecoder *pd, ImgstatError *err)
{
    const ImgstatPage *const page = &pd->base.page;
    size_t bytes = 0;
    if (__builtin_mul_overflow(pd->png_row_bytes, (size_t)page->height, &bytes) ||
        bytes > pd->base.how.limits.max_chunk_bytes)
        return error_set(
            err, IMGSTAT_ERR_LIMIT,
            "%s: interlaced, so read as a whole, which takes more than the limit of %llu bytes",
            pd->base.source->name, (unsigned long long)pd->base.how.limits.max_chunk_bytes);
    pd->whole = calloc(1, bytes);
    if (!pd->whole)
        return error_memory(err, bytes, "an interlaced image");
    if (setjmp(png_jmpbuf(pd->png)))
        return take_failure(pd, err);
    for (int pass = 0; pass < PNG_INTERLACE_ADAM7_PASSES; pass++)
        for (uint32_t y = 0; y < page->height; y++)
            png_read_row(pd->png, pd->whole + y * pd->png_row_bytes, NULL);
    return IMGSTAT_OK;
}

/* Reads what follows the pixels. Damage there leaves the samples whole, unless it is in the
 * checksums of the pixels themselves. */
static ImgstatResult read_tail(PngDecoder *pd, ImgstatError *err)
{
    if (setjmp(png_jmpbuf(pd->png))) {
        if (png_get_io_chunk_type(pd->png) == 0x49444154u /* IDAT */ ||
            pd->failure.code == IMGSTAT_ERR_IO)
            return take_failure(pd, err);
        warnings_tell(&pd->base.warnings, "damaged after its pixels%s",
                      pd->ends_early ? ": ends early" : "");
        return IMGSTAT_OK;
    }
    png_read_end(pd->png, NULL);
    return IMGSTAT_OK;
}

static ImgstatResult decode_row(PngDecoder *pd, uint8_t *to, ImgstatError *err)
{
    if (setjmp(png_jmpbuf(pd->png)))
        return take_failure(pd, err);
    png_read_row(pd->png, to, NULL);
    return IMGSTAT_OK;
}

static ImgstatResult give_row(PngDecoder *pd, uint8_t *to, uint32_t y, ImgstatError *err)
{
    if (pd->interlaced)
        return finish_row(pd, pd->whole + (size_t)y * pd->png_row_bytes, to, y, err);
    uint8_t *const from = pd->step == ROW_AS_IT_IS ? to : pd->row;
    IMGSTAT_TRY(decode_row(pd, from, err));
    return finish_row(pd, from, to, y, err);
}

static ImgstatResult row_room(PngDecoder *pd, ImgstatError *err)
{
    if (pd->interlaced || pd->step == ROW_AS_IT_IS || pd->row)
        return IMGSTAT_OK;
    pd->row = malloc(pd->png_row_bytes);
    return pd->row ? IMGSTAT_OK : error_memory(err, pd->png_row_bytes, "a row of pixels");
}

static ImgstatResult read_plainly(PngDecoder *pd, uint8_t *to, size_t pitch, uint32_t y,
                                  uint32_t rows, ImgstatError *err)
{
    if (pd->interlaced && !pd->whole)
        IMGSTAT_TRY(read_whole(pd, err));
    IMGSTAT_TRY(row_room(pd, err));
    for (uint32_t i = 0; i < rows; i++)
        IMGSTAT_TRY(give_row(pd, to + i * pitch, y + i, err));
    if (y + rows < pd->base.page.height)
        return IMGSTAT_OK;
    IMGSTAT_TRY(read_tail(pd, err));
    if (pd->bad_checksum)
        return error_set(err, IMGSTAT_ERR_FORMAT, "%s: the checksum of its pixels is wrong",
                         pd->base.source->name);
    return IMGSTAT_OK;
}

/* ---- Without libpng ---- */

/* Only what is common is decoded without libpng: whole bytes and no change of their number. */
static bool open_stream(PngDecoder *pd)
{
    const Decoder *const base = &pd->base;
    const uint64_t bytes = (uint64_t)pd->png_row_bytes * base->page.height;
    const bool large = bytes >= THREAD_BYTES || base->way == DECODE_THREADS;
    const uint64_t at = pd->offset - (pd->filled - pd->at); /* behind the head of an IDAT chunk */
    uint8_t length[4];
    size_t got = 0;
    if (base->way == DECODE_PLAIN || pd->pixel_bytes == 0 || at < 8 ||
        source_read(base->source, at - 8, length, sizeof length, &got, NULL) != IMGSTAT_OK ||
        got < sizeof length)
        return false;
    pd->unfiltered[0] = calloc(1, pd->png_row_bytes);
    pd->unfiltered[1] = malloc(pd->png_row_bytes);
    if (!pd->unfiltered[0] || !pd->unfiltered[1])
        return false;
    pd->stream =
        png_stream_open(base->source, at, big_endian(length), pd->png_row_bytes, base->page.height,
                        base->how.limits.max_chunk_bytes, large && base->threads != 1);
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
        undo_png(raw[0], raw + 1, above, row, n, pd->pixel_bytes);
        if (wide && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
            swap_words(row, place, n, 2);
        else if (!straight && finish_row(pd, row, place, y + done, NULL) != IMGSTAT_OK)
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
static ImgstatResult start_anew(PngDecoder *pd, uint32_t rows, ImgstatError *err)
{
    IMGSTAT_TRY(begin_reading(pd, err));
    IMGSTAT_TRY(read_head(pd, err));
    pd->decided = true;
    uint8_t *const row = malloc(pd->png_row_bytes);
    if (!row)
        return error_memory(err, pd->png_row_bytes, "a row of pixels");
    ImgstatResult res = IMGSTAT_OK;
    for (uint32_t i = 0; i < rows && res == IMGSTAT_OK; i++)
        res = decode_row(pd, row, err);
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
            IMGSTAT_TRY(start_anew(pd, y, err));
            done = 0;
        }
    }
    if (done == 0)
        IMGSTAT_TRY(read_plainly(pd, to, pitch, y, rows, err));
    base->next_row += rows;
    return IMGSTAT_OK;
}

/* ---- The codec ---- */

static const uint8_t signature[SIGNATURE_BYTES] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};

static bool probe(const uint8_t *bytes, size_t n)
{
    return n >= sizeof signature && memcmp(bytes, signature, sizeof signature) == 0;
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
        return error_set(err, IMGSTAT_ERR_TRUNCATED, "%s: ends early, after %llu bytes",
                         source->name, (unsigned long long)source->bytes);
    if (memcmp(head + 12, "IHDR", 4) != 0)
        return error_set(err, IMGSTAT_ERR_FORMAT, "%s: damaged PNG: does not begin with IHDR",
                         source->name);
    return limits_check(limits, source->name, big_endian(head + 16), big_endian(head + 20), 1, 1,
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
        .page = {.format = "png", .pages = 1, .alpha = -1},
        .band_rows = 1,
    };
    pd->buffer = malloc(READ_BYTES);
    if (!pd->buffer) {
        close_decoder(&pd->base);
        return error_memory(err, READ_BYTES, "a PNG decoder");
    }
    *out = &pd->base;
    return IMGSTAT_OK;
}

const Codec png_codec = {
    .name = "png",
    .probe = probe,
    .open = open_decoder,
    .select = select_page,
    .read_rows = read_rows,
    .close = close_decoder,
};
