/* SPDX-License-Identifier: MIT */
/* png_files.h: PNG files of every colour type, depth and filter, whose filtered rows hold anything.
 */
#ifndef IMGSTAT_TESTS_PNG_FILES_H
#define IMGSTAT_TESTS_PNG_FILES_H

#include "deflate_streams.h"

/* What a file is like; filter 5: any, row by row; 6: there is no such filter. */
typedef struct PngSpec {
    uint32_t width, height;
    uint8_t color, depth; /* as in IHDR */
    uint8_t filter;
    unsigned colors;  /* of the palette; tRNS has half of them if `key` */
    bool key;         /* tRNS */
    unsigned content; /* stream_content */
    size_t chunk;     /* bytes of an IDAT at most */
    StreamKind kind;
} PngSpec;

static inline void png_put(uint8_t *to, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> (24 - 8 * i));
}

/* Appends a chunk; returns the bytes behind it. */
static inline size_t png_chunk(uint8_t *file, size_t at, const char *type, const uint8_t *data,
                               size_t n)
{
    png_put(file + at, (uint32_t)n);
    memcpy(file + at + 4, type, 4);
    if (n > 0)
        memcpy(file + at + 8, data, n);
    png_put(file + at + 8 + n, (uint32_t)crc32(0, file + at + 4, (uInt)n + 4));
    return at + 12 + n;
}

static inline size_t png_row_bytes(const PngSpec *spec)
{
    static const uint8_t channels[] = {1, 0, 3, 1, 2, 0, 4};
    return ((size_t)spec->width * channels[spec->color] * spec->depth + 7) / 8;
}

/* Makes the filtered rows of a file. */
static inline uint8_t *png_rows(const PngSpec *spec, size_t *n, uint64_t *state)
{
    const size_t row = 1 + png_row_bytes(spec);
    *n = row * spec->height;
    uint8_t *const rows = (uint8_t *)malloc(*n);
    if (!rows)
        abort();
    stream_content(rows, *n, spec->content, state);
    for (uint32_t y = 0; y < spec->height; y++)
        rows[y * row] = (uint8_t)(spec->filter == 5 ? splitmix64(state) % 5 : spec->filter);
    return rows;
}

/* Makes a file; returns its bytes. The caller frees it. */
static inline size_t png_file(const PngSpec *spec, uint64_t *state, uint8_t **out)
{
    static const uint8_t signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    uint8_t head[13] = {0}, colors[768], alpha[256], *stream;
    size_t n;
    uint8_t *const rows = png_rows(spec, &n, state);
    const size_t bytes = stream_deflate(rows, n, spec->kind, &stream);
    uint8_t *const whole = (uint8_t *)malloc(bytes + 6);
    const size_t room = bytes + 2048 + 12 * (bytes / spec->chunk + 2);
    uint8_t *const file = *out = (uint8_t *)malloc(room);
    if (!whole || !file)
        abort();
    whole[0] = (uint8_t)((spec->kind.window - 8) << 4 | 8);
    whole[1] = (uint8_t)(31 - whole[0] * 256 % 31);
    memcpy(whole + 2, stream, bytes);
    png_put(whole + 2 + bytes, (uint32_t)adler32(adler32(0, NULL, 0), rows, (uInt)n));
    memcpy(file, signature, sizeof signature);
    png_put(head, spec->width);
    png_put(head + 4, spec->height);
    head[8] = spec->depth;
    head[9] = spec->color;
    size_t at = png_chunk(file, sizeof signature, "IHDR", head, sizeof head);
    for (unsigned i = 0; i < 256; i++)
        alpha[i] = colors[3 * i] = colors[3 * i + 1] = colors[3 * i + 2] =
            (uint8_t)splitmix64(state);
    alpha[0] = 0;
    if (spec->color == 3)
        at = png_chunk(file, at, "PLTE", colors, 3 * spec->colors);
    if (spec->key)
        at = png_chunk(file, at, "tRNS", alpha,
                       spec->color == 3   ? (spec->colors + 1) / 2
                       : spec->color == 0 ? 2
                                          : 6);
    for (size_t done = 0; done < bytes + 6; done += spec->chunk)
        at = png_chunk(file, at, "IDAT", whole + done,
                       bytes + 6 - done < spec->chunk ? bytes + 6 - done : spec->chunk);
    at = png_chunk(file, at, "IEND", NULL, 0);
    free(rows);
    free(stream);
    free(whole);
    return at;
}

/* Any file of few pixels. */
static inline PngSpec png_spec(uint64_t *state)
{
    static const uint8_t forms[][2] = {{0, 1}, {0, 2},  {0, 4},  {0, 8}, {0, 16},
                                       {2, 8}, {2, 16}, {3, 1},  {3, 2}, {3, 4},
                                       {3, 8}, {4, 8},  {4, 16}, {6, 8}, {6, 16}};
    const uint64_t r = splitmix64(state), s = splitmix64(state);
    PngSpec spec = {.width = 1 + (uint32_t)(r % 7 ? r / 8 % 90 : r / 8 % 700),
                    .height = 1 + (uint32_t)(r / 1024 % 7 ? r / 8192 % 50 : r / 8192 % 200),
                    .color = forms[s % 15][0],
                    .depth = forms[s % 15][1],
                    .filter = (uint8_t)(r >> 32 & 1 ? 5 : (r >> 33) % 5),
                    .content = (unsigned)(s >> 8) % STREAM_CONTENTS,
                    .chunk = (s >> 16) % 3 ? 1 << 20 : 1 + (size_t)(s >> 20) % 300};
    spec.kind = stream_kind(state);
    spec.colors = spec.depth > 8 ? 0 : 1u << spec.depth;
    if (s >> 60 == 0 && spec.colors > 1)
        spec.colors--;
    spec.key = (s >> 56 & 15) == 0 && spec.color <= 3;
    if ((s >> 48 & 63) == 0)
        spec.filter = 6;
    return spec;
}

#endif
