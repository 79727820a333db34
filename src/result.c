/* SPDX-License-Identifier: MIT */
/* result.c: codes to words; sentences that are safe to print whatever names are in them. */
#define _GNU_SOURCE
#include "result.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Of a sentence that is too long the middle is left out, within a name: the cause stands at its
 * end. */
#define ELLIPSIS "\xE2\x80\xA6"
enum {
    MESSAGE_BYTES = sizeof((ImgstatError *)NULL)->message,
    TAIL_BYTES = MESSAGE_BYTES / 2 - 1,
    HEAD_BYTES = MESSAGE_BYTES - sizeof ELLIPSIS - TAIL_BYTES
};

/* Masks text and returns its length then. Of that text, to (unless NULL) gets what lies before head
 * and from tail on, with an ellipsis for what is between. */
static size_t mask(const char *text, char *to, size_t head, size_t tail)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t length = 0;
    bool left_out = false;
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
        const bool kept = length + bytes <= head || length >= tail;
        if (to && !kept && !left_out)
            to = stpcpy(to, ELLIPSIS);
        left_out = left_out || !kept;
        if (to && kept)
            to = mempcpy(to, piece, bytes);
        length += bytes;
        at += n ? n : 1;
    }
    if (to)
        *to = '\0';
    return length;
}

ImgstatResult error_set(ImgstatError *err, ImgstatResult code, const char *format, ...)
{
    if (!err)
        return code;
    char small[MESSAGE_BYTES], *large = NULL;
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    const int n = vsnprintf(small, sizeof small, format, list);
    if (n < 0)
        small[0] = '\0';
    if (n >= (int)sizeof small)
        large = malloc((size_t)n + 1); /* without memory for it, the end is cut */
    if (large)
        (void)vsnprintf(large, (size_t)n + 1, format, again);
    va_end(again);
    va_end(list);

    const char *const sentence = large ? large : small;
    const size_t length = mask(sentence, NULL, 0, 0);
    err->code = code;
    if (length < MESSAGE_BYTES)
        (void)mask(sentence, err->message, length, length);
    else
        (void)mask(sentence, err->message, HEAD_BYTES, length - TAIL_BYTES);
    free(large);
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
    /* Where one of them was shortened, they have the same head; a character less where one was cut.
     */
    const size_t length = strlen(masked.message), head = HEAD_BYTES - 3;
    if (strncmp(bare.message, masked.message, length < head ? length : head) == 0)
        return code;
    return error_set(err, code, "%s: %s", name, bare.message);
}
