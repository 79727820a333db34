/* SPDX-License-Identifier: MIT */
/* text_buffer.h: a text that grows. */
#ifndef IMGSTAT_BASE_TEXT_BUFFER_H
#define IMGSTAT_BASE_TEXT_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

/* All zero: empty. Additions do nothing after one that failed. */
typedef struct TextBuffer {
    char *data; /* a NUL follows; NULL where nothing was added */
    size_t n, room;
    bool failed; /* memory ran out */
} TextBuffer;

void text_add(TextBuffer *text, const char *from, size_t n);

__attribute__((format(printf, 2, 3))) void text_print(TextBuffer *text, const char *format, ...);

/* Puts a point in place of that of the locale of the process, in a finite number that printf wrote.
 */
void text_plain_number(char *number);

/* Frees what it holds, not the struct. */
void text_release(TextBuffer *text);

#endif
