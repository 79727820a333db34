/* SPDX-License-Identifier: MIT */
/* test_decoder.c: files that libtiff writes from known samples are read back as those samples,
 * whatever their layout and the height of bands; damaged ones are refused with one sentence. */
#include "helper_decode.h"
#include "transform/palette.h"

#include <criterion/criterion.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>
#include <unistd.h>
#include <zlib.h>

enum { WIDTH = 53, HEIGHT = 41, NODATA_TAG = 42113 };

typedef struct Shape {
    uint16_t compression, bits, samples;
    bool separate, tiled, big_endian, big_tiff;
    uint32_t rows_per_strip;
    uint16_t predictor; /* 0: none is said */
} Shape;

/* Sample c of pixel x, y: repeats with a prime period, so that misplaced rows show. */
static uint64_t pattern(uint32_t x, uint32_t y, uint32_t c, unsigned bits)
{
    const uint64_t v = (x * 7 + y * 131 + c * 57 + 3) % 65521 * 0x9E3779B97F4A7C15u;
    return bits == 64 ? v : v >> (64 - bits);
}

/* Writes sample i of a packed row, first bit highest; whole words in host order. */
static void put(uint8_t *row, size_t i, unsigned bits, uint64_t v)
{
    if (bits == 16 || bits == 32 || bits == 64) {
        const uint16_t v16 = (uint16_t)v;
        const uint32_t v32 = (uint32_t)v;
        memcpy(row + i * bits / 8,
               bits == 16   ? (const void *)&v16
               : bits == 32 ? (const void *)&v32
                            : &v,
               bits / 8);
        return;
    }
    for (unsigned b = 0; b < bits; b++) {
        const size_t at = i * bits + b;
        if (v >> (bits - 1 - b) & 1)
            row[at / 8] = (uint8_t)(row[at / 8] | 0x80u >> at % 8);
    }
}

static void set_tags(TIFF *tif, const Shape *shape)
{
    TIFFSetField(tif, TIFFTAG_IMAGEWIDTH, WIDTH);
    TIFFSetField(tif, TIFFTAG_IMAGELENGTH, HEIGHT);
    TIFFSetField(tif, TIFFTAG_BITSPERSAMPLE, shape->bits);
    TIFFSetField(tif, TIFFTAG_SAMPLESPERPIXEL, shape->samples);
    TIFFSetField(tif, TIFFTAG_COMPRESSION, shape->compression);
    TIFFSetField(tif, TIFFTAG_PHOTOMETRIC,
                 shape->samples >= 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK);
    TIFFSetField(tif, TIFFTAG_PLANARCONFIG,
                 shape->separate ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG);
    if (shape->predictor)
        TIFFSetField(tif, TIFFTAG_PREDICTOR, shape->predictor);
    if (shape->tiled) {
        TIFFSetField(tif, TIFFTAG_TILEWIDTH, 32);
        TIFFSetField(tif, TIFFTAG_TILELENGTH, 16);
    } else {
        TIFFSetField(tif, TIFFTAG_ROWSPERSTRIP, shape->rows_per_strip);
    }
}

static void write_chunks(TIFF *tif, const Shape *shape)
{
    const uint32_t cw = shape->tiled ? 32 : WIDTH, ch = shape->tiled ? 16 : shape->rows_per_strip;
    const uint32_t per_chunk = shape->separate ? 1 : shape->samples;
    const size_t row_bytes = ((size_t)cw * per_chunk * shape->bits + 7) / 8;
    uint8_t *const chunk = malloc(row_bytes * ch);
    for (uint32_t plane = 0, index = 0; plane < (shape->separate ? shape->samples : 1); plane++) {
        for (uint32_t y0 = 0; y0 < HEIGHT; y0 += ch) {
            for (uint32_t x0 = 0; x0 < WIDTH; x0 += cw, index++) {
                const uint32_t rows = shape->tiled || y0 + ch <= HEIGHT ? ch : HEIGHT - y0;
                memset(chunk, 0, row_bytes * ch);
                for (uint32_t y = 0; y < rows; y++)
                    for (uint32_t x = 0; x < cw; x++)
                        for (uint32_t c = 0; c < per_chunk; c++)
                            put(chunk + y * row_bytes, x * per_chunk + c, shape->bits,
                                pattern(x0 + x, y0 + y, plane + c, shape->bits));
                const tmsize_t n = (tmsize_t)(rows * row_bytes);
                cr_assert_eq(shape->tiled ? TIFFWriteEncodedTile(tif, index, chunk, n)
                                          : TIFFWriteEncodedStrip(tif, index, chunk, n),
                             n);
            }
        }
    }
    free(chunk);
}

static void write_tiff(const Shape *shape)
{
    const char mode[4] = {'w', shape->big_endian ? 'b' : 'l', shape->big_tiff ? '8' : '\0', '\0'};
    TIFF *const tif = TIFFOpen(decode_path, mode);
    cr_assert_not_null(tif);
    set_tags(tif, shape);
    write_chunks(tif, shape);
    TIFFClose(tif);
}

static uint64_t expected(const void *shape, uint32_t x, uint32_t y, uint32_t c)
{
    return pattern(x, y, c, ((const Shape *)shape)->bits);
}

static size_t compare(const Shape *shape, uint32_t rows, uint64_t max_tile_bytes)
{
    const ImgstatOpen how = {.limits = {.max_tile_bytes = max_tile_bytes}};
    ImgstatPage page;
    char what[128];
    snprintf(what, sizeof what,
             "%u bits, compression %u, separate %d, tiled %d, big-endian %d, strips of %u",
             shape->bits, shape->compression, shape->separate, shape->tiled, shape->big_endian,
             shape->rows_per_strip);
    const size_t n = decode_compare(&how, rows, expected, shape, what, &page);
    cr_assert_eq(page.channels, shape->samples);
    cr_assert_eq(page.bits, shape->bits);
    cr_assert_eq(n, (size_t)WIDTH * HEIGHT * shape->samples);
    return n;
}

static size_t round_trips(Shape shape)
{
    static const uint32_t bands[] = {1, 7, 16, HEIGHT};
    /* Compressed strips that are larger are decoded row by row. */
    const uint64_t small = shape.tiled ? 0 : 4096;
    size_t n = 0;
    write_tiff(&shape);
    for (size_t i = 0; i < sizeof bands / sizeof *bands; i++) {
        n += compare(&shape, bands[i], 0);
        n += compare(&shape, bands[i], small);
    }
    return n;
}

TestSuite(tiff, .init = decode_begin, .fini = decode_end, .timeout = 3000);

Test(tiff, every_layout)
{
    static const uint16_t widths[] = {1, 2, 3, 4, 7, 8, 10, 12, 14, 16, 20, 32, 33, 64};
    static const uint16_t codecs[] = {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE,
                                      COMPRESSION_PACKBITS};
    size_t n = 0;
    for (size_t b = 0; b < sizeof widths / sizeof *widths; b++) {
        for (size_t k = 0; k < sizeof codecs / sizeof *codecs; k++) {
            for (unsigned way = 0; way < 16; way++) {
                const Shape shape = {.compression = codecs[k],
                                     .bits = widths[b],
                                     .samples = way & 1 ? 3 : 1,
                                     .separate = way & 2,
                                     .tiled = way & 4,
                                     .big_endian = way & 8,
                                     .big_tiff = (b + way) % 3 == 0,
                                     .rows_per_strip = b % 2 ? 6 : HEIGHT};
                n += round_trips(shape);
            }
        }
    }
    fprintf(stderr, "%zu samples compared\n", n);
    cr_assert_gt(n, 10000000);
}

Test(tiff, every_layout_of_differences)
{
    static const uint16_t widths[] = {8, 16, 32, 64};
    static const uint16_t codecs[] = {COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE};
    const size_t known = TIFFLIB_VERSION < 20220520 ? 3 : 4; /* 64 bits: libtiff 4.4 */
    size_t n = 0;
    for (size_t b = 0; b < known; b++) {
        for (size_t k = 0; k < sizeof codecs / sizeof *codecs; k++) {
            for (unsigned way = 0; way < 32; way++) {
                const Shape shape = {.compression = codecs[k],
                                     .bits = widths[b],
                                     .samples = way & 1 ? 3 : 1,
                                     .separate = way & 2,
                                     .tiled = way & 4,
                                     .big_endian = way & 8,
                                     .rows_per_strip = way & 16 ? 6 : HEIGHT,
                                     .predictor = PREDICTOR_HORIZONTAL};
                n += round_trips(shape);
            }
        }
    }
    fprintf(stderr, "%zu samples compared\n", n);
    cr_assert_gt(n, 5000000);
}

/* ---- Files made byte by byte ---- */

/* Decodes the first page, of one channel, whole. */
static void read_gray(ImagePro *image, ImgstatPage *page)
{
    ImgstatFile *file = NULL;
    ImgstatError err = {.message = ""};
    cr_assert_eq(imgstat_file_open(decode_path, NULL, &file, &err), IMGSTAT_OK, "%s", err.message);
    cr_assert_eq(imgstat_file_page(file, 0, page, &err), IMGSTAT_OK, "%s", err.message);
    cr_assert_eq(
        imgstat_image_create(page->width, page->height, 1, page->sample, page->bits, image, &err),
        IMGSTAT_OK);
    cr_assert_eq(imgstat_file_read(file, image, &err), IMGSTAT_OK, "%s", err.message);
    imgstat_file_close(file);
}

static uint64_t expected_row(const void *rows, uint32_t x, uint32_t y, uint32_t c)
{
    return ((const uint8_t *)rows)[256 * y + x + c];
}

static void write_words(TIFF *tif, uint16_t bits, uint16_t format, uint32_t width, const void *row,
                        tmsize_t bytes)
{
    TIFFSetField(tif, TIFFTAG_IMAGEWIDTH, width);
    TIFFSetField(tif, TIFFTAG_IMAGELENGTH, 1);
    TIFFSetField(tif, TIFFTAG_BITSPERSAMPLE, bits);
    TIFFSetField(tif, TIFFTAG_SAMPLEFORMAT, format);
    TIFFSetField(tif, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFSetField(tif, TIFFTAG_ROWSPERSTRIP, 1);
    cr_assert_eq(TIFFWriteRawStrip(tif, 0, (void *)(uintptr_t)row, bytes), bytes);
}

Test(tiff, integers_of_24_bits_are_a_stream_in_both_byte_orders)
{
    static const uint8_t row[] = {0, 0, 1, 0x12, 0x34, 0x56, 0xFF, 0xFF, 0xFE};
    static const char *const modes[] = {"wl", "wb"};
    for (size_t m = 0; m < 2; m++) {
        for (uint16_t format = SAMPLEFORMAT_UINT; format <= SAMPLEFORMAT_INT; format++) {
            ImagePro image;
            ImgstatPage page;
            TIFF *const tif = TIFFOpen(decode_path, modes[m]);
            write_words(tif, 24, format, 3, row, sizeof row);
            TIFFClose(tif);
            read_gray(&image, &page);
            const int32_t *const got = image.host;
            cr_assert_eq(page.sample, format == SAMPLEFORMAT_INT ? IMGSTAT_I32 : IMGSTAT_U32);
            cr_assert_eq(got[0], 1);
            cr_assert_eq(got[1], 0x123456);
            cr_assert_eq(got[2], format == SAMPLEFORMAT_INT ? -2 : 0xFFFFFE);
            imgstat_image_release(&image);
        }
    }
}

Test(tiff, floats_of_24_bits_widen_exactly)
{
    /* 1, -2.5, the smallest subnormal (2^-78), infinity, NaN */
    static const uint32_t raw[] = {63u << 16, 1u << 23 | 64u << 16 | 1u << 14, 1, 127u << 16,
                                   127u << 16 | 1};
    uint8_t row[15];
    ImagePro image;
    ImgstatPage page;
    for (size_t i = 0; i < 15; i++)
        row[i] = (uint8_t)(raw[i / 3] >> 8 * (i % 3));
    TIFF *const tif = TIFFOpen(decode_path, "wl");
    write_words(tif, 24, SAMPLEFORMAT_IEEEFP, 5, row, sizeof row);
    TIFFClose(tif);
    read_gray(&image, &page);
    const float *const got = image.host;
    cr_assert_eq(page.sample, IMGSTAT_F32);
    cr_assert(got[0] == 1.0f && got[1] == -2.5f && got[2] == 0x1p-78f);
    cr_assert(got[3] > 3e38f && got[4] != got[4]);
    imgstat_image_release(&image);
}

Test(tiff, signed_samples_of_odd_widths_extend_their_sign)
{
    static const uint8_t row[] = {0xFF, 0xF8, 0x00}; /* 12 bits: -1, -2048 */
    ImagePro image;
    ImgstatPage page;
    TIFF *const tif = TIFFOpen(decode_path, "wl");
    write_words(tif, 12, SAMPLEFORMAT_INT, 2, row, sizeof row);
    TIFFClose(tif);
    read_gray(&image, &page);
    cr_assert_eq(page.sample, IMGSTAT_I16);
    cr_assert_eq(((const int16_t *)image.host)[0], -1);
    cr_assert_eq(((const int16_t *)image.host)[1], -2048);
    imgstat_image_release(&image);
}

static void write_nodata(uint16_t bits, uint16_t format, const char *text)
{
    static const TIFFFieldInfo info = {NODATA_TAG,   -1, -1, TIFF_ASCII,
                                       FIELD_CUSTOM, 1,  0,  (char *)"GDALNoData"};
    const uint64_t zero = 0;
    TIFF *const tif = TIFFOpen(decode_path, "w");
    TIFFMergeFieldInfo(tif, &info, 1);
    TIFFSetField(tif, NODATA_TAG, text);
    write_words(tif, bits, format, 1, &zero, bits / 8);
    TIFFClose(tif);
}

/* Texts of more than 63 characters marked nothing, nor did "-9223372036854775808.0". */
Test(tiff, nodata_is_read_as_the_sample_type)
{
    char longest[400];
    snprintf(longest, sizeof longest, "%f", -DBL_MAX);
    cr_assert_eq(strlen(longest), 317);
    const struct {
        uint16_t bits, format;
        const char *text;
        bool has;
        double value;
    } cases[] = {
        {8, SAMPLEFORMAT_UINT, "255", true, 255},
        {8, SAMPLEFORMAT_UINT, "-9999", false, 0},
        {8, SAMPLEFORMAT_UINT, "0.5", false, 0},
        {16, SAMPLEFORMAT_INT, "-9999", true, -9999},
        {16, SAMPLEFORMAT_INT, "-9999.0 ", true, -9999},
        {16, SAMPLEFORMAT_UINT, "1e3", true, 1000},
        {32, SAMPLEFORMAT_IEEEFP, "-3.4e+38", true, -3.4e38},
        {64, SAMPLEFORMAT_UINT, "18446744073709551615", true, 18446744073709551615.0},
        {16, SAMPLEFORMAT_UINT, "none", false, 0},
        {64, SAMPLEFORMAT_INT, "1e300", false, 0},
        {64, SAMPLEFORMAT_IEEEFP, longest, true, -DBL_MAX},
        {8, SAMPLEFORMAT_UINT, longest, false, 0},
        {64, SAMPLEFORMAT_INT, "-9223372036854775808.0", true, -0x1p63},
        {64, SAMPLEFORMAT_UINT, "18446744073709551615.00", true, 18446744073709551615.0},
        {64, SAMPLEFORMAT_UINT, "18446744073709551616.0", false, 0},
        {8, SAMPLEFORMAT_UINT, "-1.0", false, 0},
        {8, SAMPLEFORMAT_UINT, "7.", true, 7},
        {8, SAMPLEFORMAT_UINT, "7.01", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ImagePro image;
        ImgstatPage page;
        write_nodata(cases[i].bits, cases[i].format, cases[i].text);
        read_gray(&image, &page);
        cr_assert_eq(page.has_nodata, cases[i].has, "%s", cases[i].text);
        cr_assert_eq(image.has_nodata, cases[i].has, "%s", cases[i].text);
        if (page.has_nodata)
            cr_assert_eq(imgstat_value_double(page.nodata), cases[i].value, "%s", cases[i].text);
        imgstat_image_release(&image);
    }
}

/* What libtiff does not convert was "format" from its first strip on, and signed bytes were colours
 * whose upper half is negative. */
Test(tiff, ycbcr_other_than_bytes_is_unsupported)
{
    static const struct {
        uint16_t bits, format;
        ImgstatResult wanted;
    } cases[] = {
        {8, SAMPLEFORMAT_UINT, IMGSTAT_OK},
        {8, SAMPLEFORMAT_INT, IMGSTAT_ERR_UNSUPPORTED},
        {4, SAMPLEFORMAT_UINT, IMGSTAT_ERR_UNSUPPORTED},
        {16, SAMPLEFORMAT_UINT, IMGSTAT_ERR_UNSUPPORTED},
        {32, SAMPLEFORMAT_IEEEFP, IMGSTAT_ERR_UNSUPPORTED},
    };
    static uint8_t row[3 * 8 * 4];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t pages = 0;
        ImgstatError err = {0};
        TIFF *const tif = TIFFOpen(decode_path, "w");
        TIFFSetField(tif, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_YCBCR);
        TIFFSetField(tif, TIFFTAG_YCBCRSUBSAMPLING, 1, 1);
        TIFFSetField(tif, TIFFTAG_SAMPLESPERPIXEL, 3);
        TIFFSetField(tif, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
        TIFFSetField(tif, TIFFTAG_IMAGEWIDTH, 8);
        TIFFSetField(tif, TIFFTAG_IMAGELENGTH, 1);
        TIFFSetField(tif, TIFFTAG_BITSPERSAMPLE, cases[i].bits);
        TIFFSetField(tif, TIFFTAG_SAMPLEFORMAT, cases[i].format);
        cr_assert_gt(TIFFWriteEncodedStrip(tif, 0, row, 3 * cases[i].bits), 0);
        TIFFClose(tif);
        cr_assert_eq(decode_all(NULL, &pages, &err), cases[i].wanted, "%u bits: %s", cases[i].bits,
                     err.message);
    }
}

/* Before, streams that are not as they should be at their end were refused where strips are decoded
 * row by row: libtiff cannot begin within a strip. */
Test(tiff, large_deflate_strip_with_more_data_than_rows)
{
    enum { ROWS = 400 };
    static uint8_t rows[(ROWS + 1) * 256];
    static Bytef packed[sizeof rows * 2];
    uLongf n = sizeof packed;
    const ImgstatOpen how = {.limits = {.max_tile_bytes = 4096}};
    for (size_t i = 0; i < sizeof rows; i++)
        rows[i] = (uint8_t)(i * i >> 5);
    compress2(packed, &n, rows, sizeof rows, 9);
    TIFF *const tif = TIFFOpen(decode_path, "w");
    TIFFSetField(tif, TIFFTAG_IMAGEWIDTH, 256);
    TIFFSetField(tif, TIFFTAG_IMAGELENGTH, ROWS);
    TIFFSetField(tif, TIFFTAG_BITSPERSAMPLE, 8);
    TIFFSetField(tif, TIFFTAG_COMPRESSION, COMPRESSION_ADOBE_DEFLATE);
    TIFFSetField(tif, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFSetField(tif, TIFFTAG_ROWSPERSTRIP, ROWS);
    cr_assert_eq(TIFFWriteRawStrip(tif, 0, packed, (tmsize_t)n), (tmsize_t)n);
    TIFFClose(tif);
    for (uint32_t band = 1; band <= ROWS; band += 133) {
        ImgstatPage page;
        cr_assert_eq(decode_compare(&how, band, expected_row, rows, "more data", &page),
                     sizeof rows - 256);
    }
}

/* Before, libtiff's libdeflate left the last bytes of such a strip as they were in memory. */
Test(tiff, deflate_strip_with_more_data_than_rows)
{
    uint8_t rows[40 * 64];
    Bytef packed[8192];
    uLongf n = sizeof packed;
    ImagePro image;
    ImgstatPage page;
    for (size_t i = 0; i < sizeof rows; i++)
        rows[i] = (uint8_t)(i % 640 < 300 ? i % 251 : 7);
    compress2(packed, &n, rows, sizeof rows, 9);
    TIFF *const tif = TIFFOpen(decode_path, "w");
    TIFFSetField(tif, TIFFTAG_IMAGEWIDTH, 64);
    TIFFSetField(tif, TIFFTAG_IMAGELENGTH, 39);
    TIFFSetField(tif, TIFFTAG_BITSPERSAMPLE, 8);
    TIFFSetField(tif, TIFFTAG_COMPRESSION, COMPRESSION_ADOBE_DEFLATE);
    TIFFSetField(tif, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFSetField(tif, TIFFTAG_ROWSPERSTRIP, 39);
    cr_assert_eq(TIFFWriteRawStrip(tif, 0, packed, (tmsize_t)n), (tmsize_t)n);
    TIFFClose(tif);
    read_gray(&image, &page);
    for (size_t y = 0; y < 39; y++)
        cr_assert_eq(memcmp(image_row(&image, y), rows + y * 64, 64), 0, "row %zu", y);
    imgstat_image_release(&image);
}

/* ---- Damage ---- */

Test(tiff, strips_that_end_early_are_named)
{
    const Shape shape = {
        .compression = COMPRESSION_NONE, .bits = 8, .samples = 1, .rows_per_strip = 4};
    ImgstatError err;
    uint32_t pages = 0;
    TIFF *tif = NULL;
    write_tiff(&shape);
    /* The third strip is moved to the end of the file, where half of it is missing. */
    FILE *const file = fopen(decode_path, "rb");
    fseek(file, 0, SEEK_END);
    const long bytes = ftell(file);
    fclose(file);
    tif = TIFFOpen(decode_path, "r+");
    uint64_t *offsets = NULL;
    uint64_t moved[11];
    TIFFGetField(tif, TIFFTAG_STRIPOFFSETS, &offsets);
    memcpy(moved, offsets, sizeof moved);
    TIFFClose(tif);
    unsigned char all[8192];
    FILE *const again = fopen(decode_path, "rb+");
    const size_t n = fread(all, 1, sizeof all, again);
    cr_assert_eq(n, (size_t)bytes);
    for (size_t i = 0; i + 4 <= n; i++) { /* where the list of offsets holds it */
        uint32_t word = 0, next = 0;
        memcpy(&word, all + i, 4);
        memcpy(&next, all + (i + 8 <= n ? i + 4 : i), 4);
        if (word == moved[2] && next == moved[3]) {
            const uint32_t place = (uint32_t)bytes - 2 * WIDTH;
            memcpy(all + i, &place, 4);
        }
    }
    rewind(again);
    cr_assert_eq(fwrite(all, 1, n, again), n);
    fclose(again);
    cr_assert_eq(decode_all(NULL, &pages, &err), IMGSTAT_ERR_TRUNCATED, "%s", err.message);
    cr_assert_not_null(strstr(err.message, ": strip 3 of 11 ends early"), "%s", err.message);
}

Test(tiff, a_small_file_that_declares_much_is_refused)
{
    ImgstatError err;
    uint32_t pages = 0;
    static uint8_t byte[100];
    static const uint16_t codecs[] = {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE};
    for (size_t i = 0; i < 3; i++) {
        TIFF *const tif = TIFFOpen(decode_path, "w");
        TIFFSetField(tif, TIFFTAG_IMAGEWIDTH, 40000);
        TIFFSetField(tif, TIFFTAG_IMAGELENGTH, 40000);
        TIFFSetField(tif, TIFFTAG_BITSPERSAMPLE, 8);
        TIFFSetField(tif, TIFFTAG_COMPRESSION, codecs[i]);
        TIFFSetField(tif, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
        TIFFSetField(tif, TIFFTAG_ROWSPERSTRIP, 40000);
        TIFFWriteRawStrip(tif, 0, byte, sizeof byte);
        TIFFClose(tif);
        const ImgstatResult res = decode_all(NULL, &pages, &err);
        cr_assert(res == IMGSTAT_ERR_TRUNCATED || res == IMGSTAT_ERR_LIMIT, "%s", err.message);
    }
}

/* Two directories of one image, the second pointing back to the first. */
Test(tiff, a_loop_of_directories_ends_with_one_warning)
{
    DecodeHeard heard = {0};
    const ImgstatOpen how = {.warn = decode_hear, .warn_context = &heard};
    const Shape shape = {
        .compression = COMPRESSION_NONE, .bits = 8, .samples = 1, .rows_per_strip = HEIGHT};
    unsigned char bytes[16384];
    ImgstatError err;
    uint32_t pages = 0;
    TIFF *const tif = TIFFOpen(decode_path, "wl");
    for (int i = 0; i < 2; i++) {
        set_tags(tif, &shape);
        write_chunks(tif, &shape);
        cr_assert_eq(TIFFWriteDirectory(tif), 1);
    }
    TIFFClose(tif);
    FILE *const file = fopen(decode_path, "rb+");
    const size_t n = fread(bytes, 1, sizeof bytes, file);
    uint32_t first = 0, second = 0;
    memcpy(&first, bytes + 4, 4);
    memcpy(&second, bytes + first + 2 + 12 * bytes[first], 4);
    memcpy(bytes + second + 2 + 12 * bytes[second], &first, 4);
    rewind(file);
    fwrite(bytes, 1, n, file);
    fclose(file);
    cr_assert_eq(decode_all(&how, &pages, &err), IMGSTAT_OK, "%s", err.message);
    cr_assert_eq(pages, 2);
    cr_assert_eq(heard.n, 1, "%s", heard.last);
    cr_assert_not_null(strstr(heard.last, "loop"));
    const ImgstatOpen one = {.limits = {.max_pages = 1}};
    cr_assert_eq(decode_all(&one, &pages, &err), IMGSTAT_ERR_LIMIT);
}

static void write_palette(uint16_t bits)
{
    uint16_t map[256];
    for (unsigned i = 0; i < 256; i++)
        map[i] = (uint16_t)(i * 257);
    TIFF *const tif = TIFFOpen(decode_path, "w");
    TIFFSetField(tif, TIFFTAG_IMAGEWIDTH, 8);
    TIFFSetField(tif, TIFFTAG_IMAGELENGTH, 1);
    TIFFSetField(tif, TIFFTAG_BITSPERSAMPLE, bits);
    TIFFSetField(tif, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_PALETTE);
    TIFFSetField(tif, TIFFTAG_COLORMAP, map, map, map);
    TIFFWriteEncodedStrip(tif, 0, map, bits);
    TIFFClose(tif);
    cr_assert_eq(truncate(decode_path, 8192), 0); /* the file's size is asked for once */
}

/* More colours were copied than the palette had that was read first. */
Test(tiff, palette_becomes_longer_while_it_is_read)
{
    ImgstatFile *file = NULL;
    ImgstatError err;
    Palette *palette = NULL;
    write_palette(1);
    cr_assert_eq(imgstat_file_open(decode_path, NULL, &file, &err), IMGSTAT_OK);
    cr_assert_eq(imgstat_file_page(file, 0, NULL, &err), IMGSTAT_OK);
    cr_assert_eq(palette_open(file->decoder, &palette, &err), IMGSTAT_OK);
    cr_assert_not_null(palette);
    cr_assert_eq(palette->colours.width, 2);
    palette_close(palette);
    write_palette(8);
    cr_assert_eq(palette_open(file->decoder, &palette, &err), IMGSTAT_OK, "%s", err.message);
    cr_expect_null(palette);
    imgstat_file_close(file);
}
