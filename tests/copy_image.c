/* SPDX-License-Identifier: MIT */
/* copy_image: reads every page of an image, but SubIFDs, and writes it again, samples unchanged.
 * What tests/roundtrip_corpus.py compares. */
#include "codec/encoder.h"

#include "serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Options {
    const char *format; /* NULL: of the input */
    uint32_t rows;      /* of a band */
    unsigned threads;
    bool first_page;
    EncodeOptions how;
} Options;

static void print_warning(void *context, const char *sentence)
{
    (void)context;
    fprintf(stderr, "warning: %s\n", sentence);
}

static ImgstatResult copy_rows(ImgstatFile *file, Encoder *encoder, ImagePro *band, uint32_t height,
                               ImgstatError *err)
{
    ImgstatResult res = IMGSTAT_OK;
    for (uint32_t y = 0; y < height && res == IMGSTAT_OK; y += band->height) {
        if (band->height > height - y)
            band->height = height - y;
        res = imgstat_file_read(file, band, err);
        if (res == IMGSTAT_OK)
            res = encoder_write_rows(encoder, band->host, band->pitch, band->height, err);
    }
    return res;
}

static ImgstatResult copy_page(ImgstatFile *file, uint32_t number, const Options *options,
                               Encoder *encoder, ImgstatError *err)
{
    ImgstatPage page;
    ImagePro band = {.host = NULL};
    ImgstatResult res = imgstat_file_page(file, number, &page, err);
    if (res != IMGSTAT_OK)
        return res;
    const EncodePage out = {.width = page.width,
                            .height = page.height,
                            .channels = page.channels,
                            .sample = page.sample,
                            .bits = page.bits,
                            .alpha = page.alpha,
                            .role = page.role};
    const uint32_t rows = options->rows < page.height ? options->rows : page.height;
    res = encoder_begin_page(encoder, file->decoder, &out, err);
    if (res == IMGSTAT_OK)
        res = imgstat_image_create(page.width, rows, page.channels, page.sample, page.bits, &band,
                                   err);
    if (res == IMGSTAT_OK)
        res = copy_rows(file, encoder, &band, page.height, err);
    imgstat_image_release(&band);
    return res;
}

static ImgstatResult copy(ImgstatFile *file, const char *to, Options *options, ImgstatError *err)
{
    const EncodeFormat *const format =
        encode_format_named(options->format ? options->format : file->decoder->page.format);
    Warnings warnings = {.warn = print_warning, .name = file->source->name};
    AtomicFile *output = NULL;
    Encoder *encoder = NULL;
    ImgstatResult res = thread_pool_create(options->threads, &options->how.pool, err);
    if (res == IMGSTAT_OK)
        res = atomic_file_open(to, true, 0666, &output, err);
    if (res == IMGSTAT_OK)
        res = encoder_create(format, output, &options->how, &warnings, &encoder, err);
    const uint32_t pages = options->first_page ? 1 : file->decoder->page.pages;
    for (uint32_t i = 0; i < pages && res == IMGSTAT_OK; i++)
        res = copy_page(file, i, options, encoder, err);
    if (res == IMGSTAT_OK)
        res = encoder_finish(encoder, err);
    encoder_destroy(encoder);
    if (res == IMGSTAT_OK)
        res = atomic_file_commit(output, err);
    else
        atomic_file_discard(output);
    warnings_release(&warnings);
    thread_pool_destroy(options->how.pool);
    return res;
}

/* copy_image [--indices] [--first] [--fast] [--format F] [--compression C] [--level N] [--rows N]
 * [--threads N] IN OUT */
static int run(int argc, char **argv)
{
    ImgstatOpen open = {.indices = false, .warn = print_warning};
    Options options = {.rows = 64, .threads = 1, .how = {.level = -1}};
    int at = 1;
    for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++) {
        if (strcmp(argv[at], "--indices") == 0)
            open.indices = true;
        else if (strcmp(argv[at], "--first") == 0)
            options.first_page = true;
        else if (strcmp(argv[at], "--fast") == 0)
            options.how.fast = true;
        else if (strcmp(argv[at], "--format") == 0)
            options.format = argv[++at];
        else if (strcmp(argv[at], "--compression") == 0)
            options.how.compression = argv[++at];
        else if (strcmp(argv[at], "--level") == 0)
            options.how.level = atoi(argv[++at]);
        else if (strcmp(argv[at], "--rows") == 0)
            options.rows = (uint32_t)strtoul(argv[++at], NULL, 10);
        else if (strcmp(argv[at], "--threads") == 0)
            options.threads = (unsigned)strtoul(argv[++at], NULL, 10);
    }
    if (argc - at != 2 || options.rows == 0) {
        fprintf(stderr, "usage: copy_image [OPTIONS] IN OUT\n");
        return 2;
    }
    ImgstatError err;
    ImgstatFile *file = NULL;
    ImgstatResult res = imgstat_file_open(argv[at], &open, &file, &err);
    if (res == IMGSTAT_OK)
        res = copy(file, argv[at + 1], &options, &err);
    imgstat_file_close(file);
    if (res == IMGSTAT_OK)
        return 0;
    fprintf(stderr, "%s: %s\n", imgstat_result_name(err.code), err.message);
    return 1;
}

int main(int argc, char **argv)
{
    return serve_or_run(run, argc, argv);
}
