/* SPDX-License-Identifier: MIT */
/* text_buffer.c: a text that grows. */
#include "base/text_buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void text_add(TextBuffer *text, const char *from, size_t n)
{
    if (text->failed)
        return;
    if (text->room - text->n < n + 1) {
        const size_t room = 2 * (text->n + n + 1) + 64;
        char *const larger = realloc(text->data, room);
        text->failed = !larger;
        if (!larger)
            return;
        text->data = larger;
        text->room = room;
    }
    if (n > 0)
        memcpy(text->data + text->n, from, n);
    text->n += n;
    text->data[text->n] = '\0';
}

void text_print(TextBuffer *text, const char *format, ...)
{
    char line[256]; /* enough for every format in use */
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    text_add(text, line, n > 0 && n < (int)sizeof line ? (size_t)n : 0);
}

void text_plain_number(char *number)
{
    char *const place = number + strspn(number, "0123456789+-e");
    if (*place == '\0')
        return;
    char *const behind = place + strcspn(place, "0123456789");
    memmove(place + 1, behind, strlen(behind) + 1); /* it may have several bytes */
    *place = '.';
}

void text_release(TextBuffer *text)
{
    free(text->data);
    *text = (TextBuffer){.data = NULL};
}
