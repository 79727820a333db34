/* SPDX-License-Identifier: MIT */
/* iptc.c: IPTC data and the resource of Photoshop that holds them. */
#include "codec/iptc.h"

#include "base/byteswap.h"

#include <string.h>

enum { RESOURCE_IPTC = 0x0404 };

/* Cuts off what lies behind the last data set. */
static size_t without_padding(const uint8_t *data, size_t bytes)
{
    enum { SET_HEAD = 5, LONG_BIT = 0x8000 };
    size_t at = 0;
    while (bytes - at >= SET_HEAD && data[at] == IPTC_MARKER) {
        const size_t n = (size_t)load_number(data + at + 3, 2, true);
        if (n & LONG_BIT) /* a size of several bytes: the rest stays as it is */
            return bytes;
        if (n > bytes - at - SET_HEAD)
            return at > 0 ? bytes : 0; /* damaged from its first data set on */
        at += SET_HEAD + n;
    }
    return at;
}

bool iptc_find(const uint8_t *data, size_t bytes, const uint8_t **iptc, size_t *n)
{
    enum { FIXED_BYTES = 7 }; /* signature, id, the length of the name */
    if (bytes > 0 && data[0] == IPTC_MARKER) {
        *iptc = data;
        *n = without_padding(data, bytes);
        return *n > 0;
    }
    for (size_t at = 0; bytes - at > FIXED_BYTES && memcmp(data + at, "8BIM", 4) == 0;) {
        const unsigned id = (unsigned)load_number(data + at + 4, 2, true);
        const size_t name = (data[at + 6] + (size_t)2) & ~(size_t)1, head = 6 + name + 4;
        if (bytes - at < head)
            return false;
        const size_t size = (size_t)load_number(data + at + 6 + name, 4, true);
        if (size > bytes - at - head)
            return false;
        if (id == RESOURCE_IPTC && size > 0 && data[at + head] == IPTC_MARKER) {
            *iptc = data + at + head;
            *n = without_padding(*iptc, size);
            return *n > 0;
        }
        const size_t next = head + size + (size & 1);
        if (next > bytes - at)
            return false;
        at += next;
    }
    return false;
}

void iptc_head_fill(uint8_t head[IPTC_HEAD_BYTES], size_t n)
{
    memcpy(head, "8BIM", 4);
    store_number(head + 4, RESOURCE_IPTC, 2, true);
    store_number(head + 6, 0, 2, true); /* no name */
    store_number(head + 8, n, 4, true);
}
