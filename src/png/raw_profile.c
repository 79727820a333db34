/* SPDX-License-Identifier: MIT */
/* raw_profile.c: hexadecimal digits of profiles in texts, as ImageMagick began to write them:
 * "\nIPTC profile\n      44\n3842...\n". ExifTool and exiv2 read and write them as well. */
#include "png/raw_profile.h"

#include "base/compiler.h"
#include "codec/exif.h"
#include "codec/photoshop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

uint8_t *raw_profile_inflate(const uint8_t *from, size_t n, size_t *bytes)
{
    for (size_t room = 16 * n + 4096, last = 0; last < METADATA_BYTES; room *= 4) {
        last = room = room < METADATA_BYTES ? room : METADATA_BYTES;
        uint8_t *const to = malloc(room + 1); /* and a NUL */
        uLongf got = (uLongf)room;
        if (!to)
            return NULL;
        const int result = uncompress(to, &got, from, (uLong)n);
        if (result == Z_OK) {
            *bytes = (size_t)got;
            return to;
        }
        free(to);
        if (result != Z_BUF_ERROR)
            return NULL;
    }
    return NULL;
}

char *png_text_load(const char *type, const uint8_t *data, size_t n, size_t *bytes)
{
    const uint8_t *const end = data + n;
    const uint8_t *at = memchr(data, 0, n);
    bool deflated = type[0] == 'z';
    if (!at || (deflated && end - at < 2) || (type[0] == 'i' && end - at < 3))
        return NULL;
    at += deflated ? 2 : 1; /* behind the keyword, and the method */
    if (type[0] == 'i') {
        deflated = at[0] == 1;
        at += 2;
        for (int i = 0; i < 2 && at; i++) { /* a language, and the keyword in it */
            at = memchr(at, 0, (size_t)(end - at));
            at = at ? at + 1 : NULL;
        }
    }
    if (!at)
        return NULL;
    *bytes = (size_t)(end - at);
    uint8_t *const text = deflated ? raw_profile_inflate(at, *bytes, bytes) : malloc(*bytes + 1);
    if (text && !deflated)
        memcpy(text, at, *bytes);
    if (text)
        text[*bytes] = 0;
    return (char *)text;
}

enum { LINE_BYTES = 36 }; /* that a line of digits stands for */

static int digit_of(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Reads digits. Returns how many bytes they make; 0 if they are damaged. */
static size_t read_digits(const char *text, const char *end, uint8_t *to)
{
    size_t digits = 0;
    for (; text < end; text++) {
        if (strchr(" \r\n", *text) && *text)
            continue;
        const int digit = digit_of(*text);
        if (digit < 0)
            return 0;
        to[digits / 2] = (uint8_t)(digits % 2 ? to[digits / 2] | digit : digit << 4);
        digits++;
    }
    return digits % 2 ? 0 : digits / 2;
}

/* Reads a decimal number behind blanks. Returns what follows; NULL if there is none. */
static const char *read_size(const char *at, const char *end, size_t *size)
{
    enum { MOST = 1 << 30 };
    *size = 0;
    while (at < end && (*at == ' ' || *at == '\n'))
        at++;
    const char *const first = at;
    for (; at < end && *at >= '0' && *at <= '9' && *size < MOST; at++)
        *size = 10 * *size + (size_t)(*at - '0');
    return at > first && at < end && *at == '\n' ? at : NULL;
}

/* Reads the bytes that a text stands for. Returns malloc's, *size of them; NULL: it is damaged, or
 * memory runs out. */
static uint8_t *read_text(const char *text, size_t bytes, size_t *size)
{
    const char *const end = text + bytes;
    const char *at = bytes > 0 && *text == '\n' ? memchr(text + 1, '\n', bytes - 1) : NULL;
    at = at ? read_size(at, end, size) : NULL;
    uint8_t *const data = at ? malloc(bytes / 2 + 1) : NULL;
    if (data && read_digits(at, end, data) == *size)
        return data;
    free(data);
    return NULL;
}

/* Each keyword, and the first line of what ExifTool writes for it. */
static const struct {
    const char *keyword, *name;
} kinds[] = {{"Raw profile type iptc", "IPTC"},
             {"Raw profile type 8bim", "8BIM"},
             {"Raw profile type exif", "EXIF"},
             {"Raw profile type APP1", "EXIF"}};
enum { KIND_IPTC, KIND_8BIM };

static const char exif_head[] = "Exif\0"; /* with its NUL two of them */

static bool is_exif(const uint8_t *data, size_t bytes)
{
    return bytes > sizeof exif_head && memcmp(data, exif_head, sizeof exif_head) == 0;
}

/* Returns which of the kinds a keyword is; ARRAY_LEN(kinds): none. */
static size_t kind_of(const char *keyword)
{
    size_t k = 0;
    while (k < ARRAY_LEN(kinds) && strcmp(keyword, kinds[k].keyword) != 0)
        k++;
    return k;
}

bool raw_profile_is(const char *keyword)
{
    return kind_of(keyword) < ARRAY_LEN(kinds);
}

ImgstatResult raw_profile_read(Metadata *out, const char *text, size_t bytes, Warnings *warnings,
                               ImgstatError *err)
{
    size_t size = 0;
    uint8_t *const data = read_text(text, bytes, &size);
    ImgstatResult res = IMGSTAT_OK;
    if (data && is_exif(data, size))
        res = metadata_add(out,
                           &(MetadataItem){.kind = METADATA_EXIF,
                                           .data = data + sizeof exif_head,
                                           .bytes = size - sizeof exif_head},
                           err);
    else if (data && size > 0 && (data[0] == IPTC_MARKER || photoshop_is_list(data, size)))
        res = photoshop_read(data, size, out, warnings, err);
    free(data);
    return res;
}

/* Makes a whole zTXt chunk of bytes: malloc's, *chunk_bytes; NULL: memory runs out. name: "IPTC".
 */
static uint8_t *make_chunk(const char *keyword, const char *name, const uint8_t *data, size_t size,
                           size_t *chunk_bytes)
{
    static const char digits[] = "0123456789abcdef";
    const size_t room = 64 + 2 * size + size / LINE_BYTES;
    const size_t head = PNG_CHUNK_HEAD + strlen(keyword) + 2; /* its NUL, and the method */
    uLongf packed = compressBound((uLong)room);
    char *const text = malloc(room);
    uint8_t *const chunk = calloc(1, head + packed + PNG_CHUNK_FRAME);
    bool good = text && chunk;
    if (good) {
        size_t n = (size_t)snprintf(text, room, "\n%s profile\n%8zu", name, size);
        for (size_t i = 0; i < size; i++) {
            if (i % LINE_BYTES == 0)
                text[n++] = '\n';
            text[n++] = digits[data[i] >> 4];
            text[n++] = digits[data[i] & 15];
        }
        text[n++] = '\n';
        memcpy(chunk + PNG_CHUNK_HEAD, keyword, strlen(keyword));
        good = compress(chunk + head, &packed, (const Bytef *)text, (uLong)n) == Z_OK;
    }
    free(text);
    if (!good) {
        free(chunk);
        return NULL;
    }
    *chunk_bytes = head + packed + PNG_CHUNK_FRAME - PNG_CHUNK_HEAD;
    png_chunk_frame("zTXt", chunk, *chunk_bytes - PNG_CHUNK_FRAME);
    return chunk;
}

ImgstatResult raw_profile_write(PngSink *sink, const MetadataItem *item, ImgstatError *err)
{
    const bool is_iptc = item->kind == METADATA_IPTC;
    const size_t head = is_iptc ? IPTC_HEAD_BYTES : 0,
                 size = head + item->bytes + (item->bytes & 1);
    const size_t k = is_iptc ? KIND_IPTC : KIND_8BIM;
    uint8_t *const raw = calloc(1, size);
    size_t bytes = 0;
    if (raw && is_iptc)
        iptc_head_fill(raw, item->bytes);
    if (raw)
        memcpy(raw + head, item->data, item->bytes);
    uint8_t *const chunk =
        raw ? make_chunk(kinds[k].keyword, kinds[k].name, raw, size, &bytes) : NULL;
    free(raw);
    if (!chunk)
        return error_memory(err, size, "image resources");
    const ImgstatResult res =
        png_chunk_write(sink, "zTXt", chunk + PNG_CHUNK_HEAD, bytes - PNG_CHUNK_FRAME, err);
    free(chunk);
    return res;
}

/* Removes thumbnails from what a text stands for. Returns how many bytes are left. */
static size_t remove_thumbnails(uint8_t *data, size_t size, const char **removed)
{
    const size_t head = sizeof exif_head;
    size_t left = size;
    if (photoshop_is_list(data, size)) {
        left = photoshop_remove_thumbnails(data, size);
        *removed = left < size ? "Photoshop" : NULL;
    } else if (is_exif(data, size) && exif_has_thumbnail(data + head, size - head)) {
        left = head + exif_remove_thumbnail(data + head, size - head);
        *removed = "EXIF";
    }
    return left;
}

ImgstatResult raw_profile_remove_thumbnails(const char *type, uint8_t **chunk, size_t *bytes,
                                            const char **removed, ImgstatError *err)
{
    const uint8_t *const body = *chunk + PNG_CHUNK_HEAD;
    const size_t n = *bytes - PNG_CHUNK_FRAME;
    size_t size = 0, text_bytes = 0;
    *removed = NULL;
    if (strcmp(type + 1, "EXt") != 0 && strcmp(type + 1, "TXt") != 0)
        return IMGSTAT_OK;
    const size_t k = memchr(body, 0, n) ? kind_of((const char *)body) : ARRAY_LEN(kinds);
    if (k == ARRAY_LEN(kinds))
        return IMGSTAT_OK;
    char *const text = png_text_load(type, body, n, &text_bytes);
    uint8_t *const data = text ? read_text(text, text_bytes, &size) : NULL;
    const size_t left = data ? remove_thumbnails(data, size, removed) : 0;
    ImgstatResult res = IMGSTAT_OK;
    free(text);
    if (*removed) {
        size_t made_bytes = 0;
        uint8_t *const made =
            left > 0 ? make_chunk(kinds[k].keyword, kinds[k].name, data, left, &made_bytes) : NULL;
        if (left > 0 && !made)
            res = error_memory(err, size, "image resources");
        free(*chunk);
        *chunk = made;
        *bytes = made_bytes;
    }
    free(data);
    return res;
}
