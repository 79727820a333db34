/* SPDX-License-Identifier: MIT */
/* photoshop.c: walks through the list of image resources. */
#include "codec/photoshop.h"

#include "base/byteswap.h"
#include "codec/iptc.h"

#include <stdlib.h>
#include <string.h>

enum { RESOURCE_HEAD = 6, THUMBNAIL_BGR = 1033, THUMBNAIL = 1036 };

bool photoshop_is_list(const uint8_t *data, size_t bytes)
{
    return bytes >= 4 && memcmp(data, "8BIM", 4) == 0;
}

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
    const size_t n = (size_t)load_number(size, 4, true);
    const size_t before = RESOURCE_HEAD + name + 4;
    *number = (unsigned)load_number(head + 4, 2, true);
    if (n > bytes - at - before)
        return 0;
    return before + even(n) < bytes - at ? before + even(n) : bytes - at;
}

static bool is_thumbnail(unsigned number)
{
    return number == THUMBNAIL || number == THUMBNAIL_BGR;
}

/* Moves the resources that are wanted to the front. Returns their bytes; *damaged_at: where they
 * end. */
static size_t keep(uint8_t *data, size_t bytes, bool iptc_goes, size_t *damaged_at)
{
    size_t at = 0, to = 0;
    for (size_t n; at < bytes; at += n) {
        unsigned number = 0;
        const uint8_t *iptc;
        size_t iptc_bytes;
        n = resource_bytes(data, bytes, at, &number);
        if (n == 0)
            break;
        if (is_thumbnail(number) || (iptc_goes && iptc_find(data + at, n, &iptc, &iptc_bytes)))
            continue;
        memmove(data + to, data + at, n);
        to += n;
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
    for (size_t at = 0, n; at < bytes; at += n) {
        unsigned number = 0;
        n = resource_bytes(data, bytes, at, &number);
        if (n == 0 || is_thumbnail(number))
            return n > 0;
    }
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
