/* SPDX-License-Identifier: MIT */
/* decode_twice.h: what the fuzz targets of the decoders do with an input: every page is read as a
 * whole and in small bands, into memory of different contents; both must give the same samples. */
#ifndef IMGSTAT_DECODE_TWICE_H
#define IMGSTAT_DECODE_TWICE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include "codec.h"

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

/* The samples of the page selected, read `rows` rows at a time; NULL where reading fails. */
static uint8_t *read_page(Decoder *decoder, uint32_t rows, int filler)
{
    const ImgstatPage *const page = &decoder->page;
    const size_t row_bytes =
        (size_t)page->width * page->channels * imgstat_sample_bytes(page->sample);
    ImgstatError err;
    uint8_t *const bytes = malloc(row_bytes * page->height);
    if (!bytes)
        return NULL;
    memset(bytes, filler, row_bytes * page->height);
    for (uint32_t y = 0, n = 0; y < page->height; y += n) {
        n = page->height - y < rows ? page->height - y : rows;
        const ImgstatResult result =
            decoder->codec->read_rows(decoder, bytes + y * row_bytes, row_bytes, n, &err);
        if (result != IMGSTAT_OK) {
            demand_sentence(result, &err);
            free(bytes);
            return NULL;
        }
    }
    return bytes;
}

static void decode_page(Decoder *whole, Decoder *bands, uint32_t number)
{
    ImgstatError err;
    const ImgstatResult result = whole->codec->select(whole, number, &err);
    if (result != IMGSTAT_OK) {
        demand_sentence(result, &err);
        return;
    }
    const bool both = bands->codec->select(bands, number, NULL) == IMGSTAT_OK;
    const ImgstatPage *const page = &whole->page;
    uint8_t *const a = read_page(whole, page->height, 0x00);
    uint8_t *const b = both ? read_page(bands, 3, 0xFF) : NULL;
    const size_t bytes =
        (size_t)page->width * page->height * page->channels * imgstat_sample_bytes(page->sample);
    for (size_t i = 0; a && b && i < bytes; i++) {
        if (a[i] != b[i]) {
            fprintf(stderr, "page %u of %u x %u: byte %zu is %u in bands, %u in the whole\n",
                    number, page->width, page->height, i, b[i], a[i]);
            abort();
        }
    }
    free(a);
    free(b);
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
                                  .max_chunk_bytes = 1 << 22},
                       .indices = indices,
                       .warn = ignore_warning};
    static int fd = -1;
    if (fd < 0)
        fd = memfd_create("fuzz", 0);
    if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        return;
    char name[] = "fuzz";
    const Source source = {.name = name, .fd = fd, .bytes = size};
    Decoder *whole = NULL, *bands = NULL;
    ImgstatError err;
    const ImgstatResult result = codec->open(&source, &how, &whole, &err);
    if (result != IMGSTAT_OK)
        demand_sentence(result, &err);
    how.limits.max_chunk_bytes = 1 << 12;
    if (whole && codec->open(&source, &how, &bands, NULL) == IMGSTAT_OK)
        for (uint32_t page = 0; page < whole->page.pages; page++)
            decode_page(whole, bands, page);
    codec->close(whole);
    codec->close(bands);
}

#endif
