/* SPDX-License-Identifier: MIT */
/* test_encoder.c: TIFFs written from known samples, read back with libtiff: types, layouts,
 * compression, byte order, fields, palettes, lossy inputs, BigTIFF, a disk that is full. */
#include "base/byteswap.h"
#include "helper_encode.h"
#include "tiff/encoder.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <tiffio.h>

enum { WIDTH = 75, HEIGHT = 59, PRIVATE_TAG = 60123, GDAL_NODATA_TAG = 42113 };

static const char *const all[] = {"none", "deflate", "lzw", "packbits", "zstd", "lzma", NULL};

static void on_extend(TIFF *tif)
{
    static const TIFFFieldInfo fields[] = {
        {PRIVATE_TAG, TIFF_VARIABLE, TIFF_VARIABLE, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1,
         (char *)(uintptr_t) "Private"},
        {GDAL_NODATA_TAG, -1, -1, TIFF_ASCII, FIELD_CUSTOM, 1, 0, (char *)(uintptr_t) "Nodata"},
    };
    TIFFMergeFieldInfo(tif, fields, 2);
}

static void begin(void)
{
    encode_begin();
    TIFFSetTagExtender(on_extend);
}

TestSuite(tiff_write, .init = begin, .fini = encode_end);

/* Samples of the page's type, interleaved, as libtiff reads them. */
static void expect_samples(TIFF *tif, const EncodePage *page, const uint8_t *pixels)
{
    const size_t bytes = imgstat_sample_bytes(page->sample);
    uint8_t *const row = malloc((size_t)TIFFScanlineSize(tif));
    uint16_t planar = 0;
    TIFFGetFieldDefaulted(tif, TIFFTAG_PLANARCONFIG, &planar);
    for (uint16_t c = 0; c < (planar == PLANARCONFIG_SEPARATE ? page->channels : 1); c++) {
        for (uint32_t y = 0; y < page->height; y++) {
            const uint8_t *const want = pixels + (size_t)y * page->width * page->channels * bytes;
            cr_assert_eq(TIFFReadScanline(tif, row, y, c), 1);
            if (planar == PLANARCONFIG_CONTIG) {
                cr_assert_arr_eq(row, want, page->width * page->channels * bytes, "row %u", y);
                continue;
            }
            for (size_t x = 0; x < page->width; x++)
                cr_assert_arr_eq(row + x * bytes, want + (x * page->channels + c) * bytes, bytes,
                                 "channel %u, pixel %zu of row %u", c, x, y);
        }
    }
    free(row);
}

Test(tiff_write, every_type_and_compression)
{
    unsigned n = 0;
    for (ImgstatSample sample = IMGSTAT_U8; sample <= IMGSTAT_F64; sample++) {
        for (const char *const *name = all; *name; name++) {
            for (uint16_t channels = 1; channels <= 4; channels += 3) {
                const EncodeOptions how = {.level = -1, .compression = *name};
                const EncodePage page = {.width = WIDTH,
                                         .height = HEIGHT,
                                         .channels = channels,
                                         .sample = sample,
                                         .bits = (uint8_t)(8 * imgstat_sample_bytes(sample)),
                                         .alpha = (int16_t)(channels == 4 ? 3 : -1)};
                ImgstatError err = {.message = ""};
                uint8_t *const pixels = encode_pixels(&page);
                const ImgstatResult res =
                    encode_file(&tiff_format, &how, &page, NULL, NULL, pixels, 1 + n % 20, &err);
                if (res == IMGSTAT_ERR_UNSUPPORTED && strstr(err.message, *name)) {
                    free(pixels);
                    continue; /* this libtiff has no such codec */
                }
                cr_assert_eq(res, IMGSTAT_OK, "%s", err.message);
                TIFF *const tif = TIFFOpen(encode_path, "r");
                cr_assert_not_null(tif);
                uint16_t extra = 0, *kinds = NULL;
                TIFFGetFieldDefaulted(tif, TIFFTAG_EXTRASAMPLES, &extra, &kinds);
                cr_assert_eq(extra, channels == 4);
                expect_samples(tif, &page, pixels);
                TIFFClose(tif);
                free(pixels);
                n++;
            }
        }
    }
    cr_log_info("%u files", n);
    cr_assert_geq(n, 11 * 4 * 2);
}

/* ---- From an input ---- */

typedef struct Input {
    const char *mode; /* of TIFFOpen: byte order, 8 for BigTIFF */
    uint16_t compression, bits, samples, predictor;
    bool tiled, separate;
    uint32_t rows; /* of a strip */
} Input;

/* What an input says beside its pixels. */
static void set_metadata(TIFF *tif)
{
    static const double numbers[3] = {0.1, -3e300, 7};
    static const uint8_t profile[130] = {1, 2, 3};
    TIFFSetField(tif, PRIVATE_TAG, 3, numbers);
    TIFFSetField(tif, GDAL_NODATA_TAG, "17");
    TIFFSetField(tif, TIFFTAG_ICCPROFILE, sizeof profile, profile);
    TIFFSetField(tif, TIFFTAG_IMAGEDESCRIPTION, "of a test");
    TIFFSetField(tif, TIFFTAG_XRESOLUTION, 72.5);
    TIFFSetField(tif, TIFFTAG_YRESOLUTION, 300.0);
    TIFFSetField(tif, TIFFTAG_ORIENTATION, ORIENTATION_RIGHTTOP);
}

static void expect_metadata(TIFF *tif)
{
    uint16_t n = 0, orientation = 0;
    uint32_t bytes = 0;
    double *numbers = NULL;
    const uint8_t *profile = NULL;
    const char *text = "";
    float x = 0;
    cr_assert_eq(TIFFGetField(tif, PRIVATE_TAG, &n, &numbers), 1);
    cr_assert_eq(n, 3);
    cr_assert_eq(numbers[0], 0.1);
    cr_assert_eq(numbers[1], -3e300);
    cr_assert_eq(TIFFGetField(tif, GDAL_NODATA_TAG, &text), 1);
    cr_assert_str_eq(text, "17");
    cr_assert_eq(TIFFGetField(tif, TIFFTAG_ICCPROFILE, &bytes, &profile), 1);
    cr_assert_eq(bytes, 130);
    cr_assert_eq(profile[2], 3);
    cr_assert_eq(TIFFGetField(tif, TIFFTAG_IMAGEDESCRIPTION, &text), 1);
    cr_assert_str_eq(text, "of a test");
    cr_assert_eq(TIFFGetField(tif, TIFFTAG_XRESOLUTION, &x), 1);
    cr_assert_float_eq(x, 72.5f, 1e-6f);
    cr_assert_eq(TIFFGetField(tif, TIFFTAG_ORIENTATION, &orientation), 1);
    cr_assert_eq(orientation, ORIENTATION_RIGHTTOP);
}

static void make_input(const char *path, const Input *in, const EncodePage *page,
                       const uint8_t *pixels)
{
    const size_t bytes = imgstat_sample_bytes(page->sample), pixel = bytes * page->channels;
    TIFF *const tif = TIFFOpen(path, in->mode);
    TIFFSetField(tif, TIFFTAG_IMAGEWIDTH, page->width);
    TIFFSetField(tif, TIFFTAG_IMAGELENGTH, page->height);
    TIFFSetField(tif, TIFFTAG_BITSPERSAMPLE, in->bits);
    TIFFSetField(tif, TIFFTAG_SAMPLESPERPIXEL, in->samples);
    TIFFSetField(tif, TIFFTAG_COMPRESSION, in->compression);
    TIFFSetField(tif, TIFFTAG_PHOTOMETRIC,
                 in->samples == 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK);
    TIFFSetField(tif, TIFFTAG_PLANARCONFIG,
                 in->separate ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG);
    if (in->predictor)
        TIFFSetField(tif, TIFFTAG_PREDICTOR, in->predictor);
    set_metadata(tif);
    if (in->tiled) {
        TIFFSetField(tif, TIFFTAG_TILEWIDTH, 32);
        TIFFSetField(tif, TIFFTAG_TILELENGTH, 16);
    } else {
        TIFFSetField(tif, TIFFTAG_ROWSPERSTRIP, in->rows);
    }
    uint8_t *const buffer = calloc(1, (size_t)WIDTH * pixel + 32 * 16 * pixel);
    for (uint16_t c = 0; c < (in->separate ? in->samples : 1); c++) {
        const size_t size = in->separate ? bytes : pixel;
        for (uint32_t y = 0; y < page->height; y += in->tiled ? 16 : 1) {
            for (uint32_t x = 0; x < page->width; x += in->tiled ? 32 : page->width) {
                const uint32_t rows = in->tiled ? 16 : 1, columns = in->tiled ? 32 : page->width;
                for (uint32_t i = 0; i < rows * columns; i++) {
                    const uint32_t px = x + i % columns, py = y + i / columns;
                    if (px < page->width && py < page->height)
                        memcpy(buffer + i * size,
                               pixels + ((size_t)py * page->width + px) * pixel + c * bytes, size);
                }
                if (in->tiled)
                    TIFFWriteTile(tif, buffer, x, y, 0, c);
                else
                    TIFFWriteScanline(tif, buffer, y, c);
            }
        }
    }
    free(buffer);
    TIFFClose(tif);
}

static char told[512];

static void on_warning(void *context, const char *sentence)
{
    (void)context;
    snprintf(told, sizeof told, "%s", sentence);
}

/* Makes an input, copies it, opens the copy. */
static TIFF *copy_input(const Input *in, const EncodePage *page, const uint8_t *pixels,
                        unsigned threads)
{
    char input[128];
    ImgstatFile *file = NULL;
    ImgstatError err = {.message = ""};
    EncodeOptions how = {.level = -1};
    Warnings warnings = {.warn = on_warning, .name = "input"};
    snprintf(input, sizeof input, "%s/in.tif", encode_folder);
    make_input(input, in, page, pixels);
    if (threads > 1)
        cr_assert_eq(thread_pool_create(threads, &how.pool, NULL), IMGSTAT_OK);
    cr_assert_eq(imgstat_file_open(input, NULL, &file, &err), IMGSTAT_OK, "%s", err.message);
    cr_assert_eq(imgstat_file_page(file, 0, NULL, &err), IMGSTAT_OK, "%s", err.message);
    told[0] = '\0';
    cr_assert_eq(encode_file(&tiff_format, &how, page, file, &warnings, pixels, 13, &err),
                 IMGSTAT_OK, "%s", err.message);
    imgstat_file_close(file);
    thread_pool_destroy(how.pool);
    warnings_release(&warnings);
    TIFF *const tif = TIFFOpen(encode_path, "r");
    cr_assert_not_null(tif);
    return tif;
}

Test(tiff_write, layouts_and_fields_are_kept)
{
    static const Input inputs[] = {
        {"wl", COMPRESSION_NONE, 8, 3, 0, false, false, 7},
        {"wb", COMPRESSION_NONE, 16, 3, 0, false, true, 59},
        {"wl8", COMPRESSION_LZW, 16, 1, 2, false, false, 5},
        {"wb8", COMPRESSION_ADOBE_DEFLATE, 16, 3, 2, true, true, 0},
        {"wb", COMPRESSION_ADOBE_DEFLATE, 32, 1, 2, true, false, 0},
        {"wb", COMPRESSION_PACKBITS, 8, 3, 0, true, false, 0},
        {"wl", COMPRESSION_DEFLATE, 32, 3, 0, false, true, 16},
        {"wb", COMPRESSION_LZW, 16, 1, 0, false, false, 1},
    };
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        const Input *const in = &inputs[i];
        const EncodePage page = {.width = WIDTH,
                                 .height = HEIGHT,
                                 .channels = in->samples,
                                 .sample = in->bits == 8    ? IMGSTAT_U8
                                           : in->bits == 16 ? IMGSTAT_U16
                                                            : IMGSTAT_U32,
                                 .bits = (uint8_t)in->bits,
                                 .alpha = -1};
        uint8_t *const pixels = encode_pixels(&page);
        TIFF *const tif = copy_input(in, &page, pixels, i % 2 ? 3 : 1);
        uint16_t v16 = 0;
        uint32_t v32 = 0;
        cr_assert_eq(TIFFIsBigEndian(tif), in->mode[1] == 'b');
        cr_assert_eq(TIFFIsTiled(tif), in->tiled);
        FILE *const raw = fopen(encode_path, "rb");
        uint8_t head[4];
        cr_assert_eq(fread(head, 1, 4, raw), 4);
        fclose(raw);
        cr_assert_eq(head[in->mode[1] == 'b' ? 3 : 2], in->mode[2] == '8' ? 43 : 42);
        TIFFGetField(tif, TIFFTAG_COMPRESSION, &v16);
        cr_assert_eq(v16, in->compression);
        TIFFGetFieldDefaulted(tif, TIFFTAG_PLANARCONFIG, &v16);
        cr_assert_eq(v16, in->separate ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG);
        if (in->predictor) {
            TIFFGetField(tif, TIFFTAG_PREDICTOR, &v16);
            cr_assert_eq(v16, in->predictor);
        }
        TIFFGetField(tif, in->tiled ? TIFFTAG_TILELENGTH : TIFFTAG_ROWSPERSTRIP, &v32);
        cr_assert_eq(v32, in->tiled ? 16 : in->rows);
        cr_assert_str_eq(told, "");
        if (in->tiled) { /* TIFFReadScanline takes strips only */
            ImgstatFile *file = NULL;
            ImagePro image;
            cr_assert_eq(imgstat_file_open(encode_path, NULL, &file, NULL), IMGSTAT_OK);
            cr_assert_eq(imgstat_file_page(file, 0, NULL, NULL), IMGSTAT_OK);
            cr_assert_eq(
                imgstat_image_create(WIDTH, HEIGHT, page.channels, page.sample, 0, &image, NULL),
                IMGSTAT_OK);
            cr_assert_eq(imgstat_file_read(file, &image, NULL), IMGSTAT_OK);
            const size_t bytes = (size_t)WIDTH * page.channels * imgstat_sample_bytes(page.sample);
            for (uint32_t y = 0; y < HEIGHT; y++)
                cr_assert_arr_eq((uint8_t *)image.host + y * image.pitch, pixels + y * bytes, bytes,
                                 "input %zu", i);
            imgstat_image_release(&image);
            imgstat_file_close(file);
        } else {
            expect_samples(tif, &page, pixels);
        }
        expect_metadata(tif);
        TIFFClose(tif);
        free(pixels);
    }
}

Test(tiff_write, lossy_compression_is_replaced)
{
    const Input in = {"wl", COMPRESSION_JPEG, 8, 1, 0, false, false, 16};
    const EncodePage page = {.width = WIDTH,
                             .height = HEIGHT,
                             .channels = 1,
                             .sample = IMGSTAT_U8,
                             .bits = 8,
                             .alpha = -1};
    if (!TIFFIsCODECConfigured(COMPRESSION_JPEG))
        cr_skip_test("libtiff without JPEG");
    uint8_t *const pixels = encode_pixels(&page);
    uint16_t compression = 0, predictor = 0;
    TIFF *const tif = copy_input(&in, &page, pixels, 1);
    TIFFGetField(tif, TIFFTAG_COMPRESSION, &compression);
    TIFFGetField(tif, TIFFTAG_PREDICTOR, &predictor);
    cr_assert_eq(compression, COMPRESSION_ADOBE_DEFLATE);
    cr_assert_eq(predictor, PREDICTOR_HORIZONTAL);
    cr_assert_not_null(strstr(told, "JPEG, which can lose detail"), "%s", told);
    expect_samples(tif, &page, pixels);
    expect_metadata(tif);
    TIFFClose(tif);
    free(pixels);
}

/* LogLuv in anything but its own lossy compression is refused by every reader: the values go to
 * plain channels. */
Test(tiff_write, logarithmic_colours_become_plain)
{
    char input[128];
    int16_t pixels[16][3 * 20];
    ImgstatFile *file = NULL;
    ImgstatError err = {.message = ""};
    Warnings warnings = {.warn = on_warning, .name = "input"};
    const EncodeOptions how = {.level = -1};
    for (int y = 0; y < 16; y++)
        for (int x = 0; x < 60; x++)
            pixels[y][x] = (int16_t)(1000 * y + 31 * x);
    snprintf(input, sizeof input, "%s/in.tif", encode_folder);
    TIFF *tif = TIFFOpen(input, "w");
    TIFFSetField(tif, TIFFTAG_IMAGEWIDTH, 20);
    TIFFSetField(tif, TIFFTAG_IMAGELENGTH, 16);
    TIFFSetField(tif, TIFFTAG_COMPRESSION, COMPRESSION_SGILOG);
    TIFFSetField(tif, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_LOGLUV);
    TIFFSetField(tif, TIFFTAG_SAMPLESPERPIXEL, 3);
    TIFFSetField(tif, TIFFTAG_ROWSPERSTRIP, 16);
    TIFFSetField(tif, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFSetField(tif, TIFFTAG_SGILOGDATAFMT, SGILOGDATAFMT_16BIT);
    for (uint32_t y = 0; y < 16; y++)
        cr_assert_eq(TIFFWriteScanline(tif, pixels[y], y, 0), 1);
    TIFFClose(tif);

    cr_assert_eq(imgstat_file_open(input, NULL, &file, &err), IMGSTAT_OK, "%s", err.message);
    ImgstatPage read;
    cr_assert_eq(imgstat_file_page(file, 0, &read, &err), IMGSTAT_OK, "%s", err.message);
    cr_assert_str_eq(read.photometric, "log-luv");
    const EncodePage page = {.width = 20,
                             .height = 16,
                             .channels = 3,
                             .sample = read.sample,
                             .bits = read.bits,
                             .alpha = -1};
    cr_assert_eq(encode_file(&tiff_format, &how, &page, file, &warnings, pixels, 5, &err),
                 IMGSTAT_OK, "%s", err.message);
    imgstat_file_close(file);
    cr_assert_not_null(strstr(told, "SGILog, which can lose detail"), "%s", told);
    warnings_release(&warnings);
    tif = TIFFOpen(encode_path, "r");
    uint16_t photometric = 0, n_extra = 0;
    const uint16_t *extra = NULL;
    TIFFGetField(tif, TIFFTAG_PHOTOMETRIC, &photometric);
    TIFFGetField(tif, TIFFTAG_EXTRASAMPLES, &n_extra, &extra);
    cr_assert_eq(photometric, PHOTOMETRIC_MINISBLACK);
    cr_assert_eq(n_extra, 2);
    cr_assert_eq(extra[0] | extra[1], EXTRASAMPLE_UNSPECIFIED);
    expect_samples(tif, &page, (const uint8_t *)pixels);
    TIFFClose(tif);
}

static void expect_predictor(ImgstatSample sample, uint16_t expected)
{
    const Input in = {"wl", COMPRESSION_LZW, 16, 3, 2, false, false, 9};
    const EncodePage page = {.width = WIDTH,
                             .height = HEIGHT,
                             .channels = 3,
                             .sample = IMGSTAT_U16,
                             .bits = 16,
                             .alpha = -1};
    const EncodePage wider = {.width = WIDTH,
                              .height = HEIGHT,
                              .channels = 3,
                              .sample = sample,
                              .bits = (uint8_t)(8 * imgstat_sample_bytes(sample)),
                              .alpha = -1};
    const EncodeOptions how = {.level = -1};
    ImgstatError err = {.message = ""};
    uint8_t *const pixels = encode_pixels(&page), *const samples = encode_pixels(&wider);
    TIFFClose(copy_input(&in, &page, pixels, 1));
    char input[128];
    ImgstatFile *file = NULL;
    uint16_t predictor = 0;
    snprintf(input, sizeof input, "%s/in.tif", encode_folder);
    cr_assert_eq(imgstat_file_open(input, NULL, &file, NULL), IMGSTAT_OK);
    cr_assert_eq(imgstat_file_page(file, 0, NULL, NULL), IMGSTAT_OK);
    cr_assert_eq(encode_file(&tiff_format, &how, &wider, file, NULL, samples, 13, &err), IMGSTAT_OK,
                 "%s", err.message);
    imgstat_file_close(file);
    TIFF *const tif = TIFFOpen(encode_path, "r");
    TIFFGetFieldDefaulted(tif, TIFFTAG_PREDICTOR, &predictor);
    cr_assert_eq(predictor, expected);
    expect_samples(tif, &wider, samples);
    expect_metadata(tif);
    TIFFClose(tif);
    free(pixels);
    free(samples);
}

/* Another depth: the layout stays, the predictor suits the new samples. */
Test(tiff_write, depth_may_change)
{
    expect_predictor(IMGSTAT_F32, PREDICTOR_FLOATINGPOINT);
    expect_predictor(IMGSTAT_U32, PREDICTOR_HORIZONTAL);
    /* libtiff 4.3 cannot: nothing was written, for lack of memory as it was said */
    expect_predictor(IMGSTAT_U64,
                     TIFFLIB_VERSION < 20220520 ? PREDICTOR_NONE : PREDICTOR_HORIZONTAL);
}

/* ---- Packed samples ---- */

/* Sets bit i of a stream, first bit highest. */
static void set_bit(uint8_t *row, size_t i)
{
    row[i / 8] |= (uint8_t)(128 >> i % 8);
}

/* Samples of `bits` bits of a pattern; every fifth is the largest. */
static void make_packed(uint8_t *row, size_t n, unsigned bits, bool is_signed)
{
    for (size_t i = 0; i < n; i++)
        for (unsigned b = 0; b < bits; b++)
            if (i % 5 == 0 ? b > 0 || !is_signed : encode_pattern(i, b, 0, 32) >> 7 & 1)
                set_bit(row, i * bits + b);
}

/* Opens a file of one such row, which lies in the planes or in pixels of `channels` samples. */
static ImgstatFile *packed_file(unsigned bits, bool is_signed, uint16_t channels, bool separate,
                                const uint8_t *row, size_t bytes)
{
    char input[128];
    ImgstatFile *file = NULL;
    ImgstatError err = {.message = ""};
    snprintf(input, sizeof input, "%s/packed.tif", encode_folder);
    TIFF *const tif = TIFFOpen(input, "wl");
    TIFFSetField(tif, TIFFTAG_IMAGEWIDTH, WIDTH);
    TIFFSetField(tif, TIFFTAG_IMAGELENGTH, 1);
    TIFFSetField(tif, TIFFTAG_BITSPERSAMPLE, bits);
    TIFFSetField(tif, TIFFTAG_SAMPLESPERPIXEL, channels);
    TIFFSetField(tif, TIFFTAG_SAMPLEFORMAT, is_signed ? SAMPLEFORMAT_INT : SAMPLEFORMAT_UINT);
    TIFFSetField(tif, TIFFTAG_PHOTOMETRIC,
                 channels == 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK);
    TIFFSetField(tif, TIFFTAG_PLANARCONFIG, separate ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG);
    for (uint32_t plane = 0; plane < (separate ? channels : 1u); plane++)
        cr_assert_eq(TIFFWriteRawStrip(tif, plane, (void *)(uintptr_t)row, (tmsize_t)bytes),
                     (tmsize_t)bytes);
    TIFFClose(tif);
    cr_assert_eq(imgstat_file_open(input, NULL, &file, &err), IMGSTAT_OK, "%s", err.message);
    return file;
}

/* A copy has the bits of its input; samples beyond their bits become the largest. */
static void copy_packed(unsigned bits, bool is_signed, uint16_t channels, bool separate)
{
    enum { MOST = WIDTH * 3 * 8 };
    const size_t n = (size_t)WIDTH * (separate ? 1 : channels), bytes = (n * bits + 7) / 8;
    uint8_t row[MOST] = {0}, got[MOST];
    const EncodeOptions how = {.level = -1};
    ImgstatError err = {.message = ""};
    ImgstatPage page;
    ImagePro image;
    make_packed(row, n, bits, is_signed);
    ImgstatFile *const file = packed_file(bits, is_signed, channels, separate, row, bytes);
    cr_assert_eq(imgstat_file_page(file, 0, &page, &err), IMGSTAT_OK, "%s", err.message);
    cr_assert_eq(imgstat_image_create(WIDTH, 1, channels, page.sample, page.bits, &image, NULL),
                 IMGSTAT_OK);
    cr_assert_eq(imgstat_file_read(file, &image, &err), IMGSTAT_OK, "%s", err.message);
    const size_t sample = imgstat_sample_bytes(page.sample);
    for (size_t i = 0; i < (size_t)WIDTH * channels; i++)
        if ((separate ? i / channels : i) % 5 == 0) {
            uint8_t *const at = (uint8_t *)image.host + i * sample;
            memset(at, 0xFF, sample);
            at[host_big_endian ? 0 : sample - 1] = is_signed ? 0x7F : 0xFF;
        }
    const EncodePage to = {.width = WIDTH,
                           .height = 1,
                           .channels = channels,
                           .sample = page.sample,
                           .bits = page.bits,
                           .alpha = -1};
    cr_assert_eq(encode_file(&tiff_format, &how, &to, file, NULL, image.host, 1, &err), IMGSTAT_OK,
                 "%s", err.message);
    imgstat_image_release(&image);
    imgstat_file_close(file);
    TIFF *const tif = TIFFOpen(encode_path, "r");
    uint16_t written = 0;
    TIFFGetField(tif, TIFFTAG_BITSPERSAMPLE, &written);
    cr_assert_eq(written, bits);
    for (uint32_t plane = 0; plane < (separate ? channels : 1u); plane++) {
        cr_assert_eq(TIFFReadRawStrip(tif, plane, got, MOST), (tmsize_t)bytes);
        cr_assert_arr_eq(got, row, bytes, "%u bits, signed %d, %u channels, separate %d", bits,
                         is_signed, channels, separate);
    }
    TIFFClose(tif);
}

Test(tiff_write, packed_samples_keep_their_bits)
{
    for (unsigned bits = 1; bits < 64; bits++)
        for (unsigned way = 0; way < 6; way++)
            if (bits != 8 && bits != 16 && bits != 32)
                copy_packed(bits, way % 2 && bits > 1, way < 2 ? 1 : 3, way >= 4);
}

/* ---- Large files, full disks ---- */

/* A file whose pixels end behind 4 GiB, with a hole in their place. */
Test(tiff_write, becomes_a_bigtiff_when_it_must)
{
    struct rlimit largest;
    if (getrlimit(RLIMIT_FSIZE, &largest) != 0 || largest.rlim_cur < (rlim_t)5 << 30)
        cr_skip_test("files are limited in size here");
    TiffFile file = {.at = ((uint64_t)1 << 32) + 4096};
    TiffTags *page = tiff_tags_create();
    AtomicFile *output = NULL;
    static const char text[] = "more than eight bytes";
    const uint64_t at = ((uint64_t)1 << 32) + 17;
    const char *got = "";
    uint32_t width = 0;
    cr_assert_eq(atomic_file_open(encode_path, true, 0666, &output, NULL), IMGSTAT_OK);
    file.output = output;
    file.pages = malloc(sizeof *file.pages);
    file.pages[0] = page;
    file.n_pages = file.room = 1;
    cr_assert_eq(
        tiff_tags_set(&file, page, TIFFTAG_IMAGEDESCRIPTION, TIFF_ASCII, sizeof text, text, NULL),
        IMGSTAT_OK);
    cr_assert_eq(tiff_tags_number(&file, page, TIFFTAG_IMAGEWIDTH, TIFF_LONG, 2, NULL), IMGSTAT_OK);
    cr_assert_eq(tiff_tags_number(&file, page, TIFFTAG_IMAGELENGTH, TIFF_LONG, 2, NULL),
                 IMGSTAT_OK);
    cr_assert_eq(tiff_tags_number(&file, page, TIFFTAG_BITSPERSAMPLE, TIFF_SHORT, 8, NULL),
                 IMGSTAT_OK);
    cr_assert_eq(tiff_tags_number(&file, page, TIFFTAG_STRIPBYTECOUNTS, TIFF_LONG, 4, NULL),
                 IMGSTAT_OK);
    cr_assert_eq(tiff_tags_set(&file, page, TIFFTAG_STRIPOFFSETS, TIFF_LONG8, 1, &at, NULL),
                 IMGSTAT_OK);
    cr_assert_eq(tiff_tags_finish(&file, NULL), IMGSTAT_OK);
    cr_assert(file.big);
    tiff_file_release(&file);
    cr_assert_eq(atomic_file_commit(output, NULL), IMGSTAT_OK);
    TIFF *const tif = TIFFOpen(encode_path, "r");
    cr_assert_not_null(tif);
    cr_assert_eq(TIFFGetField(tif, TIFFTAG_IMAGEDESCRIPTION, &got), 1);
    cr_assert_str_eq(got, text);
    cr_assert_eq(TIFFGetField(tif, TIFFTAG_IMAGEWIDTH, &width), 1);
    cr_assert_eq(width, 2);
    cr_assert_eq(TIFFGetStrileOffset(tif, 0), at);
    TIFFClose(tif);
}

Test(tiff_write, full_disk)
{
    const EncodePage page = {
        .width = 120, .height = 90, .channels = 3, .sample = IMGSTAT_U16, .bits = 16, .alpha = -1};
    uint8_t *const pixels = encode_pixels(&page);
    unsigned failed = 0;
    struct rlimit before;
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    for (rlim_t limit = 0; limit < 70000; limit += 2503) {
        for (const char *const *name = all; *name; name++) {
            const struct rlimit small = {limit, before.rlim_max};
            const EncodeOptions how = {.level = 1, .compression = *name};
            ImgstatError err = {.message = ""};
            cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
            const ImgstatResult res =
                encode_file(&tiff_format, &how, &page, NULL, NULL, pixels, 50, &err);
            cr_assert_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
            if (res == IMGSTAT_ERR_UNSUPPORTED)
                continue;
            if (res == IMGSTAT_OK) {
                remove(encode_path);
                continue;
            }
            failed++;
            cr_assert_eq(res, IMGSTAT_ERR_IO, "%s", err.message);
            cr_assert_not_null(strstr(err.message, encode_path));
            cr_assert_eq(encode_entries(), 0);
        }
    }
    cr_assert_gt(failed, 50);
    free(pixels);
}

Test(tiff_write, what_cannot_be)
{
    const EncodePage page = {
        .width = 4, .height = 4, .channels = 1, .sample = IMGSTAT_U8, .bits = 8, .alpha = -1};
    static const uint8_t pixels[16];
    ImgstatError err;
    const EncodeOptions unknown = {.level = -1, .compression = "jpeg"},
                        fax = {.level = -1, .compression = "ccittfax4"};
    cr_assert_eq(encode_file(&tiff_format, &unknown, &page, NULL, NULL, pixels, 4, &err),
                 IMGSTAT_ERR_ARG);
    cr_assert_not_null(strstr(err.message, "\"jpeg\""));
    cr_assert_eq(encode_file(&tiff_format, &fax, &page, NULL, NULL, pixels, 4, &err),
                 IMGSTAT_ERR_UNSUPPORTED);
    cr_assert_eq(encode_entries(), 0);
}
