/* SPDX-License-Identifier: MIT */
/* test_page.c: pages that a device filters or predicts, and compresses, written among the chunks or
 * tags of their inputs: the files of encoder_write_rows. */
#include "encode/page.h"

#include "helper_encode.h"
#include "helper_plain_device.h"
#include "tiff_pages.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(encode_page, .init = encode_begin, .fini = encode_end);

static uint8_t *read_output(size_t *n)
{
    FILE *const file = fopen(encode_path, "rb");
    cr_assert_not_null(file);
    fseek(file, 0, SEEK_END);
    *n = (size_t)ftell(file);
    rewind(file);
    uint8_t *const bytes = malloc(*n);
    cr_assert_eq(fread(bytes, 1, *n, file), *n);
    fclose(file);
    return bytes;
}

/* Writes the page that its pixels, in memory of the device, make. */
static void write_page(Device *device, PageRows **rows, const EncodeOptions *how,
                       const EncodePage *page, ImgstatFile *like, void *pixels)
{
    const bool plain = !device->ops->fetches;
    ImgstatError err = {.message = ""};
    AtomicFile *output = NULL;
    Encoder *encoder = NULL;
    ImagePro image;
    cr_assert_eq(imgstat_image_wrap(plain ? IMGSTAT_CUDA : IMGSTAT_HOST, 0, pixels, 0, page->width,
                                    page->height, page->channels, page->sample, page->bits, NULL,
                                    NULL, &image, &err),
                 IMGSTAT_OK);
    cr_assert_eq(atomic_file_open(encode_path, true, 0666, &output, &err), IMGSTAT_OK);
    cr_assert_eq(encoder_create(&png_format, output, how, NULL, &encoder, &err), IMGSTAT_OK);
    cr_assert_eq(encode_page_rows(encoder, page->height), 0);
    cr_assert_eq(encoder_begin_page(encoder, like ? like->decoder : NULL, page, &err), IMGSTAT_OK);
    cr_assert_eq(encode_page_rows(encoder, page->height - 1), 0);
    cr_assert_eq(encode_page_rows(encoder, page->height), page->height);
    cr_assert_eq(encode_page(device, rows, encoder, &image, &err), IMGSTAT_OK, "%s", err.message);
    cr_assert_eq(encode_page_rows(encoder, page->height), 0);
    cr_assert_eq(encoder_finish(encoder, &err), IMGSTAT_OK, "%s", err.message);
    encoder_destroy(encoder);
    cr_assert_eq(atomic_file_commit(output, &err), IMGSTAT_OK);
}

static void compare(Device *device, PageRows **rows, const EncodeOptions *how,
                    const EncodePage *page, ImgstatFile *like)
{
    ImgstatError err = {.message = ""};
    size_t n_expected, n;
    void *const pixels = encode_pixels(page);
    cr_assert_eq(encode_file(&png_format, how, page, like, NULL, pixels, page->height, &err),
                 IMGSTAT_OK, "%s", err.message);
    uint8_t *const expected = read_output(&n_expected);
    write_page(device, rows, how, page, like, pixels);
    uint8_t *const got = read_output(&n);
    cr_assert_eq(n, n_expected);
    cr_assert(memcmp(got, expected, n) == 0);
    free(expected);
    free(got);
    free(pixels);
}

static EncodePage page_of(uint32_t width, uint32_t height, uint16_t channels, uint8_t bits)
{
    return (EncodePage){.width = width,
                        .height = height,
                        .channels = channels,
                        .sample = bits > 8 ? IMGSTAT_U16 : IMGSTAT_U8,
                        .bits = bits,
                        .alpha = (int16_t)(channels % 2 ? -1 : channels - 1)};
}

/* Pages of growing and shrinking size, in both settings, with the memory of the one before. */
static void check_pages(bool plain, ThreadPool *pool)
{
    ImgstatError err;
    ImgstatDevice *device = NULL;
    PageRows *rows = NULL;
    DeviceOps ops = plain_device_ops();
    cr_assert_eq(imgstat_device_open("cpu", 0, &device, &err), IMGSTAT_OK);
    if (plain)
        device->ops = &ops;
    for (int fast = 0; fast < 2; fast++) {
        const EncodeOptions how = {.level = -1, .fast = fast, .pool = pool};
        const EncodePage pages[] = {page_of(30, 20, 3, 8), page_of(900, 1000, 3, 8),
                                    page_of(10, 10, 1, 1), page_of(500, 700, 2, 16),
                                    page_of(400, 700, 4, 12)};
        for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
            compare(device, &rows, &how, &pages[i], NULL);
    }
    page_rows_destroy(rows);
    device->ops = &cpu_device_ops;
    imgstat_device_close(device);
}

Test(encode_page, files_of_the_encoder)
{
    ThreadPool *pool = NULL;
    cr_assert_eq(thread_pool_create(2, &pool, NULL), IMGSTAT_OK);
    check_pages(false, NULL);
    check_pages(true, NULL);
    check_pages(true, pool);
    thread_pool_destroy(pool);
}

/* Chunks of metadata come before the pixels and behind them. */
Test(encode_page, chunks_of_the_input)
{
    char name[512];
    ImgstatError err;
    ImgstatDevice *device = NULL;
    PageRows *rows = NULL;
    ImgstatFile *like = NULL;
    ImgstatPage page;
    DeviceOps ops = plain_device_ops();
    const char *const folder = getenv("IMGSTAT_TESTDATA");
    const EncodeOptions how = {.level = -1};
    snprintf(name, sizeof name, "%s/good-example.png", folder ? folder : "testdata");
    cr_assert_eq(imgstat_device_open("cpu", 0, &device, &err), IMGSTAT_OK);
    device->ops = &ops;
    cr_assert_eq(imgstat_file_open(name, NULL, &like, &err), IMGSTAT_OK, "%s", err.message);
    cr_assert_eq(imgstat_file_page(like, 0, &page, &err), IMGSTAT_OK);
    const EncodePage to = page_of(page.width, page.height, page.channels, page.bits);
    compare(device, &rows, &how, &to, like);
    imgstat_file_close(like);
    page_rows_destroy(rows);
    device->ops = &cpu_device_ops;
    imgstat_device_close(device);
}

/* Strips and tiles like those of generated files. */
static void check_tiffs(DeviceOps ops, ThreadPool *pool, unsigned n)
{
    TiffPages t = {.how = {.level = -1, .pool = pool}, .state = n};
    cr_assert_eq(imgstat_device_open("cpu", 0, &t.device, NULL), IMGSTAT_OK);
    t.device->ops = &ops;
    for (unsigned i = 0; i < n; i++) {
        TiffSpec spec = tiff_spec(&t.state);
        t.how.fast = i % 2;
        spec.compression = i % 8 ? TIFF_DEFLATE : spec.compression;
        tiff_pages_check(&t, &spec);
    }
    page_rows_destroy(t.rows);
    t.device->ops = &cpu_device_ops;
    imgstat_device_close(t.device);
    cr_assert_eq(t.failures, 0);
    cr_assert_gt(t.there, t.pages / 2);
    cr_assert_lt(t.there, t.pages);
}

Test(encode_page, strips_and_tiles)
{
    ThreadPool *pool = NULL;
    cr_assert_eq(thread_pool_create(2, &pool, NULL), IMGSTAT_OK);
    check_tiffs(plain_device_ops(), pool, all_run() ? 4000 : 400);
    check_tiffs(plain_device_ops(), NULL, 101);
    check_tiffs(cpu_device_ops, NULL, 102);
    thread_pool_destroy(pool);
}

Test(encode_page, what_is_not_possible)
{
    static const EncodeOptions hows[] = {
        {.level = 6}, {.level = 0}, {.level = -1, .compression = "lzw"}};
    const EncodePage page = page_of(30, 20, 3, 8);
    for (size_t i = 0; i < 3; i++) {
        ImgstatError err;
        AtomicFile *output = NULL;
        Encoder *encoder = NULL;
        const EncodeFormat *const format = hows[i].level < 0 ? &tiff_format : &png_format;
        cr_assert_eq(atomic_file_open(encode_path, true, 0666, &output, &err), IMGSTAT_OK);
        cr_assert_eq(encoder_create(format, output, &hows[i], NULL, &encoder, &err), IMGSTAT_OK);
        cr_assert_eq(encoder_begin_page(encoder, NULL, &page, &err), IMGSTAT_OK);
        cr_assert_eq(encode_page_rows(encoder, page.height), 0);
        encoder_destroy(encoder);
        atomic_file_discard(output);
    }
}
