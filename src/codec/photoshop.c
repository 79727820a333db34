/* SPDX-License-Identifier: MIT */
/* photoshop.c: walks through the list of image resources, one of which may hold IPTC data. */
#include "codec/photoshop.h"

#include "base/byteswap.h"

#include <stdlib.h>
#include <string.h>

enum { RESOURCE_HEAD = 6, RESOURCE_IPTC = 0x0404, THUMBNAIL_BGR = 1033, THUMBNAIL = 1036 };

bool photoshop_is_list(const uint8_t *data, size_t bytes)
{
    return bytes >= 4 && memcmp(data, "8BIM", 4) == 0;
}

static size_t even(size_t n)
{
    return n + (n & 1);
}

typedef struct Resource {
    unsigned number;
    size_t before, n; /* bytes before its data, of these */
    size_t bytes;     /* all, with padding, which the last resource may lack */
} Resource;

/* Reads the resource at `at`: signature, number, name with its length, size, data, padding. Returns
 * false if it is damaged. */
static bool read_resource(const uint8_t *data, size_t bytes, size_t at, Resource *out)
{
    if (bytes - at < RESOURCE_HEAD + 1)
        return false;
    const uint8_t *const head = data + at;
    const size_t name = even(1 + (size_t)head[RESOURCE_HEAD]);
    if (bytes - at < RESOURCE_HEAD + name + 4)
        return false;
    const size_t n = (size_t)load_number(head + RESOURCE_HEAD + name, 4, true);
    const size_t before = RESOURCE_HEAD + name + 4;
    if (n > bytes - at - before)
        return false;
    *out = (Resource){.number = (unsigned)load_number(head + 4, 2, true),
                      .before = before,
                      .n = n,
                      .bytes = before + even(n) < bytes - at ? before + even(n) : bytes - at};
    return true;
}

/* ---- IPTC data ---- */

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

/* Finds IPTC data in bytes that are IPTC data or resources. *n becomes their length without
 * padding. Returns false if there are none. */
static bool iptc_find(const uint8_t *data, size_t bytes, const uint8_t **iptc, size_t *n)
{
    Resource r;
    if (bytes > 0 && data[0] == IPTC_MARKER) {
        *iptc = data;
        *n = without_padding(data, bytes);
        return *n > 0;
    }
    for (size_t at = 0; photoshop_is_list(data + at, bytes - at); at += r.bytes) {
        if (!read_resource(data, bytes, at, &r))
            return false;
        *iptc = data + at + r.before;
        if (r.number == RESOURCE_IPTC && r.n > 0 && **iptc == IPTC_MARKER) {
            *n = without_padding(*iptc, r.n);
            return *n > 0;
        }
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

/* ---- Lists ---- */

static bool is_thumbnail(unsigned number)
{
    return number == THUMBNAIL || number == THUMBNAIL_BGR;
}

/* Moves the resources that are wanted to the front. Returns their bytes; *damaged_at: where they
 * end. */
static size_t keep(uint8_t *data, size_t bytes, bool iptc_goes, size_t *damaged_at)
{
    size_t at = 0, to = 0;
    Resource r;
    for (; at < bytes && read_resource(data, bytes, at, &r); at += r.bytes) {
        const uint8_t *iptc;
        size_t n;
        if (is_thumbnail(r.number) || (iptc_goes && iptc_find(data + at, r.bytes, &iptc, &n)))
            continue;
        memmove(data + to, data + at, r.bytes);
        to += r.bytes;
    }
    *damaged_at = at;
    return to;
}

size_t photoshop_remove_thumbnails(uint8_t *data, size_t bytes)
{
    size_t at;
    const size_t to = keep(data, bytes, false, &at);
    memmove(data + to, data + at, bytes - at); /* damaged: as it is */
    return to + bytes - at;
}

static bool has_thumbnail(const uint8_t *data, size_t bytes)
{
    Resource r;
    for (size_t at = 0; at < bytes && read_resource(data, bytes, at, &r); at += r.bytes)
        if (is_thumbnail(r.number))
            return true;
    return false;
}

/* Whether two lists are the same, but for zeros that fill a field of numbers up. */
static bool is_same_list(const MetadataItem *a, const MetadataItem *b)
{
    const MetadataItem *const longer = a->bytes > b->bytes ? a : b;
    const size_t n = a->bytes < b->bytes ? a->bytes : b->bytes;
    for (size_t i = n; i < longer->bytes; i++)
        if (longer->data[i] != 0)
            return false;
    return memcmp(a->data, b->data, n) == 0;
}

/* Adds a list, once if another part of the file has the same. name: of what it lists. */
static ImgstatResult add_list(const MetadataItem *list, const char *name, Metadata *out,
                              Warnings *warnings, ImgstatError *err)
{
    for (size_t i = 0; i < out->n; i++)
        if (out->item[i].kind == list->kind && !is_same_list(&out->item[i], list))
            warnings_report(warnings, "has two lists of %s; one is left out", name);
    return metadata_add(out, list, err);
}

ImgstatResult photoshop_read(uint8_t *data, size_t bytes, Metadata *out, Warnings *warnings,
                             ImgstatError *err)
{
    const uint8_t *iptc;
    size_t n = 0, end;
    if (iptc_find(data, bytes, &iptc, &n)) {
        const MetadataItem item = {
            .kind = METADATA_IPTC, .data = (uint8_t *)(uintptr_t)iptc, .bytes = n};
        IMGSTAT_TRY(add_list(&item, "IPTC's data sets", out, warnings, err));
    }
    if (!photoshop_is_list(data, bytes))
        return IMGSTAT_OK;
    if (has_thumbnail(data, bytes))
        warnings_report(warnings, "its Photoshop thumbnail is left out: it shows the old contrast");
    const MetadataItem others = {
        .kind = METADATA_PHOTOSHOP, .data = data, .bytes = keep(data, bytes, true, &end)};
    if (end < bytes)
        warnings_report(warnings,
                        "its Photoshop image resources are damaged and left out from "
                        "byte %zu of %zu on",
                        end, bytes);
    if (others.bytes == 0)
        return IMGSTAT_OK;
    return add_list(&others, "Photoshop's image resources", out, warnings, err);
}
