/* SPDX-License-Identifier: MIT */
/* test_encoder.c: PNGs written from known samples, read back with libpng: every form, filters and
 * compression, threads; palettes with new colours; what PNG cannot hold; a disk that is full. */
#include "helper_encode.h"

#include <criterion/criterion.h>
#include <png.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <tiffio.h>
#include <unistd.h>

TestSuite(png_write, .init = encode_begin, .fini = encode_end);

/* What libpng says of a file, without any conversion but 16-bit samples in host order. */
typedef struct Png {
    int depth; /* as stored */
    png_structp png;
    png_infop info;
    png_bytepp rows;
} Png;

static void read_png(const char *path, Png *out)
{
    FILE *const file = fopen(path, "rb");
    cr_assert_not_null(file);
    out->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    out->info = png_create_info_struct(out->png);
    cr_assert_eq(setjmp(png_jmpbuf(out->png)), 0, "libpng refuses the output");
    fseek(file, 24, SEEK_SET);
    out->depth = fgetc(file);
    rewind(file);
    png_init_io(out->png, file);
    png_set_benign_errors(out->png, 0);
    png_read_png(out->png, out->info,
                 PNG_TRANSFORM_PACKING |
                     (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? PNG_TRANSFORM_SWAP_ENDIAN : 0),
                 NULL);
    out->rows = png_get_rows(out->png, out->info);
    fclose(file);
}

static void expect_samples(const Png *png, const EncodePage *page, const uint8_t *pixels)
{
    const size_t bytes = (size_t)page->width * page->channels * imgstat_sample_bytes(page->sample);
    cr_assert_eq(png_get_image_width(png->png, png->info), page->width);
    cr_assert_eq(png_get_image_height(png->png, png->info), page->height);
    cr_assert_eq(png_get_rowbytes(png->png, png->info), bytes);
    for (uint32_t y = 0; y < page->height; y++)
        cr_assert_arr_eq(png->rows[y], pixels + y * bytes, bytes, "row %u of %u x %u x %u", y,
                         page->width, page->height, page->channels);
}

static void write_and_compare(const EncodePage *page, const EncodeOptions *how, uint32_t rows,
                              int depth)
{
    ImgstatError err = {.message = ""};
    Png png;
    uint8_t *const pixels = encode_pixels(page);
    cr_assert_eq(encode_file(&png_format, how, page, NULL, NULL, pixels, rows, &err), IMGSTAT_OK,
                 "%s", err.message);
    read_png(encode_path, &png);
    cr_assert_eq(png.depth, depth);
    expect_samples(&png, page, pixels);
    png_destroy_read_struct(&png.png, &png.info, NULL);
    free(pixels);
}

Test(png_write, every_form_and_width)
{
    static const uint32_t widths[] = {1, 2, 3, 5, 8, 9, 33, 200};
    static const EncodeOptions hows[] = {
        {.level = -1}, {.level = 0}, {.level = 9}, {.level = -1, .fast = true}};
    unsigned n = 0;
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        for (size_t h = 0; h < sizeof hows / sizeof *hows; h++) {
            for (unsigned bits = 1; bits <= 16; bits *= 2) {
                for (uint16_t channels = 1; channels <= (bits < 8 ? 1 : 4); channels++, n++) {
                    const EncodePage page = {.width = widths[w],
                                             .height = 23,
                                             .channels = channels,
                                             .sample = bits == 16 ? IMGSTAT_U16 : IMGSTAT_U8,
                                             .bits = (uint8_t)bits,
                                             .alpha = (int16_t)(channels % 2 ? -1 : channels - 1)};
                    write_and_compare(&page, &hows[h], n % 9 + 1, (int)bits);
                }
            }
        }
    }
    cr_log_info("%u files", n);
    cr_assert_eq(n, 8 * 4 * 11);
}

/* Large enough for many blocks and several batches, on threads. */
Test(png_write, blocks_on_threads)
{
    const EncodePage page = {
        .width = 1501, .height = 1999, .channels = 3, .sample = IMGSTAT_U8, .bits = 8, .alpha = -1};
    for (unsigned threads = 1; threads <= 5; threads += 2) {
        for (int fast = 0; fast < 2; fast++) {
            EncodeOptions how = {.level = 3, .fast = fast};
            cr_assert_eq(thread_pool_create(threads, &how.pool, NULL), IMGSTAT_OK);
            write_and_compare(&page, &how, 97, 8);
            thread_pool_destroy(how.pool);
        }
    }
}

static uint8_t *load(const char *path, size_t *bytes)
{
    FILE *const file = fopen(path, "rb");
    cr_assert_not_null(file);
    fseek(file, 0, SEEK_END);
    *bytes = (size_t)ftell(file);
    rewind(file);
    uint8_t *const data = malloc(*bytes);
    cr_assert_eq(fread(data, 1, *bytes, file), *bytes);
    fclose(file);
    return data;
}

/* Neither the number of threads nor how rows come may be seen in a file. */
Test(png_write, threads_do_not_change_a_byte)
{
    static const EncodePage pages[] = {
        {.width = 1201,
         .height = 1803,
         .channels = 3,
         .sample = IMGSTAT_U8,
         .bits = 8,
         .alpha = -1},
        {.width = 700, .height = 900, .channels = 2, .sample = IMGSTAT_U16, .bits = 12, .alpha = 1},
        {.width = 900, .height = 20, .channels = 1, .sample = IMGSTAT_U8, .bits = 4, .alpha = -1}};
    static const unsigned threads[] = {1, 2, 3, 4, 7, 16};
    for (size_t p = 0; p < sizeof pages / sizeof *pages; p++) {
        for (int level = -1; level <= 9; level += 5) {
            uint8_t *const pixels = encode_pixels(&pages[p]);
            uint8_t *first = NULL;
            size_t n_first = 0, n;
            for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
                EncodeOptions how = {.level = level, .fast = level == 9};
                if (t > 0)
                    cr_assert_eq(thread_pool_create(threads[t], &how.pool, NULL), IMGSTAT_OK);
                cr_assert_eq(encode_file(&png_format, &how, &pages[p], NULL, NULL, pixels,
                                         (uint32_t)(t * t * 100 + 1), NULL),
                             IMGSTAT_OK);
                thread_pool_destroy(how.pool);
                uint8_t *const data = load(encode_path, &n);
                if (!first) {
                    first = data;
                    n_first = n;
                    continue;
                }
                cr_assert_eq(n, n_first, "page %zu, level %d, %u threads: %zu, %zu bytes", p, level,
                             threads[t], n, n_first);
                cr_assert_arr_eq(data, first, n, "%u threads", threads[t]);
                free(data);
            }
            free(first);
            free(pixels);
        }
    }
}

/* A row that is larger than a block. */
Test(png_write, one_long_row)
{
    const EncodePage page = {
        .width = 400001, .height = 3, .channels = 4, .sample = IMGSTAT_U16, .bits = 16, .alpha = 3};
    const EncodeOptions how = {.level = 0};
    write_and_compare(&page, &how, 1, 16);
}

/* 12 bits become 16 by repeating the upper ones; sBIT tells. */
Test(png_write, twelve_bits_are_widened)
{
    const EncodePage page = {
        .width = 31, .height = 7, .channels = 1, .sample = IMGSTAT_U16, .bits = 12, .alpha = -1};
    const EncodeOptions how = {.level = -1};
    uint16_t *const pixels = encode_pixels(&page);
    Png png;
    png_color_8p significant = NULL;
    cr_assert_eq(encode_file(&png_format, &how, &page, NULL, NULL, pixels, 7, NULL), IMGSTAT_OK);
    read_png(encode_path, &png);
    for (size_t i = 0; i < 31 * 7; i++) {
        uint16_t got;
        memcpy(&got, png.rows[i / 31] + 2 * (i % 31), 2);
        cr_assert_eq(got, (uint16_t)(pixels[i] << 4 | pixels[i] >> 8));
    }
    cr_assert_eq(png_get_sBIT(png.png, png.info, &significant), PNG_INFO_sBIT);
    cr_assert_eq(significant->gray, 12);
    png_destroy_read_struct(&png.png, &png.info, NULL);
    free(pixels);
}

/* Gray of few bits beside alpha, which PNG has in 8 bits only: 15 becomes 255. */
Test(png_write, few_bits_beside_alpha_are_widened)
{
    const EncodeOptions how = {.level = -1};
    for (uint8_t bits = 1; bits < 8; bits *= 2) {
        const EncodePage page = {.width = 31,
                                 .height = 7,
                                 .channels = 2,
                                 .sample = IMGSTAT_U8,
                                 .bits = bits,
                                 .alpha = 1};
        uint8_t *const pixels = encode_pixels(&page);
        const unsigned factor = 255 / ((1u << bits) - 1);
        Png png;
        cr_assert_eq(encode_file(&png_format, &how, &page, NULL, NULL, pixels, 7, NULL),
                     IMGSTAT_OK);
        read_png(encode_path, &png);
        for (size_t i = 0; i < 2 * 31 * 7; i++)
            cr_assert_eq(png.rows[i / 62][i % 62], pixels[i] * factor, "%u bits", bits);
        png_destroy_read_struct(&png.png, &png.info, NULL);
        free(pixels);
    }
}

/* ---- Palettes ---- */

enum { COLORS = 11, PALETTE_WIDTH = 37, PALETTE_HEIGHT = 19 };

static void write_palette_png(const char *path, bool interlaced)
{
    png_color colors[COLORS];
    png_byte alpha[3] = {0, 100, 200}, row[PALETTE_WIDTH];
    FILE *const file = fopen(path, "wb");
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    for (int i = 0; i < COLORS; i++)
        colors[i] = (png_color){(png_byte)(i * 3), (png_byte)(i * 5), (png_byte)(i * 7)};
    png_init_io(png, file);
    png_set_IHDR(png, info, PALETTE_WIDTH, PALETTE_HEIGHT, 4, PNG_COLOR_TYPE_PALETTE,
                 interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_PLTE(png, info, colors, COLORS);
    png_set_tRNS(png, info, alpha, 3, NULL);
    png_set_gAMA_fixed(png, info, 45455);
    png_set_packing(png);
    png_write_info(png, info);
    const int passes = interlaced ? png_set_interlace_handling(png) : 1;
    for (int p = 0; p < passes; p++) {
        for (uint32_t y = 0; y < PALETTE_HEIGHT; y++) {
            for (uint32_t x = 0; x < PALETTE_WIDTH; x++)
                row[x] = (png_byte)((x * 3 + y * 5) % COLORS);
            png_write_row(png, row);
        }
    }
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    fclose(file);
}

Test(png_write, palette_gets_new_colours)
{
    for (int interlaced = 0; interlaced < 2; interlaced++) {
        const ImgstatOpen how = {.indices = true};
        const EncodeOptions encode = {.level = -1};
        char input[128];
        uint16_t map[48];
        ImgstatFile *file = NULL;
        ImgstatPage in;
        Png png;
        png_colorp colors = NULL;
        png_bytep alpha = NULL;
        int n = 0, n_alpha = 0, gamma = 0;
        snprintf(input, sizeof input, "%s/in.png", encode_folder);
        write_palette_png(input, interlaced);
        cr_assert_eq(imgstat_file_open(input, &how, &file, NULL), IMGSTAT_OK);
        cr_assert_eq(imgstat_file_page(file, 0, &in, NULL), IMGSTAT_OK);
        for (unsigned i = 0; i < 48; i++)
            map[i] = (uint16_t)((i * 5 + 1) * 257 % 65536);
        const EncodePage page = {.width = in.width,
                                 .height = in.height,
                                 .channels = 1,
                                 .sample = in.sample,
                                 .bits = in.bits,
                                 .alpha = -1,
                                 .colormap = map};
        uint8_t pixels[PALETTE_WIDTH * PALETTE_HEIGHT];
        for (uint32_t i = 0; i < sizeof pixels; i++)
            pixels[i] = (uint8_t)((i % PALETTE_WIDTH * 3 + i / PALETTE_WIDTH * 5) % COLORS);
        cr_assert_eq(encode_file(&png_format, &encode, &page, file, NULL, pixels, 4, NULL),
                     IMGSTAT_OK);
        imgstat_file_close(file);
        read_png(encode_path, &png);
        expect_samples(&png, &page, pixels);
        cr_assert_eq(png.depth, 4);
        cr_assert_eq(png_get_interlace_type(png.png, png.info), PNG_INTERLACE_NONE);
        png_get_PLTE(png.png, png.info, &colors, &n);
        png_get_tRNS(png.png, png.info, &alpha, &n_alpha, NULL);
        png_get_gAMA_fixed(png.png, png.info, &gamma);
        cr_assert_eq(n, COLORS);
        cr_assert_eq(n_alpha, 3);
        cr_assert_eq(alpha[1], 100);
        cr_assert_eq(gamma, 45455);
        for (unsigned i = 0; i < COLORS; i++) {
            cr_assert_eq(colors[i].red, i * 5 + 1);
            cr_assert_eq(colors[i].green, (16 + i) * 5 + 1);
            cr_assert_eq(colors[i].blue, (32 + i) * 5 + 1);
        }
        png_destroy_read_struct(&png.png, &png.info, NULL);
    }
}

/* ---- Refusals and faults ---- */

Test(png_write, what_png_cannot_hold)
{
    static const EncodePage pages[] = {
        {.width = 2, .height = 2, .channels = 1, .sample = IMGSTAT_F32, .bits = 32, .alpha = -1},
        {.width = 2, .height = 2, .channels = 1, .sample = IMGSTAT_I16, .bits = 16, .alpha = -1},
        {.width = 2, .height = 2, .channels = 5, .sample = IMGSTAT_U8, .bits = 8, .alpha = -1},
        {.width = 2, .height = 2, .channels = 4, .sample = IMGSTAT_U8, .bits = 8, .alpha = -1},
        {.width = 2, .height = 2, .channels = 2, .sample = IMGSTAT_U8, .bits = 8, .alpha = -1},
    };
    const EncodeOptions how = {.level = -1};
    static const uint8_t pixels[2 * 2 * 8];
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        ImgstatError err;
        cr_assert_eq(encode_file(&png_format, &how, &pages[i], NULL, NULL, pixels, 2, &err),
                     IMGSTAT_ERR_UNSUPPORTED);
        cr_assert_not_null(strstr(err.message, "PNG"));
        cr_assert_not_null(strstr(err.message, encode_path));
        cr_assert_not_null(strstr(err.message, "TIFF"));
        cr_assert_eq(encode_entries(), 0);
    }
}

/* Three channels, as RGB has, but other colours. */
Test(png_write, colours_that_png_does_not_have)
{
    static const EncodePage page = {
        .width = 2, .height = 1, .channels = 3, .sample = IMGSTAT_U8, .bits = 8, .alpha = -1};
    const EncodeOptions how = {.level = -1};
    uint8_t pixels[6] = {0};
    char path[128];
    ImgstatError err = {.message = ""};
    ImgstatFile *like;
    snprintf(path, sizeof path, "%s.tif", encode_path);
    TIFF *const tif = TIFFOpen(path, "w");
    TIFFSetField(tif, TIFFTAG_IMAGEWIDTH, 2);
    TIFFSetField(tif, TIFFTAG_IMAGELENGTH, 1);
    TIFFSetField(tif, TIFFTAG_BITSPERSAMPLE, 8);
    TIFFSetField(tif, TIFFTAG_SAMPLESPERPIXEL, 3);
    TIFFSetField(tif, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFSetField(tif, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_CIELAB);
    cr_assert_gt(TIFFWriteEncodedStrip(tif, 0, pixels, sizeof pixels), 0);
    TIFFClose(tif);
    cr_assert_eq(imgstat_file_open(path, NULL, &like, NULL), IMGSTAT_OK);
    cr_assert_eq(imgstat_file_page(like, 0, NULL, NULL), IMGSTAT_OK);
    cr_assert_eq(encode_file(&png_format, &how, &page, like, NULL, pixels, 1, &err),
                 IMGSTAT_ERR_UNSUPPORTED);
    cr_expect_not_null(strstr(err.message, "PNG cannot hold lab colours; write TIFF"), "%s",
                       err.message);
    imgstat_file_close(like);
    unlink(path);
    cr_expect_eq(encode_entries(), 0);
}

Test(png_write, rows_that_are_missing)
{
    const EncodeOptions how = {.level = -1};
    const EncodePage page = {
        .width = 2, .height = 3, .channels = 1, .sample = IMGSTAT_U8, .bits = 8, .alpha = -1};
    AtomicFile *output = NULL;
    Encoder *encoder = NULL;
    cr_assert_eq(atomic_file_open(encode_path, false, 0666, &output, NULL), IMGSTAT_OK);
    cr_assert_eq(encoder_create(&png_format, output, &how, NULL, &encoder, NULL), IMGSTAT_OK);
    cr_assert_eq(encoder_begin_page(encoder, NULL, &page, NULL), IMGSTAT_OK);
    cr_assert_eq(encoder_write_rows(encoder, "abcdefgh", 2, 2, NULL), IMGSTAT_OK);
    cr_assert_eq(encoder_write_rows(encoder, "abcdefgh", 2, 2, NULL), IMGSTAT_ERR_ARG);
    cr_assert_eq(encoder_finish(encoder, NULL), IMGSTAT_ERR_ARG);
    encoder_destroy(encoder);
    atomic_file_discard(output);
    cr_assert_eq(encode_entries(), 0);
}

/* The file must not grow beyond `limit` bytes, as on a disk that is full. */
Test(png_write, full_disk)
{
    const EncodePage page = {
        .width = 300, .height = 300, .channels = 3, .sample = IMGSTAT_U8, .bits = 8, .alpha = -1};
    uint8_t *const pixels = encode_pixels(&page);
    struct rlimit before;
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    for (rlim_t limit = 0; limit < 60000; limit += 3001) {
        const struct rlimit small = {limit, before.rlim_max};
        for (int level = 0; level < 7; level += 3) {
            const EncodeOptions how = {.level = level};
            ImgstatError err;
            cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
            const ImgstatResult res =
                encode_file(&png_format, &how, &page, NULL, NULL, pixels, 50, &err);
            cr_assert_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
            if (res == IMGSTAT_OK) { /* it fits */
                cr_assert_gt(limit, 0);
                remove(encode_path);
                continue;
            }
            cr_assert_eq(res, IMGSTAT_ERR_IO);
            cr_assert_not_null(strstr(err.message, encode_path));
            cr_assert_eq(encode_entries(), 0);
        }
    }
    free(pixels);
}
