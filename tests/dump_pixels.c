/* SPDX-License-Identifier: MIT */
/* dump_pixels: writes the samples of one page to standard output, little-endian, behind a line that
 * describes them. What tests/decode_corpus.py compares. Uses the public header of the
 * library only. */
#include "imgstat.h"

#include "serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_warning(void *context, const char *sentence)
{
    (void)context;
    fprintf(stderr, "warning: %s\n", sentence);
}

static int fail(const ImgstatError *err)
{
    fprintf(stderr, "%s: %s\n", imgstat_result_name(err->code), err->message);
    return 1;
}

static void write_little_endian(const unsigned char *bytes, size_t n, size_t sample_bytes)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    (void)sample_bytes;
    fwrite(bytes, 1, n, stdout);
#else
    for (size_t i = 0; i < n; i += sample_bytes)
        for (size_t b = sample_bytes; b-- > 0;)
            putchar(bytes[i + b]);
#endif
}

static void print_header(const ImgstatFile *file, const ImgstatPage *page)
{
    printf("%u %u %u %u %u %s %u %s %d", page->page, page->pages, page->width, page->height,
           page->channels, imgstat_sample_name(page->sample), page->bits, page->photometric,
           page->alpha);
    for (uint16_t c = 0; c < page->channels; c++)
        printf(" %s", imgstat_file_channel(file, c));
    putchar('\n');
}

static int dump_page(ImgstatFile *file, uint32_t number, uint32_t rows)
{
    ImgstatError err;
    ImgstatPage page;
    if (imgstat_file_page(file, number, &page, &err) != IMGSTAT_OK)
        return fail(&err);
    const size_t sample_bytes = imgstat_sample_bytes(page.sample);
    const size_t row_bytes = (size_t)page.width * page.channels * sample_bytes;
    print_header(file, &page);
    if (rows > page.height)
        rows = page.height;
    ImagePro band;
    if (imgstat_image_create(page.width, rows, page.channels, page.sample, page.bits, &band,
                             &err) != IMGSTAT_OK)
        return fail(&err);
    int status = 0;
    for (uint32_t y = 0; y < page.height && status == 0; y += band.height) {
        if (band.height > page.height - y)
            band.height = page.height - y;
        if (imgstat_file_read(file, &band, &err) != IMGSTAT_OK)
            status = fail(&err);
        for (uint32_t i = 0; i < band.height && status == 0; i++)
            write_little_endian((const unsigned char *)band.host + i * band.pitch, row_bytes,
                                sample_bytes);
    }
    imgstat_image_release(&band);
    return status;
}

/* dump_pixels [--indices] [--rows N] FILE PAGE; PAGE `all` writes every page, `chain` those that
 * are no SubIFDs. --libraries alone prints what they are. */
static int run(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--libraries") == 0)
        return puts(imgstat_libraries()) < 0;
    ImgstatOpen how = {.indices = false, .warn = print_warning};
    uint32_t rows = 64;
    int at = 1;
    for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++) {
        if (strcmp(argv[at], "--indices") == 0)
            how.indices = true;
        else if (strcmp(argv[at], "--rows") == 0 && at + 1 < argc)
            rows = (uint32_t)strtoul(argv[++at], NULL, 10);
    }
    if (argc - at != 2 || rows == 0) {
        fprintf(stderr, "usage: dump_pixels [--indices] [--rows N] FILE PAGE|all|chain\n");
        return 2;
    }
    ImgstatError err;
    ImgstatFile *file = NULL;
    if (imgstat_file_open(argv[at], &how, &file, &err) != IMGSTAT_OK)
        return fail(&err);
    ImgstatPage page;
    const bool all = strcmp(argv[at + 1], "all") == 0, chain = strcmp(argv[at + 1], "chain") == 0;
    const uint32_t first = all || chain ? 0 : (uint32_t)strtoul(argv[at + 1], NULL, 10);
    uint32_t end = all ? imgstat_file_pages(file) : first + 1;
    if (chain && imgstat_file_page(file, 0, &page, NULL) == IMGSTAT_OK)
        end = page.pages;
    int status = 0;
    for (uint32_t number = first; number < end; number++)
        status |= dump_page(file, number, rows);
    imgstat_file_close(file);
    return status;
}

int main(int argc, char **argv)
{
    return serve_or_run(run, argc, argv);
}
