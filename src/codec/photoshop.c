/* SPDX-License-Identifier: MIT */
/* photoshop.c: walks through the list of image resources. */
#include "codec/photoshop.h"

#include <string.h>

enum { RESOURCE_HEAD = 6, THUMBNAIL_BGR = 1033, THUMBNAIL = 1036 };

static size_t even(size_t n)
{
    return n + (n & 1);
}

/* Returns the bytes of the resource at `at`: signature, number, name with its length, size, data,
 * padding. The last resource may lack the padding. Returns 0 if it is damaged. */
static size_t resource_bytes(const uint8_t *data, size_t bytes, size_t at, unsigned *number)
{
    if (bytes - at < RESOURCE_HEAD + 1)
        return 0;
    const uint8_t *const head = data + at;
    const size_t name = even(1 + (size_t)head[RESOURCE_HEAD]);
    if (bytes - at < RESOURCE_HEAD + name + 4)
        return 0;
    const uint8_t *const size = head + RESOURCE_HEAD + name;
    const size_t n = (size_t)size[0] << 24 | (size_t)size[1] << 16 | (size_t)size[2] << 8 | size[3];
    const size_t before = RESOURCE_HEAD + name + 4;
    *number = (unsigned)(head[4] << 8 | head[5]);
    if (n > bytes - at - before)
        return 0;
    return before + even(n) < bytes - at ? before + even(n) : bytes - at;
}

size_t photoshop_remove_thumbnails(uint8_t *data, size_t bytes)
{
    size_t at = 0, to = 0;
    for (size_t n; at < bytes; at += n) {
        unsigned number = 0;
        n = resource_bytes(data, bytes, at, &number);
        if (n == 0)
            break;
        if (number == THUMBNAIL || number == THUMBNAIL_BGR)
            continue;
        memmove(data + to, data + at, n);
        to += n;
    }
    memmove(data + to, data + at, bytes - at); /* damaged: as it is */
    return to + bytes - at;
}
