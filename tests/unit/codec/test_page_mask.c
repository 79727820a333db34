/* SPDX-License-Identifier: MIT */
/* test_page_mask.c: which pixels of a page count, by its own mask, that of another file and its
 * alpha, in bands of any height; and masks that cannot be used. */
#include "codec/codec.h"
#include "codec/page_mask.h"
#include "helper_decode.h"
#include "support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>
#include <unistd.h>

enum { WIDTH = 37, HEIGHT = 29 };

static char other[80]; /* the file of a mask */

static void begin(void)
{
    decode_begin();
    snprintf(other, sizeof other, "%s-mask", decode_path);
}

static void end(void)
{
    unlink(other);
    decode_end();
}

TestSuite(page_mask, .init = begin, .fini = end);

/* ---- Files ----------------------------------------------------------------------------------- */

typedef struct Page {
    uint32_t width, height, type; /* type: of NewSubfileType */
    uint16_t channels, bits, format;
    uint32_t rows; /* of a strip; 0: one strip */
    uint64_t seed; /* a third of all samples is 0 */
    bool alpha;
} Page;

/* Sample c of pixel x, y, as bits. */
static uint64_t sample_at(const Page *page, uint32_t x, uint32_t y, uint32_t c)
{
    const uint64_t v = mix64(page->seed + ((uint64_t)y << 40) + ((uint64_t)x << 16) + c);
    if (v % 3 == 0) /* -0.0 is 0 as well */
        return page->format == SAMPLEFORMAT_IEEEFP && v % 2 ? (uint64_t)1 << (page->bits - 1) : 0;
    return page->bits == 1 ? 1 : (uint64_t)1 << (v >> 32) % (page->bits - 2u);
}

static void put_row(TIFF *tif, const Page *page, uint32_t y)
{
    uint8_t row[WIDTH * 4 * 8] = {0};
    for (uint32_t x = 0; x < page->width; x++)
        for (uint32_t c = 0; c < page->channels; c++) {
            const uint64_t v = sample_at(page, x, y, c);
            const size_t i = (size_t)x * page->channels + c;
            if (page->bits == 1)
                row[i / 8] = (uint8_t)(row[i / 8] | v << (7 - i % 8));
            else if (page->bits == 8)
                row[i] = (uint8_t)v;
            else if (page->bits == 16)
                ((uint16_t *)(void *)row)[i] = (uint16_t)v;
            else
                ((uint32_t *)(void *)row)[i] = (uint32_t)v;
        }
    cr_assert_eq(TIFFWriteScanline(tif, row, y, 0), 1);
}

static void write_file(const char *path, const Page *pages, size_t n)
{
    TIFF *const tif = TIFFOpen(path, "w");
    for (size_t p = 0; p < n; p++) {
        const Page *const page = &pages[p];
        const uint16_t unassociated = EXTRASAMPLE_UNASSALPHA;
        TIFFSetField(tif, TIFFTAG_SUBFILETYPE, page->type);
        TIFFSetField(tif, TIFFTAG_IMAGEWIDTH, page->width);
        TIFFSetField(tif, TIFFTAG_IMAGELENGTH, page->height);
        TIFFSetField(tif, TIFFTAG_SAMPLESPERPIXEL, page->channels);
        TIFFSetField(tif, TIFFTAG_BITSPERSAMPLE, page->bits);
        TIFFSetField(tif, TIFFTAG_SAMPLEFORMAT, page->format);
        TIFFSetField(tif, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
        TIFFSetField(tif, TIFFTAG_COMPRESSION, COMPRESSION_ADOBE_DEFLATE);
        TIFFSetField(tif, TIFFTAG_ROWSPERSTRIP, page->rows ? page->rows : page->height);
        TIFFSetField(tif, TIFFTAG_PHOTOMETRIC,
                     page->type & FILETYPE_MASK ? PHOTOMETRIC_MASK
                     : page->channels > 2       ? PHOTOMETRIC_RGB
                                                : PHOTOMETRIC_MINISBLACK);
        if (page->alpha)
            TIFFSetField(tif, TIFFTAG_EXTRASAMPLES, 1, &unassociated);
        for (uint32_t y = 0; y < page->height; y++)
            put_row(tif, page, y);
        cr_assert_eq(TIFFWriteDirectory(tif), 1);
    }
    TIFFClose(tif);
}

static bool is_zero(const Page *page, uint32_t x, uint32_t y, uint32_t c)
{
    const uint64_t v = sample_at(page, x, y, c);
    return v == 0 || (page->format == SAMPLEFORMAT_IEEEFP && v == (uint64_t)1 << (page->bits - 1));
}

/* Whether pixel x, y of a page counts by a mask of any size: its pixel at the same centre. */
static bool counts(const Page *mask, const Page *page, uint32_t x, uint32_t y)
{
    const double right = (x + 0.5) * mask->width / page->width;
    const double down = (y + 0.5) * mask->height / page->height;
    return !is_zero(mask, (uint32_t)right, (uint32_t)down, 0);
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* The masks that apply to a page. */
typedef struct Masks {
    const Page *own, *other; /* NULL: none */
    bool alpha;
} Masks;

static Decoder *select_page(ImgstatFile *file, uint32_t page)
{
    ImgstatError err = {.message = ""};
    cr_assert_eq(imgstat_file_page(file, page, NULL, &err), IMGSTAT_OK, "%s", err.message);
    return file->decoder;
}

/* Reads a page in bands of `rows` and compares what counts. */
static void check_page(ImgstatFile *file, uint32_t number, const Page *page, const Masks *masks,
                       uint32_t rows)
{
    static uint8_t mask[HEIGHT * (WIDTH + 3)];
    Decoder *const decoder = select_page(file, number);
    ImgstatError err = {.message = ""};
    ImagePro band;
    cr_assert(page_is_masked(decoder));
    cr_assert_gt(page_mask_bytes(decoder), 0);
    cr_assert_eq(page_mask_begin(decoder, &err), IMGSTAT_OK, "%s", err.message);
    cr_assert_eq(imgstat_image_create(page->width, rows, page->channels, decoder->page.sample, 0,
                                      &band, NULL),
                 IMGSTAT_OK);
    for (uint32_t y = 0; y < page->height; y += rows) {
        guard_fill(mask, sizeof mask);
        band.height = page->height - y < rows ? page->height - y : rows;
        cr_assert_eq(imgstat_file_read(file, &band, &err), IMGSTAT_OK, "%s", err.message);
        band.mask = mask;
        band.mask_pitch = WIDTH + 3;
        cr_assert_eq(page_mask_read(decoder, &band, &err), IMGSTAT_OK, "%s", err.message);
        for (uint32_t i = 0; i < band.height; i++) {
            for (uint32_t x = 0; x < page->width; x++) {
                const bool want = (!masks->own || counts(masks->own, page, x, y + i)) &&
                                  (!masks->other || counts(masks->other, page, x, y + i)) &&
                                  (!masks->alpha || !is_zero(page, x, y + i, page->channels - 1u));
                cr_assert_eq(mask[i * (WIDTH + 3) + x], want, "pixel %u, %u in bands of %u", x,
                             y + i, rows);
            }
            cr_assert(guard_holds(mask + i * (WIDTH + 3) + page->width, 3));
        }
        cr_assert(guard_holds(mask + band.height * (size_t)(WIDTH + 3),
                              sizeof mask - band.height * (size_t)(WIDTH + 3)));
        band.mask = NULL;
    }
    imgstat_image_release(&band);
}

static void check_file(const ImgstatOpen *how, uint32_t number, const Page *page,
                       const Masks *masks)
{
    static const uint32_t rows[] = {1, 5, HEIGHT};
    ImgstatFile *file = NULL;
    ImgstatError err = {.message = ""};
    cr_assert_eq(imgstat_file_open(decode_path, how, &file, &err), IMGSTAT_OK, "%s", err.message);
    for (size_t i = 0; i < 3; i++)
        check_page(file, number, page, masks, rows[i]);
    imgstat_file_close(file);
}

static const Page image = {WIDTH, HEIGHT, 0, 1, 8, 1, 4, 1, false};

Test(page_mask, own)
{
    static const Page masks[] = {
        {WIDTH, HEIGHT, FILETYPE_MASK, 1, 1, 1, 0, 2, false},
        {WIDTH, HEIGHT, FILETYPE_MASK, 1, 8, 1, 7, 3, false},
        {WIDTH, HEIGHT, FILETYPE_MASK, 1, 8, 1, 1, 4, false},
    };
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        const Page pages[] = {image, masks[i]};
        write_file(decode_path, pages, 2);
        check_file(NULL, 0, &image, &(Masks){.own = &masks[i]});
    }
}

/* Levels have masks of their own; the masks of two pages are read by one decoder. */
Test(page_mask, levels)
{
    static const Page pages[] = {
        {WIDTH, HEIGHT, 0, 1, 8, 1, 0, 1, false},
        {WIDTH, HEIGHT, FILETYPE_MASK, 1, 1, 1, 3, 2, false},
        {18, 14, FILETYPE_REDUCEDIMAGE, 1, 8, 1, 0, 3, false},
        {18, 14, FILETYPE_REDUCEDIMAGE | FILETYPE_MASK, 1, 1, 1, 0, 4, false}};
    ImgstatFile *file = NULL;
    write_file(decode_path, pages, 4);
    cr_assert_eq(imgstat_file_open(decode_path, NULL, &file, NULL), IMGSTAT_OK);
    for (int again = 0; again < 2; again++) {
        check_page(file, 2, &pages[2], &(Masks){.own = &pages[3]}, 4);
        check_page(file, 0, &pages[0], &(Masks){.own = &pages[1]}, 9);
        cr_assert_not(page_is_masked(select_page(file, 1)), "a mask has none");
        cr_assert_eq(page_mask_bytes(file->decoder), 0);
    }
    imgstat_file_close(file);
}

/* The first channel of any page: of every type that can be 0. */
Test(page_mask, of_another_file)
{
    static const Page masks[] = {
        {WIDTH, HEIGHT, 0, 1, 8, 1, 0, 5, false},  {WIDTH, HEIGHT, 0, 3, 8, 1, 2, 6, false},
        {WIDTH, HEIGHT, 0, 1, 16, 1, 8, 7, false}, {WIDTH, HEIGHT, 0, 1, 16, 2, 8, 8, false},
        {WIDTH, HEIGHT, 0, 1, 1, 1, 0, 9, false},  {WIDTH, HEIGHT, 0, 1, 32, 3, 5, 10, false}};
    static const Page level = {19, 15, FILETYPE_REDUCEDIMAGE, 1, 8, 1, 0, 12, false};
    const Page pages[] = {image, level};
    const ImgstatOpen how = {.mask = other};
    write_file(decode_path, pages, 2);
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        write_file(other, &masks[i], 1);
        check_file(&how, 0, &image, &(Masks){.other = &masks[i]});
        check_file(&how, 1, &level, &(Masks){.other = &masks[i]});
    }
}

Test(page_mask, all_together)
{
    static const Page rgba = {WIDTH, HEIGHT, 0, 4, 16, 1, 6, 21, true};
    static const Page mask = {WIDTH, HEIGHT, FILETYPE_MASK, 1, 1, 1, 5, 22, false};
    static const Page second = {WIDTH, HEIGHT, 0, 1, 8, 1, 0, 23, false};
    const Page pages[] = {rgba, mask}, others[] = {image, second};
    write_file(decode_path, pages, 2);
    write_file(other, others, 2);
    const ImgstatOpen how = {.alpha_masks = true, .mask = other, .mask_page = "1"};
    check_file(&how, 0, &rgba, &(Masks){.own = &mask, .other = &second, .alpha = true});
    const ImgstatOpen not_own = {.alpha_masks = true, .ignore_masks = true};
    check_file(&not_own, 0, &rgba, &(Masks){.alpha = true});
    const ImgstatOpen ignored = {.ignore_masks = true};
    ImgstatFile *file = NULL;
    cr_assert_eq(imgstat_file_open(decode_path, &ignored, &file, NULL), IMGSTAT_OK);
    cr_assert_not(page_is_masked(select_page(file, 0)));
    imgstat_file_close(file);
}

/* ---- Masks that cannot be used --------------------------------------------------------------- */

/* The error of the first page, when its mask is opened or else when it is read. */
/* A mask file without the page that was named made the second read of an image crash, and several
 * pages were taken for one there. */
static void expect_error(const ImgstatOpen *how, ImgstatResult code, const char *part)
{
    static uint8_t mask[WIDTH * HEIGHT];
    ImgstatFile *file = NULL;
    ImgstatError err = {.message = ""};
    ImagePro band;
    cr_assert_eq(imgstat_file_open(decode_path, how, &file, &err), IMGSTAT_OK);
    Decoder *const decoder = select_page(file, 0);
    cr_assert_eq(imgstat_image_create(WIDTH, HEIGHT, 1, IMGSTAT_U8, 0, &band, NULL), IMGSTAT_OK);
    ImgstatResult res = page_mask_begin(decoder, &err);
    if (res != IMGSTAT_OK)
        cr_expect_eq(page_mask_begin(decoder, NULL), res, "asked again: %s", part);
    band.mask = mask;
    band.mask_pitch = WIDTH;
    if (res == IMGSTAT_OK)
        res = page_mask_read(decoder, &band, &err);
    cr_expect_eq(res, code, "%d: %s", (int)res, err.message);
    cr_expect_not_null(strstr(err.message, part), "%s", err.message);
    cr_expect_eq(err.code, code);
    imgstat_image_release(&band);
    imgstat_file_close(file);
}

Test(page_mask, that_cannot_be_used)
{
    static const Page narrow = {WIDTH - 1, HEIGHT, 0, 1, 8, 1, 0, 1, false};
    static const Page mask = {WIDTH, HEIGHT, 0, 1, 8, 1, 4, 2, false};
    const Page two[] = {image, image};
    ImgstatOpen how = {.mask = other};
    write_file(decode_path, &image, 1);
    expect_error(&how, IMGSTAT_ERR_IO, other);
    write_file(other, &narrow, 1);
    expect_error(&how, IMGSTAT_ERR_ARG, "has 37 x 29 pixels, its mask");
    expect_error(&how, IMGSTAT_ERR_ARG, "36 x 29; they must be equal");
    how.mask = "-";
    expect_error(&how, IMGSTAT_ERR_ARG, "no standard input");
    how = (ImgstatOpen){.mask = other, .mask_page = "0-1"};
    write_file(other, two, 2);
    expect_error(&how, IMGSTAT_ERR_ARG, "names several pages");
    how.mask_page = "7";
    expect_error(&how, IMGSTAT_ERR_ARG, "has no page 7");
    how.mask_page = NULL;
    write_file(other, &mask, 1);
    check_file(&how, 0, &image, &(Masks){.other = &mask});
    cr_assert_eq(truncate(other, 60), 0);
    expect_error(&how, IMGSTAT_ERR_TRUNCATED, other);
}

/* A strip of the mask is damaged: the pixels above it are good, and the error is not lost. */
Test(page_mask, damaged)
{
    static const Page mask = {WIDTH, HEIGHT, FILETYPE_MASK, 1, 8, 1, 4, 2, false};
    const Page pages[] = {image, mask};
    write_file(decode_path, pages, 2);
    TIFF *const tif = TIFFOpen(decode_path, "r");
    uint64_t *offsets = NULL;
    cr_assert_eq(TIFFSetDirectory(tif, 1), 1);
    cr_assert_eq(TIFFGetField(tif, TIFFTAG_STRIPOFFSETS, &offsets), 1);
    const long at = (long)offsets[3];
    TIFFClose(tif);
    FILE *const file = fopen(decode_path, "r+b");
    cr_assert_eq(fseek(file, at, SEEK_SET), 0);
    cr_assert_eq(fwrite("damaged!", 1, 8, file), 8);
    fclose(file);
    expect_error(NULL, IMGSTAT_ERR_FORMAT, decode_path);
    page_mask_destroy(NULL);
}
