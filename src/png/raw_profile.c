/* SPDX-License-Identifier: MIT */
/* raw_profile.c: hexadecimal digits of profiles in texts, as ImageMagick began to write them:
 * "\nIPTC profile\n      44\n3842...\n". ExifTool and exiv2 read and write them as well. */
#include "png/raw_profile.h"

#include "base/compiler.h"
#include "codec/iptc.h"
#include "codec/photoshop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

uint8_t *raw_profile_inflate(const uint8_t *from, size_t n, size_t *bytes)
{
    enum { MAX_INFLATED = 64 << 20 };
    for (size_t room = 16 * n + 4096; room <= MAX_INFLATED; room *= 4) {
        uint8_t *const to = malloc(room);
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

ImgstatResult raw_profile_read(Metadata *out, const char *text, size_t bytes, ImgstatError *err)
{
    size_t size = 0, n = 0;
    const uint8_t *iptc;
    uint8_t *const data = read_text(text, bytes, &size);
    ImgstatResult res = IMGSTAT_OK;
    if (data && iptc_find(data, size, &iptc, &n))
        res = metadata_add(
            out,
            &(MetadataItem){.kind = METADATA_IPTC, .data = (uint8_t *)(uintptr_t)iptc, .bytes = n},
            err);
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
    const size_t size = IPTC_HEAD_BYTES + item->bytes + (item->bytes & 1);
    uint8_t *const raw = calloc(1, size);
    size_t bytes = 0;
    if (raw) {
        iptc_head_fill(raw, item->bytes);
        memcpy(raw + IPTC_HEAD_BYTES, item->data, item->bytes);
    }
    uint8_t *const chunk = raw ? make_chunk(RAW_PROFILE_IPTC, "IPTC", raw, size, &bytes) : NULL;
    free(raw);
    if (!chunk)
        return error_memory(err, size, "IPTC data");
    const ImgstatResult res =
        png_chunk_write(sink, "zTXt", chunk + PNG_CHUNK_HEAD, bytes - PNG_CHUNK_FRAME, err);
    free(chunk);
    return res;
}

ImgstatResult raw_profile_remove_thumbnails(const char *type, uint8_t **chunk, size_t *bytes,
                                            bool *removed, ImgstatError *err)
{
    static const struct {
        const char *keyword, *name;
    } kinds[] = {{RAW_PROFILE_IPTC, "IPTC"}, {"Raw profile type 8bim", "8BIM"}};
    const char *const keyword = (const char *)*chunk + PNG_CHUNK_HEAD;
    const size_t n = *bytes - PNG_CHUNK_FRAME;
    const bool deflated = strcmp(type, "zTXt") == 0;
    size_t k = 0, size = 0, text_bytes = 0;
    *removed = false;
    while (k < ARRAY_LEN(kinds) &&
           (n < strlen(kinds[k].keyword) + 2 ||
            memcmp(keyword, kinds[k].keyword, strlen(kinds[k].keyword) + 1)))
        k++;
    if (k == ARRAY_LEN(kinds) || (!deflated && strcmp(type, "tEXt") != 0))
        return IMGSTAT_OK;
    const size_t head = strlen(kinds[k].keyword) + 1 + deflated;
    uint8_t *const inflated =
        deflated ? raw_profile_inflate((const uint8_t *)keyword + head, n - head, &text_bytes)
                 : NULL;
    const char *const text = deflated ? (const char *)inflated : keyword + head;
    uint8_t *const data = text ? read_text(text, deflated ? text_bytes : n - head, &size) : NULL;
    free(inflated);
    const size_t left = data && size >= 4 && memcmp(data, "8BIM", 4) == 0
                            ? photoshop_remove_thumbnails(data, size)
                            : size;
    ImgstatResult res = IMGSTAT_OK;
    if (left < size) {
        size_t made_bytes = 0;
        uint8_t *const made =
            left > 0 ? make_chunk(kinds[k].keyword, kinds[k].name, data, left, &made_bytes) : NULL;
        if (left > 0 && !made)
            res = error_memory(err, size, "image resources");
        free(*chunk);
        *chunk = made;
        *bytes = made_bytes;
        *removed = true;
    }
    free(data);
    return res;
}
