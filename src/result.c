/* SPDX-License-Identifier: MIT */
/* result.c: codes to words; sentences that are safe to print whatever names are in them. */
#define _GNU_SOURCE
#include "result.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *imgstat_result_name(ImgstatResult code)
{
    switch (code) {
    case IMGSTAT_OK:
        return "ok";
    case IMGSTAT_ERR_ARG:
        return "argument";
    case IMGSTAT_ERR_MEMORY:
        return "memory";
    case IMGSTAT_ERR_IO:
        return "io";
    case IMGSTAT_ERR_FORMAT:
        return "format";
    case IMGSTAT_ERR_TRUNCATED:
        return "truncated";
    case IMGSTAT_ERR_UNSUPPORTED:
        return "unsupported";
    case IMGSTAT_ERR_LIMIT:
        return "limit";
    case IMGSTAT_ERR_DEVICE:
        return "device";
    case IMGSTAT_ERR_CANCELLED:
        return "cancelled";
    }
    return "unknown";
}

/* The code point at text and its length in bytes; 0 where the bytes are not UTF-8 (overlong forms,
 * surrogates and values past U+10FFFF included). text ends with NUL, which continues no character.
 */
static size_t decode(const unsigned char *text, uint32_t *point)
{
    static const uint32_t smallest[5] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t n = text[0] < 0x80   ? 1
                     : text[0] < 0xC2 ? 0
                     : text[0] < 0xE0 ? 2
                     : text[0] < 0xF0 ? 3
                     : text[0] < 0xF5 ? 4
                                      : 0;
    if (n <= 1) {
        *point = text[0];
        return n;
    }
    uint32_t value = text[0] & (0x7Fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((text[i] & 0xC0) != 0x80)
            return 0;
        value = value << 6 | (text[i] & 0x3Fu);
    }
    *point = value;
    return value < smallest[n] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF) ? 0 : n;
}

bool utf8_is_valid(const char *text)
{
    uint32_t point;
    const unsigned char *at = (const unsigned char *)text;
    for (size_t n = 1; *at && n > 0; at += n)
        n = decode(at, &point);
    return *at == '\0';
}

/* Characters that move the cursor, colour the terminal or reverse the direction of text. */
static bool is_control(uint32_t point)
{
    return point < 0x20 || (point >= 0x7F && point < 0xA0) ||
           (point >= 0x200E && point <= 0x200F) || (point >= 0x2028 && point <= 0x202E) ||
           (point >= 0x2066 && point <= 0x2069);
}

static void copy_masked(char *to, size_t capacity, const char *from)
{
    const unsigned char *at = (const unsigned char *)from;
    size_t used = 0;
    while (*at) {
        uint32_t point = 0;
        const size_t n = decode(at, &point);
        const void *piece = at;
        size_t bytes = n;
        if (n == 0) {
            piece = "\xEF\xBF\xBD"; /* U+FFFD */
            bytes = 3;
        } else if (is_control(point)) {
            piece = "?";
            bytes = 1;
        }
        if (used + bytes >= capacity)
            break;
        memcpy(to + used, piece, bytes);
        used += bytes;
        at += n ? n : 1;
    }
    to[used] = '\0';
}

ImgstatResult error_set(ImgstatError *err, ImgstatResult code, const char *format, ...)
{
    if (!err)
        return code;
    /* Masking shortens a character to a third at most, so what is cut here would be cut below. */
    char raw[3 * sizeof err->message + 4];
    va_list list;
    va_start(list, format);
    const int n = vsnprintf(raw, sizeof raw, format, list);
    va_end(list);
    if (n < 0)
        raw[0] = '\0';
    err->code = code;
    copy_masked(err->message, sizeof err->message, raw);
    return code;
}

ImgstatResult error_unless_given(bool given, const char *function, ImgstatError *err)
{
    if (given)
        return IMGSTAT_OK;
    return error_set(err, IMGSTAT_ERR_ARG, "%s: an argument is NULL that must not be", function);
}

ImgstatResult error_memory(ImgstatError *err, size_t bytes, const char *what)
{
    return error_set(err, IMGSTAT_ERR_MEMORY, "out of memory for %zu bytes of %s", bytes, what);
}

ImgstatResult error_name(ImgstatError *err, ImgstatResult code, const char *name)
{
    if (code == IMGSTAT_OK || !err)
        return code;
    ImgstatError masked;
    const ImgstatError bare = *err;
    (void)!error_set(&masked, code, "%s", name); /* as it stands in sentences */
    if (strncmp(bare.message, masked.message, strlen(masked.message)) == 0)
        return code;
    return error_set(err, code, "%s: %s", name, bare.message);
}
