/* SPDX-License-Identifier: MIT */
/* helper_encode.c: images of known samples, written by the encoders. */
#include "helper_encode.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char encode_folder[64], encode_path[96];

void encode_begin(void)
{
    strcpy(encode_folder, "/tmp/imgstat-encode-XXXXXX");
    if (!mkdtemp(encode_folder))
        abort();
    snprintf(encode_path, sizeof encode_path, "%s/out", encode_folder);
}

void encode_end(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", encode_folder);
    if (system(command) != 0)
        abort();
}

unsigned encode_entries(void)
{
    unsigned n = 0;
    DIR *const dir = opendir(encode_folder);
    for (const struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir))
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    if (dir)
        closedir(dir);
    return n;
}

uint64_t encode_pattern(uint64_t x, uint64_t y, uint64_t c, unsigned bits)
{
    const uint64_t v = (x * 7 + y * 131 + c * 57 + 3) % 65521 * 0x9E3779B97F4A7C15u;
    return bits == 64 ? v : v >> (64 - bits);
}

void *encode_pixels(const EncodePage *page)
{
    const size_t bytes = imgstat_sample_bytes(page->sample);
    const size_t n = (size_t)page->width * page->height * page->channels;
    uint8_t *const pixels = malloc(n * bytes);
    for (size_t i = 0; pixels && i < n; i++) {
        const size_t at = i / page->channels;
        const uint64_t v =
            encode_pattern(at % page->width, at / page->width, i % page->channels, page->bits);
        const uint16_t v16 = (uint16_t)v;
        const uint32_t v32 = (uint32_t)v;
        if (bytes == 1)
            pixels[i] = (uint8_t)v;
        else
            memcpy(pixels + i * bytes,
                   bytes == 2   ? (const void *)&v16
                   : bytes == 4 ? (const void *)&v32
                                : &v,
                   bytes);
    }
    return pixels;
}

ImgstatResult encode_file(const EncodeFormat *format, const EncodeOptions *how,
                          const EncodePage *page, ImgstatFile *like, Warnings *warnings,
                          const void *pixels, uint32_t rows, ImgstatError *err)
{
    const size_t pitch = (size_t)page->width * page->channels * imgstat_sample_bytes(page->sample);
    AtomicFile *output = NULL;
    Encoder *encoder = NULL;
    ImgstatResult res = atomic_file_open(encode_path, true, 0666, &output, err);
    if (res == IMGSTAT_OK)
        res = encoder_create(format, output, how, warnings, &encoder, err);
    if (res == IMGSTAT_OK)
        res = encoder_begin_page(encoder, like ? like->decoder : NULL, page, err);
    for (uint32_t y = 0; res == IMGSTAT_OK && y < page->height; y += rows) {
        const uint32_t n = page->height - y < rows ? page->height - y : rows;
        res = encoder_write_rows(encoder, (const uint8_t *)pixels + y * pitch, pitch, n, err);
    }
    if (res == IMGSTAT_OK)
        res = encoder_finish(encoder, err);
    encoder_destroy(encoder);
    if (res == IMGSTAT_OK)
        return atomic_file_commit(output, err);
    atomic_file_discard(output);
    return res;
}
