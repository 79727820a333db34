/* SPDX-License-Identifier: MIT */
/* decode_twice.h: what the fuzz targets of the decoders do with an input: every page is read as a
 * whole and in small bands, into memory of different contents; both must give the same samples. So
 * must separate planes one by one, strips and tiles by themselves, and libpng and libtiff alone,
 * with the same verdict. */
#ifndef IMGSTAT_DECODE_TWICE_H
#define IMGSTAT_DECODE_TWICE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include "codec/encoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void ignore_warning(void *context, const char *sentence)
{
    (void)context;
    if (strncmp(sentence, "fuzz: ", 6) != 0)
        abort(); /* every sentence begins with the file's name */
}

static void demand_sentence(ImgstatResult result, const ImgstatError *err)
{
    if (result != err->code || strncmp(err->message, "fuzz: ", 6) != 0) {
        if (result == IMGSTAT_ERR_MEMORY)
            return;
        fprintf(stderr, "result %d, error %d: %s\n", (int)result, (int)err->code, err->message);
        abort();
    }
}

/* The samples of the page or plane selected, read `rows` rows at a time; NULL where reading fails.
 */
static uint8_t *read_page(Decoder *decoder, uint32_t rows, int filler, ImgstatError *err)
{
    const ImgstatPage *const page = &decoder->page;
    const size_t row_bytes =
        (size_t)page->width * decoder_channels(decoder) * imgstat_sample_bytes(page->sample);
    uint8_t *const bytes = malloc(row_bytes * page->height);
    if (!bytes)
        return NULL;
    memset(bytes, filler, row_bytes * page->height);
    *err = (ImgstatError){.code = IMGSTAT_OK};
    for (uint32_t y = 0, n = 0; y < page->height; y += n) {
        n = page->height - y < rows ? page->height - y : rows;
        const ImgstatResult result =
            decoder_read_rows(decoder, bytes + y * row_bytes, row_bytes, n, err);
        if (result != IMGSTAT_OK) {
            demand_sentence(result, err);
            free(bytes);
            return NULL;
        }
    }
    return bytes;
}

static void demand_same(const uint8_t *a, const uint8_t *b, size_t bytes, const char *what)
{
    for (size_t i = 0; a && b && i < bytes; i++) {
        if (a[i] != b[i]) {
            fprintf(stderr, "byte %zu is %u in the whole, %u %s\n", i, a[i], b[i], what);
            abort();
        }
    }
}

/* The same code and our part of the sentence. The library's reason after it may differ: libtiff's
 * LZW decoder words it by what the handle happened to decode before. */
static bool same_sentence(const char *a, const char *b)
{
    static const char reason[] = "cannot be decoded: ";
    const char *const end = strstr(a, reason);
    return strcmp(a, b) == 0 || (end && strncmp(a, b, (size_t)(end - a) + sizeof reason - 1) == 0);
}

static void demand_same_verdict(const ImgstatError *fast, const ImgstatError *plain)
{
    if (fast->code == IMGSTAT_ERR_MEMORY || plain->code == IMGSTAT_ERR_MEMORY)
        return;
    if (fast->code == plain->code && same_sentence(fast->message, plain->message))
        return;
    fprintf(stderr, "%d: %s\nplainly %d: %s\n", (int)fast->code, fast->message, (int)plain->code,
            plain->message);
    abort();
}

/* Strips and tiles by themselves hold the page's samples. expected: NULL where it cannot be read;
 * then one of them cannot either. */
static void decode_chunks(Decoder *decoder, const uint8_t *expected, const ImgstatError *err)
{
    const ImgstatPage *const page = &decoder->page;
    const uint32_t width = decoder->caps.tile_width, height = decoder->caps.tile_height;
    const size_t pixel = decoder_channels(decoder) * imgstat_sample_bytes(page->sample);
    if (width == 0 || !decoder->codec->tiles_begin(decoder, 1))
        return;
    bool complete = true;
    for (uint32_t y = 0; y < page->height; y += height) {
        for (uint32_t x = 0; x < page->width; x += width) {
            size_t pitch;
            const uint8_t *const chunk = decoder->codec->tile_at(decoder, 0, 0, x, y, &pitch);
            const size_t columns = page->width - x < width ? page->width - x : width;
            complete = complete && chunk;
            for (uint32_t i = 0; chunk && expected && i < height && i < page->height - y; i++)
                demand_same(expected + ((size_t)(y + i) * page->width + x) * pixel,
                            chunk + i * pitch, columns * pixel, "by itself");
        }
    }
    if (complete && !expected && err->code != IMGSTAT_ERR_MEMORY && err->code != IMGSTAT_OK)
        abort();
}

/* expected: the page as a whole. */
static void decode_planes(Decoder *decoder, uint32_t number, const uint8_t *expected)
{
    ImgstatError err;
    const DecodeOptions options = {.threads = 1, .planes = true};
    const bool selected = decoder_select(decoder, number, &options, NULL) == IMGSTAT_OK;
    const size_t bytes = imgstat_sample_bytes(decoder->page.sample);
    for (uint16_t c = 0; selected && c < decoder->caps.planes; c++) {
        if (decoder_rewind(decoder, c, NULL) != IMGSTAT_OK)
            break; /* memory is short */
        uint8_t *const plane = read_page(decoder, 5, 0x5A, &err);
        if (!plane && err.code != IMGSTAT_ERR_MEMORY && err.code != IMGSTAT_OK)
            abort(); /* the whole could be read */
        for (size_t i = 0; plane && i < (size_t)decoder->page.width * decoder->page.height; i++)
            if (memcmp(plane + i * bytes, expected + (i * decoder->caps.planes + c) * bytes,
                       bytes) != 0)
                abort();
        free(plane);
    }
}

static void decode_page(Decoder *whole, Decoder *bands, Decoder *plain, uint32_t number)
{
    ImgstatError err, plain_err = {.code = IMGSTAT_OK};
    const ImgstatResult result =
        decoder_select(whole, number, &(DecodeOptions){.threads = 2}, &err);
    ImgstatLayout layout = {0};
    if (result == IMGSTAT_OK)
        whole->codec->layout(whole, &layout);
    if (layout.n_metadata > sizeof layout.metadata / sizeof layout.metadata[0])
        abort();
    if (decoder_select(plain, number, &(DecodeOptions){.threads = 0}, &plain_err) != result)
        abort(); /* selecting knows no ways */
    if (result != IMGSTAT_OK) {
        demand_sentence(result, &err);
        return;
    }
    const bool both =
        decoder_select(bands, number, &(DecodeOptions){.threads = 1}, NULL) == IMGSTAT_OK;
    const ImgstatPage *const page = &whole->page;
    const size_t bytes =
        (size_t)page->width * page->height * page->channels * imgstat_sample_bytes(page->sample);
    ImgstatError bands_err;
    uint8_t *const a = read_page(whole, page->height, 0x00, &err);
    uint8_t *const b = both ? read_page(bands, 3, 0xFF, &bands_err) : NULL;
    uint8_t *const c = read_page(plain, page->height, 0xA5, &plain_err);
    demand_same(a, b, bytes, "in bands");
    demand_same(a, c, bytes, "by the library alone");
    if (bytes > 0)
        demand_same_verdict(&err, &plain_err);
    decode_chunks(whole, a, &err);
    if (a && b)
        decode_planes(bands, number, a);
    free(a);
    free(b);
    free(c);
}

static void decode_twice(const Codec *codec, const uint8_t *data, size_t size, bool indices)
{
    /* Small: the fuzzer should find ways through the code, not large allocations. The second
     * decoder's strips are at most 4 KiB, so that it takes other ways where there are any. */
    ImgstatOpen how = {.limits = {.max_width = 4096,
                                  .max_height = 4096,
                                  .max_pixels = 1 << 18,
                                  .max_bytes = 1 << 22,
                                  .max_pages = 8,
                                  .max_tile_bytes = 1 << 22},
                       .indices = indices,
                       .warn = ignore_warning};
    static int fd = -1;
    if (fd < 0)
        fd = memfd_create("fuzz", 0);
    if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        return;
    char name[] = "fuzz";
    const Source source = {.name = name, .fd = fd, .bytes = size};
    Decoder *whole = NULL, *bands = NULL, *plain = NULL;
    ImgstatError err;
    const ImgstatResult result = decoder_open(codec, &source, &how, DECODE_THREADS, &whole, &err);
    if (result != IMGSTAT_OK)
        demand_sentence(result, &err);
    if (whole && decoder_open(codec, &source, &how, DECODE_PLAIN, &plain, NULL) != IMGSTAT_OK)
        plain = NULL;
    how.limits.max_tile_bytes = 1 << 12;
    if (plain && decoder_open(codec, &source, &how, DECODE_AUTO, &bands, NULL) == IMGSTAT_OK) {
        for (uint32_t page = 0; page < whole->list.n; page++)
            decode_page(whole, bands, plain, page);
    }
    decoder_close(whole);
    decoder_close(plain);
    decoder_close(bands);
}

#endif
