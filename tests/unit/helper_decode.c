/* SPDX-License-Identifier: MIT */
/* helper_decode.c: files that a test wrote, read back. */
#include "helper_decode.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char decode_path[64];

void decode_begin(void)
{
    strcpy(decode_path, "/tmp/imgstat-test-XXXXXX");
    const int fd = mkstemp(decode_path);
    cr_assert_geq(fd, 0);
    close(fd);
}

void decode_end(void)
{
    unlink(decode_path);
}

uint64_t decode_sample(const ImagePro *image, uint32_t x, uint32_t y, uint32_t c)
{
    const size_t bytes = imgstat_sample_bytes(image->sample);
    const unsigned char *const at = image_row(image, y) + (x * (size_t)image->channels + c) * bytes;
    uint64_t v = 0;
    for (size_t b = 0; b < bytes; b++)
        v |= (uint64_t)at[__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? b : bytes - 1 - b] << 8 * b;
    return v;
}

size_t decode_compare(const ImgstatOpen *how, uint32_t rows, DecodeExpected *expected,
                      const void *context, const char *what, ImgstatPage *page)
{
    ImgstatFile *file = NULL;
    ImgstatError err = {.message = ""};
    ImagePro image;
    size_t n = 0;
    cr_assert_eq(imgstat_file_open(decode_path, how, &file, &err), IMGSTAT_OK, "%s", err.message);
    cr_assert_eq(imgstat_file_page(file, 0, page, &err), IMGSTAT_OK, "%s", err.message);
    cr_assert_eq(imgstat_image_create(page->width, rows, page->channels, page->sample, page->bits,
                                      &image, &err),
                 IMGSTAT_OK);
    for (uint32_t y = 0; y < page->height; y += image.height) {
        image.height = page->height - y < rows ? page->height - y : rows;
        cr_assert_eq(imgstat_file_read(file, &image, &err), IMGSTAT_OK, "%s", err.message);
        cr_assert_eq(image.first_row, y);
        for (uint32_t i = 0; i < image.height; i++)
            for (uint32_t x = 0; x < page->width; x++)
                for (uint32_t c = 0; c < page->channels; c++, n++)
                    cr_assert_eq(decode_sample(&image, x, i, c), expected(context, x, y + i, c),
                                 "x %u y %u channel %u in bands of %u: %s", x, y + i, c, rows,
                                 what);
    }
    imgstat_image_release(&image);
    imgstat_file_close(file);
    return n;
}

ImgstatResult decode_all(const ImgstatOpen *how, uint32_t *pages, ImgstatError *err)
{
    ImgstatFile *file = NULL;
    ImgstatPage page;
    ImagePro image;
    ImgstatResult res = imgstat_file_open(decode_path, how, &file, err);
    *pages = res == IMGSTAT_OK ? imgstat_file_pages(file) : 0;
    for (uint32_t p = 0; p < *pages && res == IMGSTAT_OK; p++) {
        res = imgstat_file_page(file, p, &page, err);
        if (res != IMGSTAT_OK)
            break;
        cr_assert_eq(imgstat_image_create(page.width, page.height, page.channels, page.sample, 0,
                                          &image, NULL),
                     IMGSTAT_OK);
        res = imgstat_file_read(file, &image, err);
        imgstat_image_release(&image);
    }
    imgstat_file_close(file);
    return res;
}

void decode_hear(void *heard, const char *sentence)
{
    DecodeHeard *const all = heard;
    all->n++;
    snprintf(all->last, sizeof all->last, "%s", sentence);
}
