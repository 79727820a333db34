/* SPDX-License-Identifier: MIT */
/* memory_stream.c: a stream into memory. */
#define _GNU_SOURCE /* fopencookie */
#include "memory_stream.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

typedef struct Memory {
    char **text;
    size_t *bytes;
    size_t room; /* of *text */
} Memory;

static ssize_t on_write(void *cookie, const char *from, size_t n)
{
    Memory *const memory = cookie;
    if (memory->room - *memory->bytes <= n) { /* a NUL follows */
        const size_t room = 2 * (*memory->bytes + n) + 64;
        char *const larger = realloc(*memory->text, room);
        if (larger == NULL)
            return 0;
        *memory->text = larger;
        memory->room = room;
    }
    memcpy(*memory->text + *memory->bytes, from, n);
    *memory->bytes += n;
    (*memory->text)[*memory->bytes] = '\0';
    return (ssize_t)n;
}

static int on_close(void *cookie)
{
    free(cookie);
    return 0;
}

FILE *memory_stream_open(char **text, size_t *bytes)
{
    enum { FIRST = 256 };
    const cookie_io_functions_t functions = {.write = on_write, .close = on_close};
    Memory *const memory = text_alloc(sizeof *memory);
    *memory = (Memory){.text = text, .bytes = bytes, .room = FIRST};
    *text = text_alloc(FIRST);
    **text = '\0';
    *bytes = 0;
    FILE *const stream = fopencookie(memory, "w", functions);
    if (stream == NULL)
        text_no_memory();
    return stream;
}

void memory_stream_close(FILE *stream)
{
    const int failed = (fflush(stream) != 0) + (ferror(stream) != 0);
    if (fclose(stream) != 0 || failed != 0)
        text_no_memory();
}
