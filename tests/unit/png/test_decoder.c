/* SPDX-License-Identifier: MIT */
/* test_decoder.c: PNG files that libpng writes from known samples are read back as those samples.
 */
#include "helper_decode.h"
#include "png_files.h"

#include <criterion/criterion.h>
#include <png.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

enum { WIDTH = 37, HEIGHT = 29 };

typedef struct Shape {
    int color_type, depth, interlace;
    int key;      /* tRNS of gray or RGB; -1 for none */
    int n_colors; /* of a palette */
    int n_alpha;
} Shape;

static int stored_channels(const Shape *shape)
{
    return shape->color_type == PNG_COLOR_TYPE_RGB          ? 3
           : shape->color_type == PNG_COLOR_TYPE_RGB_ALPHA  ? 4
           : shape->color_type == PNG_COLOR_TYPE_GRAY_ALPHA ? 2
                                                            : 1;
}

static unsigned pattern(unsigned x, unsigned y, unsigned c, int depth)
{
    const unsigned v = (x * 7 + y * 131 + c * 57 + 3) * 40503u;
    return v >> 3 & ((1u << depth) - 1);
}

static void write_png(const Shape *shape)
{
    FILE *const file = fopen(decode_path, "wb");
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    const int channels = stored_channels(shape);
    png_byte rows[HEIGHT][WIDTH * 8] = {{0}};
    png_init_io(png, file);
    png_set_check_for_invalid_index(png, 0); /* one test wants them */
    png_set_IHDR(png, info, WIDTH, HEIGHT, shape->depth, shape->color_type, shape->interlace,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_color palette[256];
    png_byte alpha[256];
    for (int i = 0; i < 256; i++) {
        palette[i] = (png_color){(png_byte)(i * 3), (png_byte)(255 - i), (png_byte)(i ^ 85)};
        alpha[i] = (png_byte)(i * 5);
    }
    const png_color_16 key = {.gray = (png_uint_16)shape->key,
                              .red = (png_uint_16)shape->key,
                              .green = (png_uint_16)shape->key,
                              .blue = (png_uint_16)shape->key};
    if (shape->color_type == PNG_COLOR_TYPE_PALETTE)
        png_set_PLTE(png, info, palette, shape->n_colors);
    if (shape->n_alpha)
        png_set_tRNS(png, info, alpha, shape->n_alpha, NULL);
    if (shape->key >= 0)
        png_set_tRNS(png, info, NULL, 0, &key);
    png_write_info(png, info);
    png_set_packing(png);
    png_bytep pointers[HEIGHT];
    for (unsigned y = 0; y < HEIGHT; y++) {
        pointers[y] = rows[y];
        for (unsigned x = 0; x < WIDTH; x++) {
            for (unsigned c = 0; c < (unsigned)channels; c++) {
                const unsigned v = pattern(x, y, c, shape->depth), i = x * (unsigned)channels + c;
                if (shape->depth == 16) {
                    rows[y][2 * i] = (png_byte)(v >> 8);
                    rows[y][2 * i + 1] = (png_byte)v;
                } else {
                    rows[y][i] = (png_byte)v;
                }
            }
        }
    }
    png_write_image(png, pointers);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    fclose(file);
}

typedef struct Reading {
    const Shape *shape;
    bool indices;
} Reading;

/* What channel c of a pixel must be. */
static uint64_t expected(const void *context, uint32_t x, uint32_t y, uint32_t c)
{
    const Reading *const reading = context;
    const Shape *const shape = reading->shape;
    const unsigned stored = (unsigned)stored_channels(shape);
    if (shape->color_type == PNG_COLOR_TYPE_PALETTE && !reading->indices) {
        const unsigned i = pattern(x, y, 0, shape->depth);
        const unsigned alpha = i < (unsigned)shape->n_alpha ? i * 5 & 255 : 255;
        return c == 0 ? i * 3 & 255 : c == 1 ? 255 - i : c == 2 ? i ^ 85 : alpha;
    }
    if (c < stored)
        return pattern(x, y, c, shape->depth);
    bool transparent = true; /* tRNS */
    for (unsigned i = 0; i < stored; i++)
        transparent = transparent && pattern(x, y, i, shape->depth) == (unsigned)shape->key;
    return transparent ? 0 : (1u << shape->depth) - 1;
}

/* chunk: the limit, which bounds what is held of interlaced images; 0: the default. */
static size_t compare(const Shape *shape, uint32_t rows, bool indices, uint64_t chunk)
{
    const ImgstatOpen how = {.indices = indices, .limits = {.max_tile_bytes = chunk}};
    const Reading reading = {shape, indices};
    ImgstatPage page;
    char what[80];
    snprintf(what, sizeof what, "colour type %d, depth %d, interlace %d", shape->color_type,
             shape->depth, shape->interlace);
    const size_t n = decode_compare(&how, rows, expected, &reading, what, &page);
    const bool colors = shape->color_type == PNG_COLOR_TYPE_PALETTE && !indices;
    cr_assert_eq(page.bits, colors ? 8 : shape->depth);
    cr_assert_eq(page.channels, (colors ? 3 : stored_channels(shape)) + (shape->key >= 0) +
                                    (colors && shape->n_alpha));
    cr_assert_eq(n, (size_t)WIDTH * HEIGHT * page.channels);
    return n;
}

TestSuite(png, .init = decode_begin, .fini = decode_end, .timeout = 600);

Test(png, every_kind)
{
    static const struct {
        int color_type, depth;
    } kinds[] = {
        {PNG_COLOR_TYPE_GRAY, 1},        {PNG_COLOR_TYPE_GRAY, 2},
        {PNG_COLOR_TYPE_GRAY, 4},        {PNG_COLOR_TYPE_GRAY, 8},
        {PNG_COLOR_TYPE_GRAY, 16},       {PNG_COLOR_TYPE_RGB, 8},
        {PNG_COLOR_TYPE_RGB, 16},        {PNG_COLOR_TYPE_GRAY_ALPHA, 8},
        {PNG_COLOR_TYPE_GRAY_ALPHA, 16}, {PNG_COLOR_TYPE_RGB_ALPHA, 8},
        {PNG_COLOR_TYPE_RGB_ALPHA, 16},  {PNG_COLOR_TYPE_PALETTE, 1},
        {PNG_COLOR_TYPE_PALETTE, 2},     {PNG_COLOR_TYPE_PALETTE, 4},
        {PNG_COLOR_TYPE_PALETTE, 8},
    };
    size_t n = 0;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (int way = 0; way < 4; way++) {
            const bool palette = kinds[k].color_type == PNG_COLOR_TYPE_PALETTE;
            const bool can_key = kinds[k].color_type == PNG_COLOR_TYPE_GRAY ||
                                 kinds[k].color_type == PNG_COLOR_TYPE_RGB;
            const Shape shape = {.color_type = kinds[k].color_type,
                                 .depth = kinds[k].depth,
                                 .interlace = way & 1 ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
                                 .key = way & 2 && can_key ? (int)pattern(5, 5, 0, kinds[k].depth)
                                                           : -1,
                                 .n_colors = 1 << (palette ? kinds[k].depth : 0),
                                 .n_alpha = way & 2 && palette ? 2 : 0};
            write_png(&shape);
            n += compare(&shape, 1, false, 0) + compare(&shape, 7, false, 0) +
                 compare(&shape, HEIGHT, true, 0) + compare(&shape, 7, false, 1500) +
                 compare(&shape, HEIGHT, false, 1);
        }
    }
    fprintf(stderr, "%zu samples compared\n", n);
    cr_assert_gt(n, 300000);
}

static ImgstatResult try_read(const ImgstatOpen *how, ImgstatError *err)
{
    uint32_t pages = 0;
    return decode_all(how, &pages, err);
}

Test(png, index_without_a_colour)
{
    const Shape shape = {
        .color_type = PNG_COLOR_TYPE_PALETTE, .depth = 8, .key = -1, .n_colors = 200};
    const ImgstatOpen indices = {.indices = true};
    ImgstatError err;
    write_png(&shape);
    cr_assert_eq(try_read(NULL, &err), IMGSTAT_ERR_FORMAT);
    cr_assert_not_null(strstr(err.message, "palette has 200 colours"), "%s", err.message);
    cr_assert_eq(try_read(&indices, &err), IMGSTAT_OK, "%s", err.message);
}

Test(png, limits)
{
    const Shape shape = {.color_type = PNG_COLOR_TYPE_RGB, .depth = 8, .key = -1};
    const ImgstatOpen narrow = {.limits = {.max_width = WIDTH - 1}};
    ImgstatError err;
    write_png(&shape);
    cr_assert_eq(try_read(&narrow, &err), IMGSTAT_ERR_LIMIT, "%s", err.message);
}

/* The limit for strips was libpng's for chunks too, and it warned of the header. */
Test(png, a_small_limit_for_chunks_warns_of_nothing)
{
    const Shape shape = {
        .color_type = PNG_COLOR_TYPE_PALETTE, .depth = 8, .key = -1, .n_colors = 256};
    DecodeHeard heard = {0};
    const ImgstatOpen how = {
        .limits = {.max_tile_bytes = 1}, .warn = decode_hear, .warn_context = &heard};
    ImgstatError err;
    write_png(&shape);
    cr_assert_eq(try_read(&how, &err), IMGSTAT_OK, "%s", err.message);
    cr_assert_eq(heard.n, 0, "%s", heard.last);
}

/* Cut at every length: never read as a whole, always a sentence. */
Test(png, cut_anywhere)
{
    const Shape shape = {.color_type = PNG_COLOR_TYPE_GRAY, .depth = 8, .key = -1};
    unsigned char bytes[8192];
    ImgstatError err;
    write_png(&shape);
    FILE *file = fopen(decode_path, "rb");
    const size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    for (size_t cut = 9; cut + 12 < n; cut++) { /* the last 12 bytes are IEND */
        file = fopen(decode_path, "wb");
        fwrite(bytes, 1, cut, file);
        fclose(file);
        cr_assert_eq(try_read(NULL, &err), IMGSTAT_ERR_TRUNCATED, "cut at %zu of %zu: %s", cut, n,
                     err.message);
        cr_assert_eq(strncmp(err.message, decode_path, strlen(decode_path)), 0);
    }
}

static void put_checksum(unsigned char *to, const unsigned char *from, size_t n)
{
    const uint32_t sum = (uint32_t)crc32(0, from, (uInt)n);
    for (int i = 0; i < 4; i++)
        to[i] = (unsigned char)(sum >> (24 - 8 * i));
}

/* Behind the pixels is a chunk that the faster way does not know, so libpng begins anew for the
 * last row: with an image in the file that was wider by then, it was written behind the caller's.
 */
Test(png, becomes_wider_while_it_is_read)
{
    const Shape shape = {.color_type = PNG_COLOR_TYPE_GRAY, .depth = 8, .key = -1};
    unsigned char bytes[8192];
    ImgstatFile *file = NULL;
    ImgstatPage page;
    ImgstatError err;
    ImagePro image;
    write_png(&shape);
    FILE *const of = fopen(decode_path, "rb+");
    size_t n = fread(bytes, 1, sizeof bytes, of);
    cr_assert(n > 40 && n + 12 < sizeof bytes);
    memmove(bytes + n, bytes + n - 12, 12); /* IEND */
    memcpy(bytes + n - 12, "\0\0\0\0abCd", 8);
    put_checksum(bytes + n - 4, bytes + n - 8, 4);
    n += 12;
    rewind(of);
    cr_assert_eq(fwrite(bytes, 1, n, of), n);
    fflush(of);
    cr_assert_eq(imgstat_file_open(decode_path, NULL, &file, &err), IMGSTAT_OK);
    cr_assert_eq(imgstat_file_page(file, 0, &page, &err), IMGSTAT_OK);
    cr_assert_eq(imgstat_image_create(WIDTH, 1, 1, page.sample, page.bits, &image, &err),
                 IMGSTAT_OK);
    for (uint32_t y = 0; y + 1 < HEIGHT; y++)
        cr_assert_eq(imgstat_file_read(file, &image, &err), IMGSTAT_OK, "%s", err.message);
    bytes[18] = 3; /* the width; libpng looks at checksums, too */
    bytes[19] = 0;
    put_checksum(bytes + 29, bytes + 12, 17);
    rewind(of);
    cr_assert_eq(fwrite(bytes, 1, n, of), n);
    fclose(of);
    cr_expect_eq(imgstat_file_read(file, &image, &err), IMGSTAT_ERR_IO, "%s", err.message);
    cr_expect_not_null(strstr(err.message, "changed while it was read"), "%s", err.message);
    imgstat_image_release(&image);
    imgstat_file_close(file);
}

/* ---- A filter that there is not ---- */

enum { BAND = 10, BAD_WIDTH = 80, BAD_HEIGHT = 70, BAD_ROW = 41 };

/* Writes a file of Paeth's filter and one row of filter 9. */
static void write_bad_filter(unsigned depth)
{
    const size_t row = 1 + BAD_WIDTH * depth / 8;
    uint8_t rows[BAD_HEIGHT * (1 + 2 * BAD_WIDTH)], file[2 * sizeof rows], head[13] = {0};
    uint8_t data[2 * sizeof rows];
    uLongf n_data = sizeof data;
    for (size_t i = 0; i < row * BAD_HEIGHT; i++)
        rows[i] = i % row ? (uint8_t)(i * i >> 5) : i / row == BAD_ROW ? 9 : 4;
    cr_assert_eq(compress2(data, &n_data, rows, row * BAD_HEIGHT, 6), Z_OK);
    png_put(head, BAD_WIDTH);
    png_put(head + 4, BAD_HEIGHT);
    head[8] = (uint8_t)depth;
    memcpy(file, "\x89PNG\r\n\x1a\n", 8);
    size_t n = png_chunk(file, 8, "IHDR", head, sizeof head);
    n = png_chunk(file, n, "IDAT", data, n_data);
    n = png_chunk(file, n, "IEND", NULL, 0);
    FILE *const of = fopen(decode_path, "wb");
    cr_assert_eq(fwrite(file, 1, n, of), n);
    fclose(of);
}

/* Reads bands until one fails. Returns how many did not; their bytes are in `pixels`. */
static size_t read_bands(const char *mode, uint8_t *pixels, ImgstatError *err)
{
    ImgstatFile *file = NULL;
    ImgstatPage page;
    ImagePro image;
    size_t bands = 0;
    cr_assert_eq(setenv("IMGSTAT_DECODE", mode, 1), 0);
    cr_assert_eq(imgstat_file_open(decode_path, NULL, &file, err), IMGSTAT_OK);
    cr_assert_eq(imgstat_file_page(file, 0, &page, err), IMGSTAT_OK);
    cr_assert_eq(imgstat_image_create(BAD_WIDTH, BAND, 1, page.sample, page.bits, &image, err),
                 IMGSTAT_OK);
    const size_t bytes = BAD_WIDTH * imgstat_sample_bytes(page.sample);
    for (; imgstat_file_read(file, &image, err) == IMGSTAT_OK; bands++)
        for (size_t y = 0; y < BAND; y++)
            memcpy(pixels + (bands * BAND + y) * bytes, image_row(&image, (uint32_t)y), bytes);
    imgstat_image_release(&image);
    imgstat_file_close(file);
    return bands;
}

Test(png, a_filter_that_there_is_not)
{
    static const char *const modes[] = {"auto", "threads"};
    static uint8_t expected[2 * BAD_WIDTH * BAD_HEIGHT], got[2 * BAD_WIDTH * BAD_HEIGHT];
    for (unsigned depth = 8; depth <= 16; depth += 8) {
        ImgstatError should, err;
        write_bad_filter(depth);
        cr_assert_eq(read_bands("plain", expected, &should), BAD_ROW / BAND);
        for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
            memset(got, 0, sizeof got);
            cr_assert_eq(read_bands(modes[i], got, &err), BAD_ROW / BAND, "%s", modes[i]);
            cr_assert_arr_eq(got, expected, sizeof got, "%s", modes[i]);
            cr_assert_str_eq(err.message, should.message);
        }
    }
}
