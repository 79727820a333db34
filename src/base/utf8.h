/* SPDX-License-Identifier: MIT */
/* utf8.h: decoding and checking UTF-8. */
#ifndef IMGSTAT_BASE_UTF8_H
#define IMGSTAT_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UTF8_INVALID     UINT32_MAX
#define UTF8_REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD, for an invalid piece */

/* Length of the character at s, and its code point; for an invalid piece (overlong forms,
 * surrogates and values past U+10FFFF included) the length of its maximal valid prefix, at least 1,
 * and UTF8_INVALID. s is not empty and ends with NUL, which continues no character. */
size_t utf8_decode(const unsigned char *s, uint32_t *code);
/* Whether the whole text is valid UTF-8. */
bool utf8_is_valid(const char *text);
/* Whether a character moves the cursor, colours the terminal or reverses the direction of text. */
bool utf8_is_control(uint32_t code);

#endif
