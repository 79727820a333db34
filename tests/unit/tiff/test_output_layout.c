/* SPDX-License-Identifier: MIT */
/* test_output_layout.c: types, compressions and tiles of output pages: by themselves, like a page
 * of an input, and with little memory. */
#include "base/sample.h"
#include "helper_encode.h"
#include "tiff/encoder.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <tiffio.h>

TestSuite(output_layout, .init = encode_begin, .fini = encode_end);

static char told[512];

static void on_warning(void *context, const char *sentence)
{
    (void)context;
    snprintf(told, sizeof told, "%s", sentence);
}

/* Chooses the layout of a page that is written with `how`. */
static ImgstatResult choose(const EncodeOptions *how, Decoder *like, const EncodePage *page,
                            TiffShape *shape, ImgstatError *err)
{
    char name[] = "an output";
    Warnings warnings = {.warn = on_warning, .name = name};
    told[0] = '\0';
    const ImgstatResult res =
        tiff_shape_choose(name, page, like, how, false, &warnings, shape, err);
    warnings_release(&warnings);
    return res;
}

static const EncodeOptions usual = {.level = -1};

Test(output_layout, of_its_own)
{
    static const struct {
        ImgstatSample sample;
        uint8_t bits;
        uint16_t channels;
        int16_t alpha;
        uint16_t stored, photometric, format, predictor, scale;
    } kinds[] = {
        {IMGSTAT_U8, 8, 1, -1, 8, PHOTOMETRIC_MINISBLACK, 1, 2, 1},
        {IMGSTAT_U8, 8, 3, -1, 8, PHOTOMETRIC_RGB, 1, 2, 1},
        {IMGSTAT_U8, 8, 2, 1, 8, PHOTOMETRIC_MINISBLACK, 1, 2, 1},
        {IMGSTAT_U8, 8, 3, 2, 8, PHOTOMETRIC_MINISBLACK, 1, 2, 1},
        {IMGSTAT_U16, 16, 5, -1, 16, PHOTOMETRIC_RGB, 1, 2, 1},
        {IMGSTAT_U16, 12, 1, -1, 16, PHOTOMETRIC_MINISBLACK, 1, 2, 1},
        {IMGSTAT_U8, 1, 1, -1, 1, PHOTOMETRIC_MINISBLACK, 1, 1, 1},
        {IMGSTAT_U8, 4, 1, -1, 4, PHOTOMETRIC_MINISBLACK, 1, 1, 1},
        {IMGSTAT_U8, 6, 1, -1, 8, PHOTOMETRIC_MINISBLACK, 1, 2, 1},
        {IMGSTAT_U8, 1, 2, 1, 8, PHOTOMETRIC_MINISBLACK, 1, 2, 255},
        {IMGSTAT_U8, 2, 2, 1, 8, PHOTOMETRIC_MINISBLACK, 1, 2, 85},
        {IMGSTAT_U8, 4, 4, 3, 8, PHOTOMETRIC_RGB, 1, 2, 17},
        {IMGSTAT_I16, 16, 1, -1, 16, PHOTOMETRIC_MINISBLACK, 2, 2, 1},
        {IMGSTAT_U64, 64, 1, -1, 64, PHOTOMETRIC_MINISBLACK, 1, 1, 1},
        {IMGSTAT_F16, 16, 1, -1, 16, PHOTOMETRIC_MINISBLACK, 3, 3, 1},
        {IMGSTAT_F32, 32, 4, 3, 32, PHOTOMETRIC_RGB, 3, 3, 1},
        {IMGSTAT_F64, 64, 1, -1, 64, PHOTOMETRIC_MINISBLACK, 3, 3, 1},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const EncodePage page = {.width = 1000,
                                 .height = 1000,
                                 .channels = kinds[i].channels,
                                 .sample = kinds[i].sample,
                                 .bits = kinds[i].bits,
                                 .alpha = kinds[i].alpha};
        TiffShape shape;
        cr_assert_eq(choose(&usual, NULL, &page, &shape, NULL), IMGSTAT_OK);
        cr_expect_eq(shape.bits, kinds[i].stored, "kind %zu: %u bits", i, shape.bits);
        cr_expect_eq(shape.photometric, kinds[i].photometric, "kind %zu", i);
        cr_expect_eq(shape.format, kinds[i].format, "kind %zu", i);
        cr_expect_eq(shape.predictor, kinds[i].predictor, "kind %zu", i);
        cr_expect_eq(shape.scale, kinds[i].scale, "kind %zu", i);
        cr_expect_eq(shape.compression, COMPRESSION_ADOBE_DEFLATE);
        cr_expect_eq(shape.planes, 1);
        cr_expect_eq(shape.per_tile, kinds[i].channels);
        cr_expect_not(shape.tiled);
        /* Strips of at most 256 KiB, of as many rows as fit. */
        const uint64_t row = (1000ull * kinds[i].channels * kinds[i].stored + 7) / 8;
        cr_expect_eq(shape.row_bytes, row, "kind %zu", i);
        const uint64_t rows = 262144 / row < 1000 ? 262144 / row : 1000;
        cr_expect_eq(shape.tile_height, rows, "kind %zu: %u rows", i, shape.tile_height);
        cr_expect_eq(shape.down, (1000 + rows - 1) / rows);
    }
    cr_assert_str_eq(told, "");
}

/* ---- Like an input --------------------------------------------------------------------------- */

typedef struct Input {
    uint16_t compression, bits, samples, predictor, photometric;
    bool tiled, separate;
} Input;

static ImgstatFile *input_file(const Input *in, const ImgstatOpen *how)
{
    enum { WIDTH = 80, HEIGHT = 50 };
    char path[128];
    ImgstatFile *file = NULL;
    ImgstatError err = {.message = ""};
    uint16_t colours[3][256];
    static uint8_t row[WIDTH * 32 * 4];
    snprintf(path, sizeof path, "%s.in", encode_path);
    TIFF *const tif = TIFFOpen(path, "w");
    TIFFSetField(tif, TIFFTAG_IMAGEWIDTH, WIDTH);
    TIFFSetField(tif, TIFFTAG_IMAGELENGTH, HEIGHT);
    TIFFSetField(tif, TIFFTAG_BITSPERSAMPLE, in->bits);
    TIFFSetField(tif, TIFFTAG_SAMPLESPERPIXEL, in->samples);
    TIFFSetField(tif, TIFFTAG_PHOTOMETRIC, in->photometric);
    TIFFSetField(tif, TIFFTAG_PLANARCONFIG, in->separate ? 2 : 1);
    TIFFSetField(tif, TIFFTAG_COMPRESSION, in->compression);
    for (int i = 0; i < 256; i++)
        colours[0][i] = colours[1][i] = colours[2][i] = (uint16_t)(i * 256 + 1);
    if (in->photometric == PHOTOMETRIC_PALETTE)
        TIFFSetField(tif, TIFFTAG_COLORMAP, colours[0], colours[1], colours[2]);
    if (in->predictor)
        TIFFSetField(tif, TIFFTAG_PREDICTOR, in->predictor);
    if (in->tiled) {
        TIFFSetField(tif, TIFFTAG_TILEWIDTH, 32);
        TIFFSetField(tif, TIFFTAG_TILELENGTH, 16);
    } else {
        TIFFSetField(tif, TIFFTAG_ROWSPERSTRIP, 7);
    }
    for (uint16_t c = 0; c < (in->separate ? in->samples : 1); c++)
        for (uint32_t y = 0; y < HEIGHT; y += in->tiled ? 16 : 1)
            for (uint32_t x = 0; x < WIDTH; x += in->tiled ? 32 : WIDTH)
                cr_assert(in->tiled ? TIFFWriteTile(tif, row, x, y, 0, c) > 0
                                    : TIFFWriteScanline(tif, row, y, c) > 0);
    TIFFClose(tif);
    cr_assert_eq(imgstat_file_open(path, how, &file, &err), IMGSTAT_OK, "%s", err.message);
    cr_assert_eq(imgstat_file_page(file, 0, NULL, &err), IMGSTAT_OK, "%s", err.message);
    return file;
}

/* The page of a file, mapped to its own type or to another. */
static EncodePage page_like(const ImgstatFile *file, ImgstatSample sample)
{
    const ImgstatPage *const page = &file->decoder->page;
    return (EncodePage){.width = page->width,
                        .height = page->height,
                        .channels = page->channels,
                        .sample = sample,
                        .bits = sample == page->sample ? page->bits : (uint8_t)sample_bits(sample),
                        .alpha = page->alpha,
                        .mapped = true};
}

Test(output_layout, like_an_input)
{
    static const Input inputs[] = {
        {COMPRESSION_NONE, 8, 1, 0, PHOTOMETRIC_MINISWHITE, false, false},
        {COMPRESSION_LZW, 16, 3, 2, PHOTOMETRIC_RGB, false, true},
        {COMPRESSION_LZW, 16, 1, 1, PHOTOMETRIC_MINISBLACK, true, false},
        {COMPRESSION_PACKBITS, 8, 4, 0, PHOTOMETRIC_SEPARATED, true, true},
        {COMPRESSION_DEFLATE, 32, 1, 2, PHOTOMETRIC_MINISBLACK, true, false},
        {COMPRESSION_CCITTFAX4, 1, 1, 0, PHOTOMETRIC_MINISWHITE, false, false}};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        const Input *const in = &inputs[i];
        ImgstatFile *const file = input_file(in, NULL);
        const EncodePage page = page_like(file, file->decoder->page.sample);
        TiffShape shape;
        cr_assert_eq(choose(&usual, file->decoder, &page, &shape, NULL), IMGSTAT_OK);
        cr_expect_eq(shape.compression, in->compression, "input %zu", i);
        cr_expect_eq(shape.predictor, in->predictor == 2 ? 2 : 1, "input %zu", i);
        cr_expect_eq(shape.photometric, in->photometric, "input %zu", i);
        cr_expect_eq(shape.bits, in->bits, "input %zu", i);
        cr_expect_eq(shape.planes, in->separate ? in->samples : 1, "input %zu", i);
        cr_expect_eq(shape.per_tile, in->separate ? 1 : in->samples, "input %zu", i);
        cr_expect_eq(shape.tiled, in->tiled, "input %zu", i);
        cr_expect_eq(shape.tile_width, in->tiled ? 32 : 80, "input %zu", i);
        cr_expect_eq(shape.tile_height, in->tiled ? 16 : 7, "input %zu", i);
        cr_expect_eq(shape.across, in->tiled ? 3 : 1, "input %zu", i);
        cr_expect_eq(shape.down, in->tiled ? 4 : 8, "input %zu", i);
        cr_expect_str_eq(told, "");
        imgstat_file_close(file);
    }
}

/* Another type: a predictor that it can have, bits of its own; a fax codec is for one bit. */
Test(output_layout, of_another_type)
{
    static const Input words = {COMPRESSION_LZW, 16, 1, 2, PHOTOMETRIC_MINISBLACK, false, false};
    static const Input fax = {COMPRESSION_CCITTFAX4, 1, 1, 0, PHOTOMETRIC_MINISWHITE, false, false};
    TiffShape shape;
    ImgstatFile *file = input_file(&words, NULL);
    EncodePage page = page_like(file, IMGSTAT_U8);
    cr_assert_eq(choose(&usual, file->decoder, &page, &shape, NULL), IMGSTAT_OK);
    cr_expect_eq(shape.bits, 8);
    cr_expect_eq(shape.predictor, PREDICTOR_HORIZONTAL);
    page = page_like(file, IMGSTAT_F32);
    cr_assert_eq(choose(&usual, file->decoder, &page, &shape, NULL), IMGSTAT_OK);
    cr_expect_eq(shape.compression, COMPRESSION_LZW);
    cr_expect_eq(shape.predictor, PREDICTOR_FLOATINGPOINT);
    imgstat_file_close(file);
    file = input_file(&fax, NULL);
    page = page_like(file, IMGSTAT_U8);
    page.bits = 8;
    cr_assert_eq(choose(&usual, file->decoder, &page, &shape, NULL), IMGSTAT_OK);
    cr_expect_eq(shape.compression, COMPRESSION_ADOBE_DEFLATE);
    cr_expect_not_null(strstr(told, "written with deflate"), "%s", told);
    imgstat_file_close(file);
}

Test(output_layout, palettes)
{
    static const Input in = {COMPRESSION_LZW, 8, 1, 0, PHOTOMETRIC_PALETTE, false, false};
    for (int indices = 0; indices < 2; indices++) {
        const ImgstatOpen how = {.indices = indices};
        ImgstatFile *const file = input_file(&in, &how);
        const EncodePage page = page_like(file, file->decoder->page.sample);
        TiffShape shape;
        cr_assert_eq(choose(&usual, file->decoder, &page, &shape, NULL), IMGSTAT_OK);
        cr_expect_eq(shape.photometric, indices ? PHOTOMETRIC_PALETTE : PHOTOMETRIC_RGB);
        cr_expect_eq(shape.samples, indices ? 1 : 3);
        cr_expect_eq(tiff_keeps_palette(file->decoder, &page), indices);
        imgstat_file_close(file);
    }
}

/* ---- What is asked for, memory, limits ------------------------------------------------------- */

Test(output_layout, compressions)
{
    const EncodePage page = {
        .width = 64, .height = 64, .channels = 1, .sample = IMGSTAT_U8, .bits = 8, .alpha = -1};
    EncodePage bits = page;
    ImgstatError err = {.message = ""};
    TiffShape shape;
    EncodeOptions how = {.level = -1, .compression = "ccittfax4"};
    cr_assert_eq(choose(&how, NULL, &page, &shape, &err), IMGSTAT_ERR_UNSUPPORTED);
    cr_assert_str_eq(err.message,
                     "an output: 8-bit samples cannot be compressed with ccittfax4 here");
    bits.bits = 1;
    cr_assert_eq(choose(&how, NULL, &bits, &shape, &err), IMGSTAT_OK);
    cr_assert_eq(shape.compression, COMPRESSION_CCITTFAX4);
    how.compression = "packbits";
    cr_assert_eq(choose(&how, NULL, &page, &shape, &err), IMGSTAT_OK);
    cr_assert_eq(shape.compression, COMPRESSION_PACKBITS);
    cr_assert_eq(shape.predictor, PREDICTOR_NONE);
    how.level = 9;
    how.fast = true;
    cr_assert_eq(choose(&how, NULL, &page, &shape, &err), IMGSTAT_OK);
    cr_assert_eq(shape.level, 1);
}

/* Where memory is short strips are divided, and levels that take more than four times as much are
 * lowered. */
Test(output_layout, little_memory)
{
    EncodePage page = {.width = 1 << 16,
                       .height = 1 << 12,
                       .channels = 1,
                       .sample = IMGSTAT_U8,
                       .bits = 8,
                       .alpha = -1};
    TiffShape shape;
    EncodeOptions how = {.level = 22, .compression = "zstd", .strip_bytes = 1 << 17};
    const ImgstatResult res = choose(&how, NULL, &page, &shape, NULL);
    if (res == IMGSTAT_ERR_UNSUPPORTED)
        cr_skip_test("libtiff without Zstandard");
    cr_assert_eq(res, IMGSTAT_OK);
    cr_assert_eq(shape.tile_height, 2);
    cr_assert_eq(shape.level, 1);
    how.strip_bytes = 512 << 10; /* 4 MiB: level 3 takes 3577 KiB, level 4 4857 */
    cr_assert_eq(choose(&how, NULL, &page, &shape, NULL), IMGSTAT_OK);
    cr_assert_eq(shape.tile_height, 4);
    cr_assert_eq(shape.level, 3);
    how.strip_bytes = 0;
    cr_assert_eq(choose(&how, NULL, &page, &shape, NULL), IMGSTAT_OK);
    cr_assert_eq(shape.level, 22);
    how.compression = "none";
    how.strip_bytes = 1;
    cr_assert_eq(choose(&how, NULL, &page, &shape, NULL), IMGSTAT_OK);
    cr_assert_eq(shape.tile_height, 4, "what is not compressed is not held");
}

Test(output_layout, small_zstd_strips_take_less_time)
{
    EncodePage page = {
        .width = 64, .height = 64, .channels = 3, .sample = IMGSTAT_U8, .bits = 8, .alpha = -1};
    TiffShape shape;
    EncodeOptions how = {.level = -1, .compression = "zstd"};
    const ImgstatResult res = choose(&how, NULL, &page, &shape, NULL);
    if (res == IMGSTAT_ERR_UNSUPPORTED)
        cr_skip_test("libtiff without Zstandard");
    cr_assert_eq(res, IMGSTAT_OK);
    cr_assert_eq(shape.level, 6, "a strip of 12 KiB");
    how.level = 9;
    cr_assert_eq(choose(&how, NULL, &page, &shape, NULL), IMGSTAT_OK);
    cr_assert_eq(shape.level, 9, "what is asked for");
    how.level = -1;
    page.width = 128;
    cr_assert_eq(choose(&how, NULL, &page, &shape, NULL), IMGSTAT_OK);
    cr_assert_eq(shape.level, -1, "a strip of 24 KiB");
}

Test(output_layout, too_many_strips)
{
    const EncodePage page = {.width = 1000000,
                             .height = UINT32_MAX,
                             .channels = 1,
                             .sample = IMGSTAT_U8,
                             .bits = 8,
                             .alpha = -1};
    ImgstatError err = {.message = ""};
    TiffShape shape;
    cr_assert_eq(choose(&usual, NULL, &page, &shape, &err), IMGSTAT_ERR_LIMIT);
    cr_assert_str_eq(err.message, "an output: 4294967295 strips or tiles of 1000000 bytes a row");
}
