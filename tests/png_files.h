/* SPDX-License-Identifier: MIT */
/* png_files.h: PNG files of every colour type, depth and filter, interlaced or not, with tRNS or
 * without, whose filtered rows hold anything. */
#ifndef IMGSTAT_TESTS_PNG_FILES_H
#define IMGSTAT_TESTS_PNG_FILES_H

#include "deflate_streams.h"

/* What a file is like; filter 5: any, row by row; 6: there is no such filter. */
typedef struct PngSpec {
    uint32_t width, height;
    uint8_t color, depth; /* as in IHDR */
    uint8_t filter;
    unsigned colors; /* of the palette; tRNS has half of them if `key` */
    bool key;        /* tRNS; of gray and RGB mostly the first pixel */
    bool interlaced;
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

static inline size_t png_row_bytes(const PngSpec *spec, uint32_t width)
{
    static const uint8_t channels[] = {1, 0, 3, 1, 2, 0, 4};
    return ((size_t)width * channels[spec->color] * spec->depth + 7) / 8;
}

/* Makes the filtered rows of a file. */
static inline uint8_t *png_rows(const PngSpec *spec, size_t *n, uint64_t *state)
{
    static const uint8_t passes[][4] = {/* x, y, and steps: of all pixels, then of Adam7 */
                                        {0, 0, 1, 1}, {0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8},
                                        {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
    const size_t first = spec->interlaced ? 1 : 0, end = spec->interlaced ? 8 : 1;
    uint8_t *const rows =
        (uint8_t *)malloc(2 * (8 + png_row_bytes(spec, spec->width)) * ((size_t)spec->height + 8));
    size_t row[8], height[8];
    if (!rows)
        abort();
    *n = 0;
    for (size_t i = first; i < end; i++) {
        const uint8_t *const p = passes[i];
        const uint32_t width = (spec->width + p[2] - 1 - p[0]) / p[2];
        row[i] = 1 + png_row_bytes(spec, width);
        height[i] = width ? (spec->height + p[3] - 1 - p[1]) / p[3] : 0;
        *n += row[i] * height[i];
    }
    stream_content(rows, *n, spec->content, state);
    uint8_t *at = rows;
    for (size_t i = first; i < end; i++)
        for (size_t y = 0; y < height[i]; y++, at += row[i])
            *at = (uint8_t)(spec->filter == 5 ? splitmix64(state) % 5 : spec->filter);
    return rows;
}

/* Makes tRNS of gray or RGB: the first pixel, which no filter changes, or anything. */
static inline size_t png_key(const PngSpec *spec, const uint8_t *rows, uint64_t *state,
                             uint8_t key[6])
{
    const size_t samples = spec->color == 0 ? 1 : 3;
    const uint64_t r = splitmix64(state);
    for (size_t i = 0; i < samples; i++) {
        const unsigned first = spec->depth == 16  ? (unsigned)rows[2 * i + 1] << 8 | rows[2 * i + 2]
                               : spec->depth == 8 ? rows[i + 1]
                                                  : (unsigned)rows[1] >> (8 - spec->depth);
        const unsigned value = r % 8 ? first : (unsigned)(r >> (8 + 16 * i));
        key[2 * i] = (uint8_t)(value >> 8);
        key[2 * i + 1] = (uint8_t)value;
    }
    return 2 * samples;
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
    head[12] = spec->interlaced;
    size_t at = png_chunk(file, sizeof signature, "IHDR", head, sizeof head);
    for (unsigned i = 0; i < 256; i++)
        alpha[i] = colors[3 * i] = colors[3 * i + 1] = colors[3 * i + 2] =
            (uint8_t)splitmix64(state);
    alpha[0] = 0;
    if (spec->color == 3)
        at = png_chunk(file, at, "PLTE", colors, 3 * spec->colors);
    if (spec->key)
        at = png_chunk(file, at, "tRNS", alpha,
                       spec->color == 3 ? (spec->colors + 1) / 2
                                        : png_key(spec, rows, state, alpha));
    for (size_t done = 0; done < bytes + 6; done += spec->chunk)
        at = png_chunk(file, at, "IDAT", whole + done,
                       bytes + 6 - done < spec->chunk ? bytes + 6 - done : spec->chunk);
    at = png_chunk(file, at, "IEND", NULL, 0);
    free(rows);
    free(stream);
    free(whole);
    return at;
}

static const uint8_t png_forms[15][2] = {{0, 1}, {0, 2},  {0, 4},  {0, 8}, {0, 16},
                                         {2, 8}, {2, 16}, {3, 1},  {3, 2}, {3, 4},
                                         {3, 8}, {4, 8},  {4, 16}, {6, 8}, {6, 16}};

/* Any file of few pixels. */
static inline PngSpec png_spec(uint64_t *state)
{
    const uint64_t r = splitmix64(state), s = splitmix64(state);
    PngSpec spec = {.width = 1 + (uint32_t)(r % 7 ? r / 8 % 90 : r / 8 % 700),
                    .height = 1 + (uint32_t)(r / 1024 % 7 ? r / 8192 % 50 : r / 8192 % 200),
                    .color = png_forms[s % 15][0],
                    .depth = png_forms[s % 15][1],
                    .filter = (uint8_t)(r >> 32 & 1 ? 5 : (r >> 33) % 5),
                    .interlaced = r >> 61 == 0,
                    .content = (unsigned)(s >> 8) % STREAM_CONTENTS,
                    .chunk = (s >> 16) % 3 ? 1 << 20 : 1 + (size_t)(s >> 20) % 300};
    spec.kind = stream_kind(state);
    spec.colors = spec.depth > 8 ? 0 : 1u << spec.depth;
    if (s >> 60 == 0 && spec.colors > 1)
        spec.colors--;
    spec.key = (s >> 56 & 7) == 0 && spec.color <= 3;
    if ((s >> 48 & 63) == 0)
        spec.filter = 6;
    return spec;
}

/* Makes file number i: every kind, every size up to 17 x 17. In small ones some passes have no
 * pixels. */
enum { PNG_SIDES = 17, PNG_SMALL = 15 * PNG_SIDES * PNG_SIDES };

static inline PngSpec png_small(size_t i, uint64_t *state)
{
    PngSpec spec = png_spec(state);
    spec.color = png_forms[i % 15][0];
    spec.depth = png_forms[i % 15][1];
    spec.width = (uint32_t)(1 + i / 15 % PNG_SIDES);
    spec.height = (uint32_t)(1 + i / 15 / PNG_SIDES);
    spec.filter = 5;
    spec.colors = spec.depth > 8 ? 0 : 1u << spec.depth;
    spec.key = spec.color <= 3 && splitmix64(state) % 2;
    spec.interlaced = true;
    return spec;
}

#endif
