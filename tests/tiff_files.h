/* SPDX-License-Identifier: MIT */
/* tiff_files.h: TIFF files of every sample type, layout, compression and byte order, whose strips
 * or tiles hold anything. */
#ifndef IMGSTAT_TESTS_TIFF_FILES_H
#define IMGSTAT_TESTS_TIFF_FILES_H

#include "deflate_streams.h"
#include "lzw_streams.h"

#include <stdio.h>

enum { TIFF_NONE = 1, TIFF_LZW = 5, TIFF_DEFLATE = 8, TIFF_PACKBITS = 32773 };
enum { TIFF_UNSIGNED = 1, TIFF_SIGNED, TIFF_FLOAT };

typedef struct TiffSpec {
    uint32_t width, height;
    uint32_t tile_width, tile_height; /* tile_width 0: strips */
    unsigned samples, bits, format, compression, predictor, content;
    bool planar, big_endian, big;
    bool shared;    /* all tiles are the same bytes of the file */
    unsigned clear; /* codes of LZW up to a clear code */
} TiffSpec;

typedef struct TiffBytes {
    const TiffSpec *spec;
    uint8_t *at;
    size_t n, room;
    size_t data, data_end; /* compressed samples */
} TiffBytes;

static inline uint8_t *tiff_grow(TiffBytes *to, size_t n)
{
    while (to->n + n > to->room) {
        to->room = 2 * to->room + n + 1024;
        to->at = (uint8_t *)realloc(to->at, to->room);
        if (!to->at)
            abort();
    }
    memset(to->at + to->n, 0, n);
    to->n += n;
    return to->at + to->n - n;
}

static inline void tiff_put(TiffBytes *to, uint64_t value, unsigned bytes)
{
    uint8_t *const at = tiff_grow(to, bytes);
    for (unsigned i = 0; i < bytes; i++)
        at[to->spec->big_endian ? bytes - 1 - i : i] = (uint8_t)(value >> 8 * i);
}

static inline void tiff_field(TiffBytes *to, unsigned tag, unsigned type, uint64_t n,
                              uint64_t value)
{
    static const uint8_t sizes[] = {0, 1, 1, 2, 4};
    const unsigned word = to->spec->big ? 8 : 4;
    const unsigned bytes = type < sizeof sizes && n == 1 ? sizes[type] : word;
    tiff_put(to, tag, 2);
    tiff_put(to, type, 2);
    tiff_put(to, n, word);
    tiff_put(to, value, bytes);
    (void)tiff_grow(to, word - bytes);
}

/* Appends a list of n words of `bytes` bytes for a field; returns what stands in the field. */
static inline uint64_t tiff_list(TiffBytes *to, const uint64_t *value, size_t n, unsigned bytes)
{
    const unsigned word = to->spec->big ? 8 : 4;
    if (n * bytes > word) {
        (void)tiff_grow(to, to->n % 2);
        const uint64_t at = to->n;
        for (size_t i = 0; i < n; i++)
            tiff_put(to, value[i], bytes);
        return at;
    }
    uint64_t inside = 0; /* as a word in the file's order */
    for (size_t i = 0; i < n; i++)
        inside |= value[i] << 8 * bytes * (to->spec->big_endian ? word / bytes - 1 - i : i);
    return inside;
}

/* Appends a tile of n bytes as its compression has it. */
static inline void tiff_tile(TiffBytes *to, uint8_t *content, size_t n, size_t row, uint64_t *state)
{
    const TiffSpec *const spec = to->spec;
    uint8_t *coded = content;
    size_t bytes = n;
    if (spec->compression == TIFF_DEFLATE) {
        StreamKind kind = stream_kind(state);
        uint8_t *stream;
        bytes = stream_deflate(content, n, kind, &stream);
        coded = (uint8_t *)malloc(bytes + 6);
        coded[0] = (uint8_t)((kind.window - 8) << 4 | 8);
        coded[1] = (uint8_t)(31 - coded[0] * 256 % 31);
        memcpy(coded + 2, stream, bytes);
        const uLong sum = adler32(adler32(0, NULL, 0), content, (uInt)n);
        for (unsigned i = 0; i < 4; i++)
            coded[2 + bytes + i] = (uint8_t)(sum >> (24 - 8 * i));
        bytes += 6;
        free(stream);
    } else if (spec->compression == TIFF_LZW) {
        coded = (uint8_t *)calloc(1, lzw_room(n, spec->clear));
        bytes = spec->content % 3 == 2 ? lzw_any(n, spec->clear, state, coded)
                                       : lzw_strings(content, n, spec->clear, coded);
    } else if (spec->compression == TIFF_PACKBITS) {
        coded = (uint8_t *)malloc(2 * n);
        bytes = packbits(content, n, row, coded);
    }
    memcpy(tiff_grow(to, bytes), coded, bytes);
    if (coded != content)
        free(coded);
}

/* Makes a file; its bytes are to->at, which the caller frees. */
static inline void tiff_file(const TiffSpec *spec, uint64_t *state, TiffBytes *to)
{
    const uint32_t tile_width = spec->tile_width ? spec->tile_width : spec->width;
    const unsigned planes = spec->planar ? spec->samples : 1;
    const unsigned per_tile = spec->planar ? 1 : spec->samples, word = spec->big ? 8 : 4;
    const size_t row = ((size_t)tile_width * per_tile * spec->bits + 7) / 8;
    const uint32_t across = (spec->width + tile_width - 1) / tile_width;
    const uint32_t down = (spec->height + spec->tile_height - 1) / spec->tile_height;
    const size_t n = (size_t)across * down * planes;
    uint64_t *const offset = (uint64_t *)malloc(n * sizeof *offset);
    uint64_t *const bytes = (uint64_t *)malloc(n * sizeof *bytes);
    uint64_t *const bits = (uint64_t *)malloc(spec->samples * sizeof *bits);
    uint8_t *const content = (uint8_t *)malloc(row * spec->tile_height);
    *to = (TiffBytes){spec, NULL, 0, 0, 0, 0};
    memcpy(tiff_grow(to, 2), spec->big_endian ? "MM" : "II", 2);
    tiff_put(to, spec->big ? 43 : 42, 2);
    if (spec->big) {
        tiff_put(to, 8, 2);
        tiff_put(to, 0, 2);
    }
    const size_t directory_at = to->n;
    (void)tiff_grow(to, word);
    (void)tiff_grow(to, splitmix64(state) % 5);
    to->data = to->n;
    for (size_t i = 0; i < n; i++) {
        const uint32_t left = spec->height - (uint32_t)(i / across % down) * spec->tile_height;
        const bool cut = !spec->tile_width && left < spec->tile_height;
        const size_t tile = row * (cut ? left : spec->tile_height);
        if (spec->shared && i > 0 && !cut) {
            offset[i] = offset[0];
            bytes[i] = bytes[0];
            continue;
        }
        stream_content(content, tile, spec->content, state);
        offset[i] = to->n;
        tiff_tile(to, content, tile, row, state);
        bytes[i] = to->n - offset[i];
    }
    to->data_end = to->n;
    const unsigned long_type = spec->big ? 16 : 4;
    const uint64_t offsets = tiff_list(to, offset, n, word), sizes = tiff_list(to, bytes, n, word);
    for (unsigned i = 0; i < spec->samples; i++)
        bits[i] = spec->bits;
    const uint64_t depths = tiff_list(to, bits, spec->samples, 2);
    for (unsigned i = 0; i < spec->samples; i++)
        bits[i] = spec->format;
    const uint64_t formats = tiff_list(to, bits, spec->samples, 2);
    const unsigned colors = spec->samples >= 3 ? 3 : 1, extra = spec->samples - colors;
    for (unsigned i = 0; i < extra; i++)
        bits[i] = 0;
    const uint64_t extras = tiff_list(to, bits, extra, 2);
    (void)tiff_grow(to, to->n % 2);
    const size_t at = to->n;
    const unsigned fields = 11u + (spec->tile_width > 0) + (extra > 0) + (spec->predictor > 1);
    const bool few = spec->samples == 1;
    tiff_put(to, fields, spec->big ? 8 : 2);
    tiff_field(to, 256, 4, 1, spec->width);
    tiff_field(to, 257, 4, 1, spec->height);
    tiff_field(to, 258, 3, spec->samples, few ? spec->bits : depths);
    tiff_field(to, 259, 3, 1, spec->compression);
    tiff_field(to, 262, 3, 1, colors == 3 ? 2 : 1);
    if (!spec->tile_width)
        tiff_field(to, 273, long_type, n, offsets);
    tiff_field(to, 277, 3, 1, spec->samples);
    if (!spec->tile_width) {
        tiff_field(to, 278, 4, 1, spec->tile_height);
        tiff_field(to, 279, long_type, n, sizes);
    }
    tiff_field(to, 284, 3, 1, spec->planar ? 2 : 1);
    if (spec->predictor > 1)
        tiff_field(to, 317, 3, 1, spec->predictor);
    if (spec->tile_width) {
        tiff_field(to, 322, 4, 1, spec->tile_width);
        tiff_field(to, 323, 4, 1, spec->tile_height);
        tiff_field(to, 324, long_type, n, offsets);
        tiff_field(to, 325, long_type, n, sizes);
    }
    if (extra > 0)
        tiff_field(to, 338, 3, extra, extra == 1 ? 0 : extras);
    tiff_field(to, 339, 3, spec->samples, few ? spec->format : formats);
    (void)tiff_grow(to, word);
    for (unsigned i = 0; i < word; i++)
        to->at[directory_at + (spec->big_endian ? word - 1 - i : i)] = (uint8_t)(at >> 8 * i);
    free(offset);
    free(bytes);
    free(bits);
    free(content);
}

static inline void tiff_name(const TiffSpec *spec, char *to, size_t room)
{
    snprintf(to, room,
             "TIFF %ux%u, %u samples of %u bits, format %u, compression %u, predictor %u, tiles "
             "%ux%u%s%s",
             spec->width, spec->height, spec->samples, spec->bits, spec->format, spec->compression,
             spec->predictor, spec->tile_width, spec->tile_height, spec->planar ? ", planes" : "",
             spec->big_endian ? ", big-endian" : "");
}

/* Some file. */
static inline TiffSpec tiff_spec(uint64_t *state)
{
    static const uint16_t compressions[] = {TIFF_NONE, TIFF_DEFLATE, TIFF_DEFLATE,
                                            TIFF_LZW,  TIFF_LZW,     TIFF_PACKBITS};
    static const uint8_t whole[] = {8, 8, 8, 16, 16, 32, 32, 64};
    static const uint8_t packed[] = {1, 2, 4, 12, 3, 7, 10, 14, 24, 31};
    const uint64_t r = splitmix64(state), q = splitmix64(state);
    TiffSpec spec;
    memset(&spec, 0, sizeof spec);
    spec.width = 1 + (uint32_t)(r % (r / 256 % 4 ? 50 : 400));
    spec.height = 1 + (uint32_t)(r / 1024 % 60);
    spec.samples = r / (1 << 20) % 4 ? 1 + (unsigned)(r / (1 << 22) % 4) : 1;
    if (r / (1 << 24) % 32 == 0)
        spec.samples = 5 + (unsigned)(r / (1 << 29) % 20);
    spec.compression = compressions[q % 6];
    const bool is_packed = q / 8 % 8 == 0;
    spec.bits = is_packed ? packed[q / 64 % 10] : whole[q / 64 % 8];
    spec.format = 1 + (unsigned)(q / 1024 % 3);
    if (spec.format == TIFF_FLOAT && (is_packed || spec.bits == 8))
        spec.format = TIFF_UNSIGNED;
    const bool predicts = spec.compression == TIFF_DEFLATE || spec.compression == TIFF_LZW;
    spec.predictor = !predicts || is_packed                      ? 1
                     : spec.format == TIFF_FLOAT && q / 4096 % 2 ? 3
                                                                 : 1 + (unsigned)(q / 8192 % 2);
    spec.planar = q / 16384 % 4 == 0;
    spec.big_endian = q / 65536 % 3 == 0;
    spec.big = q / (1 << 18) % 4 == 0;
    spec.shared = q / (1 << 20) % 16 == 0;
    spec.content = (unsigned)(q / (1 << 24) % STREAM_CONTENTS);
    spec.clear = q / (1 << 28) % 2 ? LZW_CODES_MOST - 1 : 40 + (unsigned)(q / (1 << 29) % 3000);
    spec.tile_height = 1 + (uint32_t)(splitmix64(state) % spec.height);
    if (q >> 40 & 1) {
        spec.tile_width = 16 * (1 + (uint32_t)((q >> 41) % 8));
        spec.tile_height = 16 * (1 + (uint32_t)((q >> 44) % 4));
    }
    return spec;
}

#endif
