/* SPDX-License-Identifier: MIT */
/* utf8.c: decodes characters and finds invalid bytes. */
#include "base/utf8.h"

size_t utf8_decode(const unsigned char *s, uint32_t *code)
{
    const unsigned char first = s[0];
    if (first < 0x80) {
        *code = first;
        return 1;
    }
    *code = UTF8_INVALID;
    if (first < 0xC2 || first > 0xF4)
        return 1;
    const size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    /* The second byte's range excludes overlong forms, surrogates and what is above U+10FFFF. */
    const unsigned char low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    const unsigned char high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (s[1] < low || s[1] > high)
        return 1;
    uint32_t value = first & (0xFFu >> (length + 1));
    value = value << 6 | (s[1] & 0x3Fu);
    for (size_t i = 2; i < length; i++) {
        if ((s[i] & 0xC0) != 0x80)
            return i;
        value = value << 6 | (s[i] & 0x3Fu);
    }
    *code = value;
    return length;
}

bool utf8_is_valid(const char *text)
{
    uint32_t code = 0;
    for (const unsigned char *at = (const unsigned char *)text; *at && code != UTF8_INVALID;)
        at += utf8_decode(at, &code);
    return code != UTF8_INVALID;
}

bool utf8_is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || (code >= 0x200E && code <= 0x200F) ||
           (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}
