/* SPDX-License-Identifier: MIT */
/* test_page_reads.c: TIFF pages whose planes are measured one by one give the record of their
 * pixels.
 */
#include "base/sample.h"
#include "codec/codec.h"
#include "device/device.h"
#include "helper_decode.h"
#include "helper_measure.h"
#include "support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>

TestSuite(planes, .init = decode_begin, .fini = decode_end, .timeout = 3000);

enum { NODATA_TAG = 42113 };

typedef struct Shape {
    uint32_t width, height;
    uint16_t samples, bits, format, compression, predictor;
    uint32_t tile, strip; /* edge of a tile, or 0; rows of a strip */
    bool big_endian;
    const char *nodata;
    uint32_t absent; /* every so manyth chunk has no data; 0: none */
} Shape;

/* Few values in the first plane, more in the others; floats are undefined and infinite at times. */
static void put(const Shape *shape, uint8_t *row, size_t i, uint64_t seed)
{
    const uint64_t v = mix64(seed) % 3000;
    const double d = v == 7 ? (double)NAN : v == 9 ? (double)INFINITY : (double)v / 8 - 100;
    const float f = (float)d;
    const bool floats = shape->format == SAMPLEFORMAT_IEEEFP;
    switch (shape->bits) {
    case 8:
        row[i] = (uint8_t)v;
        return;
    case 16:
        memcpy(row + 2 * i, &(uint16_t){(uint16_t)(floats ? v * 21 : v)}, 2);
        return;
    case 32:
        memcpy(row + 4 * i,
               floats ? (const void *)&f : (const void *)&(uint32_t){(uint32_t)v << 18}, 4);
        return;
    case 64:
        memcpy(row + 8 * i, floats ? (const void *)&d : (const void *)&(uint64_t){v << 50}, 8);
        return;
    default: /* 12 and fewer */
        for (unsigned b = 0; b < shape->bits; b++)
            if (v >> b & 1)
                row[(i * shape->bits + b) / 8] |= (uint8_t)(0x80u >> (i * shape->bits + b) % 8);
        return;
    }
}

static uint64_t seed_of(uint32_t x, uint32_t y, uint32_t plane)
{
    return ((uint64_t)plane << 40 | (uint64_t)y << 20 | x) % (plane ? UINT64_MAX : 4099);
}

static TIFF *create(const Shape *shape)
{
    static const TIFFFieldInfo info = {NODATA_TAG,   -1, -1, TIFF_ASCII,
                                       FIELD_CUSTOM, 1,  0,  (char *)"GDALNoData"};
    TIFF *const tif = TIFFOpen(decode_path, shape->big_endian ? "wb" : "wl");
    cr_assert_not_null(tif);
    TIFFSetField(tif, TIFFTAG_IMAGEWIDTH, shape->width);
    TIFFSetField(tif, TIFFTAG_IMAGELENGTH, shape->height);
    TIFFSetField(tif, TIFFTAG_SAMPLESPERPIXEL, shape->samples);
    TIFFSetField(tif, TIFFTAG_BITSPERSAMPLE, shape->bits);
    TIFFSetField(tif, TIFFTAG_SAMPLEFORMAT, shape->format);
    TIFFSetField(tif, TIFFTAG_COMPRESSION, shape->compression);
    TIFFSetField(tif, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFSetField(tif, TIFFTAG_PLANARCONFIG, PLANARCONFIG_SEPARATE);
    if (shape->compression == COMPRESSION_ADOBE_DEFLATE)
        TIFFSetField(tif, TIFFTAG_ZIPQUALITY, 1);
    if (shape->predictor)
        TIFFSetField(tif, TIFFTAG_PREDICTOR, shape->predictor);
    if (shape->tile) {
        TIFFSetField(tif, TIFFTAG_TILEWIDTH, shape->tile);
        TIFFSetField(tif, TIFFTAG_TILELENGTH, shape->tile);
    } else {
        TIFFSetField(tif, TIFFTAG_ROWSPERSTRIP, shape->strip);
    }
    if (shape->nodata) {
        TIFFMergeFieldInfo(tif, &info, 1);
        TIFFSetField(tif, NODATA_TAG, shape->nodata);
    }
    return tif;
}

static void write_planes(const Shape *shape)
{
    TIFF *const tif = create(shape);
    const uint32_t w = shape->tile ? shape->tile : shape->width;
    const uint32_t h = shape->tile ? shape->tile : shape->strip;
    const size_t row_bytes = ((size_t)w * shape->bits + 7) / 8;
    uint8_t *const chunk = malloc(row_bytes * h);
    uint32_t index = 0;
    for (uint32_t plane = 0; plane < shape->samples; plane++) {
        for (uint32_t y0 = 0; y0 < shape->height; y0 += h) {
            for (uint32_t x0 = 0; x0 < shape->width; x0 += w, index++) {
                const uint32_t rows =
                    shape->tile || y0 + h <= shape->height ? h : shape->height - y0;
                if (shape->absent && index % shape->absent == 1)
                    continue;
                memset(chunk, 0, row_bytes * h);
                for (uint32_t y = 0; y < rows; y++)
                    for (uint32_t x = 0; x < w; x++)
                        put(shape, chunk + y * row_bytes, x, seed_of(x0 + x, y0 + y, plane));
                const tmsize_t n = (tmsize_t)(rows * row_bytes);
                cr_assert_eq(shape->tile ? TIFFWriteEncodedTile(tif, index, chunk, n)
                                         : TIFFWriteEncodedStrip(tif, index, chunk, n),
                             n);
            }
        }
    }
    free(chunk);
    TIFFClose(tif);
}

/* The page as pixels. */
static void read_page(ImgstatFile *file, ImagePro *image)
{
    ImgstatPage page;
    ImgstatError err = {.message = ""};
    cr_assert_eq(imgstat_file_page(file, 0, &page, &err), IMGSTAT_OK, "%s", err.message);
    cr_assert_eq(imgstat_image_create(page.width, page.height, page.channels, page.sample,
                                      page.bits, image, &err),
                 IMGSTAT_OK);
    cr_assert_eq(imgstat_file_read(file, image, &err), IMGSTAT_OK, "%s", err.message);
}

/* Measures by as many threads as are asked for; apart: whether its planes must come apart. Returns
 * the samples compared. */
static size_t check(const Shape *shape, uint64_t chunk_limit, const ImgstatMeasure *how,
                    unsigned threads, bool apart)
{
    const ImgstatOpen open = {.limits = {.max_tile_bytes = chunk_limit}};
    ImgstatFile *file;
    ImgstatError err = {.message = ""};
    ImgstatRecord *pixels, *planes;
    ImagePro image;
    cr_assert_eq(imgstat_file_open(decode_path, &open, &file, &err), IMGSTAT_OK, "%s", err.message);
    ImgstatDevice *const device = measure_device(threads);
    read_page(file, &image);
    cr_assert_eq(imgstat_measure_image(device, &image, how, &pixels, &err), IMGSTAT_OK);
    imgstat_image_release(&image);
    cr_assert_eq(imgstat_measure_file(device, file, 0, how, &planes, &err), IMGSTAT_OK, "%s",
                 err.message);
    cr_assert_eq(imgstat_record_channels(planes), shape->samples);
    cr_assert_gt(measure_compare(pixels, planes), 0);
    imgstat_record_destroy(pixels);
    imgstat_record_destroy(planes);
    read_page(file, &image); /* the file is as it was */
    imgstat_image_release(&image);
    const DecodeOptions as_measured = {.threads = threads, .planes = true};
    cr_assert_eq(decoder_select(file->decoder, 0, &as_measured, &err), IMGSTAT_OK);
    cr_assert_eq(file->decoder->caps.planes, apart ? shape->samples : 0);
    imgstat_device_close(device);
    imgstat_file_close(file);
    return (size_t)shape->width * shape->height * shape->samples;
}

typedef struct Type {
    uint16_t bits, format;
    const char *nodata;
} Type;

static const Type types[] = {
    {1, SAMPLEFORMAT_UINT, NULL},      {8, SAMPLEFORMAT_UINT, "7"},
    {12, SAMPLEFORMAT_UINT, NULL},     {16, SAMPLEFORMAT_UINT, "100"},
    {16, SAMPLEFORMAT_INT, NULL},      {16, SAMPLEFORMAT_IEEEFP, NULL},
    {32, SAMPLEFORMAT_UINT, "262144"}, {32, SAMPLEFORMAT_IEEEFP, "25"},
    {64, SAMPLEFORMAT_INT, NULL},      {64, SAMPLEFORMAT_IEEEFP, "-100"},
};

static bool reads_as_floats(const Shape *shape)
{
    return shape->format == SAMPLEFORMAT_IEEEFP && shape->compression != COMPRESSION_NONE &&
           shape->compression != COMPRESSION_PACKBITS;
}

Test(planes, every_type_and_layout)
{
    static const uint16_t codecs[] = {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE,
                                      COMPRESSION_PACKBITS};
    ImgstatMeasure how = measure_everything();
    size_t n = 0;
    how.n_percentiles = 3;
    setenv("IMGSTAT_DECODE", "threads", 1);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        for (unsigned way = 0; way < 32; way++) {
            Shape shape = {.width = 53,
                           .height = 41,
                           .samples = way & 1 ? 2 : 3,
                           .bits = types[t].bits,
                           .format = types[t].format,
                           .compression = codecs[way / 8],
                           .tile = way & 2 ? 16 : 0,
                           .strip = way & 1 ? 6 : 41,
                           .big_endian = way & 4,
                           .nodata = way & 1 ? types[t].nodata : NULL,
                           .absent = way & 2 ? 7 : 0};
            if (reads_as_floats(&shape) && way & 4)
                shape.predictor = PREDICTOR_FLOATINGPOINT;
            write_planes(&shape);
            n += check(&shape, 0, &how, 1, true);
            /* A plane of one strip is too little for three threads. */
            const bool enough = shape.compression == COMPRESSION_NONE || shape.tile || way & 1;
            n += check(&shape, 0, &how, 3, enough);
            if (!shape.tile) /* row after row */
                n += check(&shape, 2048, &how, 3, true);
        }
    }
    unsetenv("IMGSTAT_DECODE");
    fprintf(stderr, "%zu samples compared\n", n);
    cr_assert_gt(n, 3000000);
}

/* Tables of pairs, several bands a plane, rows that threads read for themselves. */
Test(planes, larger_pages)
{
    static const uint16_t codecs[] = {COMPRESSION_NONE, COMPRESSION_ADOBE_DEFLATE, COMPRESSION_LZW};
    const ImgstatMeasure how = measure_everything();
    size_t n = 0;
    for (unsigned way = 0; way < 18; way++) {
        if (!is_run(way % 3 + way / 3, 3)) /* a type for each codec and layout */
            continue;
        const Type *const type = &types[way % 3 == 0 ? 1 : way % 3 == 1 ? 3 : 9];
        const Shape shape = {.width = 1201,
                             .height = 1003,
                             .samples = 3,
                             .bits = type->bits,
                             .format = type->format,
                             .compression = codecs[way / 6],
                             .strip = way / 3 % 2 ? 1003 : 32,
                             .big_endian = way & 1};
        write_planes(&shape);
        n += check(&shape, 0, &how, 1, true);
        n += check(&shape, 0, &how, 3,
                   shape.compression == COMPRESSION_NONE || shape.strip == 32 || shape.bits > 8);
    }
    fprintf(stderr, "%zu samples compared\n", n);
}

/* Not kept: each plane is read again, from tiles, and only where something is wanted of it. */
Test(planes, pages_that_are_read_again)
{
    ImgstatMeasure how = measure_everything();
    const Shape shape = {.width = 2400,
                         .height = 2400,
                         .samples = 3,
                         .bits = 32,
                         .format = SAMPLEFORMAT_IEEEFP,
                         .compression = COMPRESSION_NONE,
                         .tile = 240,
                         .absent = 11};
    write_planes(&shape);
    cr_assert_gt(check(&shape, 0, &how, 2, true), 0);
    how.shape = how.histogram = how.mode = false;
    cr_assert_gt(check(&shape, 0, &how, 3, true), 0);
}

/* Keys near the median of each plane are set aside in the read that measures it. */
Test(planes, ranks_of_raw_pages)
{
    ImgstatMeasure how = {.percentiles = measure_percentiles, .n_percentiles = 3, .median = true};
    Shape shape = {.width = 1200,
                   .height = 2100,
                   .samples = 3,
                   .bits = 32,
                   .format = SAMPLEFORMAT_IEEEFP,
                   .compression = COMPRESSION_NONE,
                   .strip = 64,
                   .nodata = "25"};
    for (unsigned way = 0; way < 4; way++) {
        shape.big_endian = way & 1;
        shape.bits = way & 2 ? 64 : 32;
        write_planes(&shape);
        cr_assert_gt(check(&shape, 0, &how, 1 + way, true), 0);
    }
}

/* The sentence names the strip. */
Test(planes, damage_is_told)
{
    ImgstatFile *file;
    ImgstatError err = {.message = ""};
    ImgstatRecord *record;
    const Shape shape = {.width = 200,
                         .height = 40,
                         .samples = 3,
                         .bits = 8,
                         .format = SAMPLEFORMAT_UINT,
                         .compression = COMPRESSION_ADOBE_DEFLATE,
                         .strip = 10};
    write_planes(&shape);
    TIFF *const tif = TIFFOpen(decode_path, "r+");
    uint8_t zeros[64] = {0};
    const uint64_t at = TIFFGetStrileOffset(tif, 6);
    TIFFClose(tif);
    FILE *const f = fopen(decode_path, "r+b");
    fseek(f, (long)at, SEEK_SET);
    fwrite(zeros, 1, sizeof zeros, f);
    fclose(f);
    cr_assert_eq(imgstat_file_open(decode_path, NULL, &file, &err), IMGSTAT_OK);
    for (unsigned threads = 1; threads < 3; threads++) {
        ImgstatDevice *const device = measure_device(threads);
        cr_assert_neq(imgstat_measure_file(device, file, 0, NULL, &record, &err), IMGSTAT_OK);
        cr_assert_null(record);
        cr_assert_not_null(strstr(err.message, "strip 7 of 12"), "%s", err.message);
        imgstat_device_close(device);
    }
    imgstat_file_close(file);
}

/* ---- More planes than handles ---- */

/* Of 8 bits. */
static uint64_t value_of(const void *context, uint32_t x, uint32_t y, uint32_t c)
{
    uint8_t bytes[8] = {0};
    put(context, bytes, 0, seed_of(x, y, c));
    return bytes[0];
}

/* A handle for each of 20,000 planes would hold 400,000,000 places of strips, and reading them took
 * minutes: strips of all planes are decoded whole, or refused where that takes more than the limit.
 */
Test(planes, more_planes_than_handles)
{
    static const uint16_t codecs[] = {COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE,
                                      COMPRESSION_PACKBITS};
    enum { PLANES = 20000, LIMIT = 1 << 20 };
    size_t n = 0;
    for (unsigned i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        Shape shape = {.width = 8,
                       .height = 19,
                       .samples = PLANES,
                       .bits = 8,
                       .format = SAMPLEFORMAT_UINT,
                       .compression = codecs[i],
                       .strip = 16};
        if (i < 2)
            shape.predictor = PREDICTOR_HORIZONTAL;
        write_planes(&shape);
        ImgstatPage page;
        n += decode_compare(NULL, 5, value_of, &shape, "strips of all planes", &page);
        const ImgstatOpen small = {.limits = {.max_tile_bytes = LIMIT}};
        ImgstatFile *file;
        ImgstatError err;
        cr_assert_eq(imgstat_file_open(decode_path, &small, &file, &err), IMGSTAT_OK);
        cr_assert_eq(imgstat_file_page(file, 0, NULL, &err), IMGSTAT_ERR_LIMIT);
        imgstat_file_close(file);
    }
    fprintf(stderr, "%zu samples compared\n", n);
    cr_assert_eq(n, (size_t)3 * PLANES * 8 * 19);
}
