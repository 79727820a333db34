/* SPDX-License-Identifier: MIT */
/* memory_stream.c: a stream into memory. */
#define _GNU_SOURCE /* fopencookie */
#include "text/memory_stream.h"
#include "text/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

typedef struct Memory {
    char **text;
    size_t *bytes;
} Memory;

/* Returns the room of a text of so many bytes, and its NUL: a power of two. */
static size_t room_of(size_t bytes)
{
    size_t room = 256;
    while (room <= bytes)
        room *= 2;
    return room;
}

static ssize_t on_write(void *cookie, const char *from, size_t n)
{
    const Memory *const memory = cookie;
    const size_t room = room_of(*memory->bytes + n);
    if (room > room_of(*memory->bytes)) {
        char *const larger = realloc(*memory->text, room);
        if (larger == NULL)
            return 0;
        *memory->text = larger;
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

FILE *memory_stream_append(char **text, size_t *bytes)
{
    const cookie_io_functions_t functions = {.write = on_write, .close = on_close};
    Memory *const memory = text_alloc(sizeof *memory);
    *memory = (Memory){.text = text, .bytes = bytes};
    if (*text == NULL) {
        *text = text_alloc(room_of(0));
        **text = '\0';
        *bytes = 0;
    }
    FILE *const stream = fopencookie(memory, "w", functions);
    if (stream == NULL)
        text_no_memory();
    return stream;
}

FILE *memory_stream_open(char **text, size_t *bytes)
{
    *text = NULL;
    return memory_stream_append(text, bytes);
}

void memory_stream_close(FILE *stream)
{
    const int failed = (fflush(stream) != 0) + (ferror(stream) != 0);
    if (fclose(stream) != 0 || failed != 0)
        text_no_memory();
}
