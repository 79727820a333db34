/* SPDX-License-Identifier: MIT */
/* error.c: names of codes; sentences that are safe to print whatever names they contain. */
#define _GNU_SOURCE
#include "base/error.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stddef.h>
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

/* A sentence that is too long loses its middle: that is within a name, and the cause follows. */
#define ELLIPSIS "\xE2\x80\xA6"
enum {
    MESSAGE_BYTES = sizeof((ImgstatError *)NULL)->message,
    TAIL_BYTES = MESSAGE_BYTES / 2 - 1,
    HEAD_BYTES = MESSAGE_BYTES - sizeof ELLIPSIS - TAIL_BYTES
};

/* Finds the printable form of the character at `at`. Returns the bytes of the character. */
static size_t printable(const unsigned char *at, bool mask_controls, const void **piece,
                        size_t *bytes)
{
    uint32_t point;
    const size_t n = utf8_decode(at, &point);
    *piece = at;
    *bytes = n;
    if (point == UTF8_INVALID) {
        *piece = UTF8_REPLACEMENT;
        *bytes = strlen(UTF8_REPLACEMENT);
    } else if (mask_controls && utf8_is_control(point)) {
        *piece = "?";
        *bytes = 1;
    }
    return n;
}

/* Masks text and returns the length of the result. to: NULL, or receives the result up to `head`
 * and from `tail` on, with an ellipsis between the two. */
static size_t mask(const char *text, char *to, size_t head, size_t tail)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t length = 0, bytes;
    const void *piece;
    bool left_out = false;
    for (; *at; length += bytes) {
        at += printable(at, true, &piece, &bytes);
        const bool kept = length + bytes <= head || length >= tail;
        if (to && !kept && !left_out)
            to = stpcpy(to, ELLIPSIS);
        left_out = left_out || !kept;
        if (to && kept)
            to = mempcpy(to, piece, bytes);
    }
    if (to)
        *to = '\0';
    return length;
}

size_t imgstat_text_utf8(const char *text, bool mask_controls, char *out, size_t capacity)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t length = 0, end = 0, bytes;
    const void *piece;
    for (; *at; length += bytes) {
        at += printable(at, mask_controls, &piece, &bytes);
        if (end == length && length + bytes < capacity) {
            memcpy(out + length, piece, bytes);
            end += bytes;
        }
    }
    if (capacity > 0)
        out[end] = '\0';
    return length;
}

/* Fills an error with "FILE: SENTENCE", or with the sentence alone where file is NULL. */
static void fill(ImgstatError *err, ImgstatResult code, const char *file, const char *sentence)
{
    char small[2 * MESSAGE_BYTES], *large = NULL; /* where memory has run out, `small` must do */
    const bool cut =
        file && snprintf(small, sizeof small, "%s: %s", file, sentence) >= (int)sizeof small;
    if (cut && asprintf(&large, "%s: %s", file, sentence) < 0)
        large = NULL;
    const char *const text = large ? large : file ? small : sentence;
    const size_t length = mask(text, NULL, 0, 0), all = file ? mask(file, NULL, 0, 0) : 0;
    const size_t name = all < length ? all : length;
    const bool fits = length < MESSAGE_BYTES;
    *err = (ImgstatError){.code = code, .file_bytes = (uint16_t)name};
    (void)mask(text, err->message, fits ? length : HEAD_BYTES, fits ? length : length - TAIL_BYTES);
    if (!fits && name > HEAD_BYTES) { /* the name ends behind the ellipsis */
        const size_t behind = length - name < TAIL_BYTES ? length - name : TAIL_BYTES;
        err->file_bytes = (uint16_t)(strlen(err->message) - behind);
    }
    free(large);
}

static void format_and_fill(ImgstatError *err, ImgstatResult code, const char *file,
                            const char *format, va_list list)
{
    char small[MESSAGE_BYTES], *large = NULL;
    if (!err)
        return;
    va_list again;
    va_copy(again, list);
    const int n = vsnprintf(small, sizeof small, format, list);
    if (n < 0)
        small[0] = '\0';
    if (n >= (int)sizeof small)
        large = malloc((size_t)n + 1); /* without memory for it, the end is cut */
    if (large)
        (void)vsnprintf(large, (size_t)n + 1, format, again);
    va_end(again);
    fill(err, code, file, large ? large : small);
    free(large);
}

ImgstatResult error_set(ImgstatError *err, ImgstatResult code, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    format_and_fill(err, code, NULL, format, list);
    va_end(list);
    return code;
}

ImgstatResult error_file(ImgstatError *err, ImgstatResult code, const char *file,
                         const char *format, ...)
{
    va_list list;
    va_start(list, format);
    format_and_fill(err, code, file, format, list);
    va_end(list);
    return code;
}

ImgstatResult error_of_callback(ImgstatError *err, ImgstatResult code, const char *file,
                                ImgstatError *from, const char *otherwise)
{
    from->message[sizeof from->message - 1] = '\0';
    return error_file(err, code, file, "%s", from->message[0] ? from->message : otherwise);
}

ImgstatResult error_if_null(bool given, const char *function, ImgstatError *err)
{
    if (given)
        return IMGSTAT_OK;
    return error_set(err, IMGSTAT_ERR_ARG, "%s: an argument is NULL that must not be", function);
}

ImgstatResult error_memory(ImgstatError *err, size_t bytes, const char *what)
{
    return error_set(err, IMGSTAT_ERR_MEMORY, "out of memory for %zu bytes of %s", bytes, what);
}

ImgstatResult error_add_file(ImgstatError *err, ImgstatResult code, const char *file)
{
    if (code == IMGSTAT_OK || !err || err->file_bytes > 0)
        return code;
    const ImgstatError bare = *err;
    fill(err, code, file, bare.message);
    return code;
}

ImgstatResult error_add_page(ImgstatError *err, ImgstatResult code, uint32_t page, const char *name)
{
    if (code == IMGSTAT_OK || !err || err->file_bytes == 0 || err->has_page)
        return code;
    const ImgstatError bare = *err;
    const char *sentence = bare.message + bare.file_bytes;
    if (strncmp(sentence, ": ", 2) == 0) /* unless the middle was left out there */
        sentence += 2;
    char file[MESSAGE_BYTES];
    *(char *)mempcpy(file, bare.message, bare.file_bytes) = '\0';
    (void)!error_file(err, code, file, "page %s: %s", name, sentence);
    err->has_page = true;
    err->page = page;
    return code;
}

size_t error_bytes(const ImgstatError *err)
{
    return offsetof(ImgstatError, message) + strlen(err->message) + 1;
}
