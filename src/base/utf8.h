/* SPDX-License-Identifier: MIT */
/* utf8.h: decodes and checks UTF-8. */
#ifndef IMGSTAT_BASE_UTF8_H
#define IMGSTAT_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UTF8_INVALID     UINT32_MAX
#define UTF8_REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD, for invalid bytes */

/* Returns the length of the character at s; *code becomes its code point. Overlong forms,
 * surrogates and values past U+10FFFF are invalid: then *code becomes UTF8_INVALID, and the
 * function returns the length of the longest valid prefix, at least 1. s is not empty and ends with
 * NUL. */
size_t utf8_decode(const unsigned char *s, uint32_t *code);

/* Returns whether the whole text is valid UTF-8. */
bool utf8_is_valid(const char *text);

/* Returns whether a character moves the cursor, colours the terminal or reverses the direction of
 * text. */
bool utf8_is_control(uint32_t code);

#endif
