/* SPDX-License-Identifier: MIT */
/* exif.c: the thumbnail in EXIF data. */
#include "codec/exif.h"

#include "base/byteswap.h"

#include <string.h>

enum {
    HEADER_BYTES = 8,
    ENTRY_BYTES = 12,
    TAG_STRIP_OFFSETS = 273,
    TAG_STRIP_BYTES = 279,
    TAG_JPEG_OFFSET = 513,
    TAG_JPEG_BYTES = 514,
    TYPE_SHORT = 3,
    TYPE_LONG = 4
};

typedef struct Exif {
    const uint8_t *data;
    size_t bytes;
    bool big_endian;
} Exif;

static uint32_t number(const Exif *exif, size_t at, unsigned bytes)
{
    return (uint32_t)load_number(exif->data + at, bytes, exif->big_endian);
}

/* Finds the bytes of a directory, with the offset of the next one. Returns 0 where it is damaged.
 */
static size_t directory_bytes(const Exif *exif, size_t at)
{
    if (at < HEADER_BYTES || at > exif->bytes || exif->bytes - at < 2)
        return 0;
    const size_t n = 2 + ENTRY_BYTES * (size_t)number(exif, at, 2) + 4;
    return n <= exif->bytes - at ? n : 0;
}

/* Finds where the offset of the second directory lies, and that directory. Returns false if there
 * is none. */
static bool find_second(const uint8_t *data, size_t bytes, Exif *exif, size_t *link, size_t *second)
{
    *exif = (Exif){.data = data, .bytes = bytes};
    if (bytes < HEADER_BYTES || (memcmp(data, "II*\0", 4) != 0 && memcmp(data, "MM\0*", 4) != 0))
        return false;
    exif->big_endian = data[0] == 'M';
    const size_t first = number(exif, 4, 4), n = directory_bytes(exif, first);
    *link = first + n - 4;
    *second = n > 0 ? number(exif, *link, 4) : 0;
    return *second > 0;
}

bool exif_has_thumbnail(const uint8_t *data, size_t bytes)
{
    Exif exif;
    size_t link, second;
    return find_second(data, bytes, &exif, &link, &second);
}

/* Returns the value of a field with one number. Returns 0 if there is no such field. */
static size_t value_of(const Exif *exif, size_t directory, uint32_t tag)
{
    const size_t n = number(exif, directory, 2);
    for (size_t i = 0; i < n; i++) {
        const size_t entry = directory + 2 + ENTRY_BYTES * i;
        const uint32_t type = number(exif, entry + 2, 2);
        if (number(exif, entry, 2) == tag && number(exif, entry + 4, 4) == 1)
            return type == TYPE_SHORT  ? number(exif, entry + 8, 2)
                   : type == TYPE_LONG ? number(exif, entry + 8, 4)
                                       : 0;
    }
    return 0;
}

/* Clears n bytes from `at` on, unless they begin before `keep`. *bytes shrinks if they are the
 * last.
 */
static void erase(uint8_t *data, size_t *bytes, size_t keep, size_t at, size_t n)
{
    if (at < keep || at > *bytes || n > *bytes - at)
        return;
    memset(data + at, 0, n);
    if (at + n + 1 >= *bytes) /* with a byte of padding */
        *bytes = at;
}

size_t exif_remove_thumbnail(uint8_t *data, size_t bytes)
{
    Exif exif;
    size_t link, second;
    if (!find_second(data, bytes, &exif, &link, &second))
        return bytes;
    const size_t keep = link + 4, n = directory_bytes(&exif, second);
    if (n > 0) {
        const size_t jpeg = value_of(&exif, second, TAG_JPEG_OFFSET);
        const size_t strip = value_of(&exif, second, TAG_STRIP_OFFSETS);
        const size_t jpeg_bytes = value_of(&exif, second, TAG_JPEG_BYTES);
        const size_t strip_bytes = value_of(&exif, second, TAG_STRIP_BYTES);
        erase(data, &bytes, keep, jpeg, jpeg_bytes);
        erase(data, &bytes, keep, strip, strip_bytes);
        erase(data, &bytes, keep, second, n);
    }
    memset(data + link, 0, 4);
    return bytes;
}
