/* SPDX-License-Identifier: MIT */
/* raw_profile.c: hexadecimal digits of profiles in texts, as ImageMagick began to write them:
 * "\nIPTC profile\n      44\n3842...\n". ExifTool and exiv2 read and write them as well. */
#include "png/raw_profile.h"

#include "codec/iptc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

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

ImgstatResult raw_profile_read(Metadata *out, const char *text, size_t bytes, ImgstatError *err)
{
    const char *const end = text + bytes;
    size_t size = 0, n = 0;
    const char *at = bytes > 0 && *text == '\n' ? memchr(text + 1, '\n', bytes - 1) : NULL;
    at = at ? read_size(at, end, &size) : NULL;
    if (!at)
        return IMGSTAT_OK;
    uint8_t *const data = malloc(bytes / 2 + 1);
    const uint8_t *iptc;
    if (!data)
        return error_memory(err, bytes / 2 + 1, "IPTC data");
    ImgstatResult res = IMGSTAT_OK;
    if (read_digits(at, end, data) == size && iptc_find(data, size, &iptc, &n))
        res = metadata_add(
            out,
            &(MetadataItem){.kind = METADATA_IPTC, .data = (uint8_t *)(uintptr_t)iptc, .bytes = n},
            err);
    free(data);
    return res;
}

ImgstatResult raw_profile_write(PngSink *sink, const MetadataItem *item, ImgstatError *err)
{
    static const char digits[] = "0123456789abcdef", keyword[] = RAW_PROFILE_IPTC;
    const size_t size = IPTC_HEAD_BYTES + item->bytes + (item->bytes & 1);
    const size_t room = 64 + 2 * size + size / LINE_BYTES;
    const size_t head = sizeof keyword + 1; /* with its NUL, and the method */
    uLongf packed = compressBound((uLong)room);
    uint8_t *const raw = calloc(1, size);
    char *const text = malloc(room);
    uint8_t *const chunk = calloc(1, head + packed);
    ImgstatResult res = raw && text && chunk ? IMGSTAT_OK : error_memory(err, room, "IPTC data");
    if (res == IMGSTAT_OK) {
        iptc_head_fill(raw, item->bytes);
        memcpy(raw + IPTC_HEAD_BYTES, item->data, item->bytes);
        size_t n = (size_t)snprintf(text, room, "\nIPTC profile\n%8zu", size);
        for (size_t i = 0; i < size; i++) {
            if (i % LINE_BYTES == 0)
                text[n++] = '\n';
            text[n++] = digits[raw[i] >> 4];
            text[n++] = digits[raw[i] & 15];
        }
        text[n++] = '\n';
        memcpy(chunk, keyword, sizeof keyword);
        if (compress(chunk + head, &packed, (const Bytef *)text, (uLong)n) == Z_OK)
            res = png_chunk_write(sink, "zTXt", chunk, head + packed, err);
    }
    free(raw);
    free(text);
    free(chunk);
    return res;
}
