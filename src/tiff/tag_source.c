/* SPDX-License-Identifier: MIT */
/* tag_source.c: fields of TIFF structures, read from a file or from memory. */
#include "tiff/tag_source.h"

#include "base/byteswap.h"

#include <stdlib.h>
#include <string.h>
#include <tiffio.h>

/* Bytes of the numbers that a type is made of. */
static unsigned word_bytes(uint16_t type)
{
    static const uint8_t bytes[19] = {0, 1, 1, 2, 4, 4, 1, 1, 2, 4, 4, 4, 8, 4, 0, 0, 8, 8, 8};
    return type < sizeof bytes ? bytes[type] : 0;
}

unsigned tiff_value_bytes(uint16_t type)
{
    return type == TIFF_RATIONAL || type == TIFF_SRATIONAL ? 8 : word_bytes(type);
}

void tiff_swap_values(uint8_t *bytes, size_t n, uint16_t type)
{
    if (word_bytes(type) > 1)
        swap_words(bytes, bytes, n, word_bytes(type));
}

bool tiff_source_read(const TiffTagSource *from, uint64_t at, void *to, size_t bytes)
{
    size_t got = 0;
    if (at > from->bytes || bytes > from->bytes - at)
        return false;
    if (!from->source) {
        memcpy(to, from->memory + at, bytes);
        return true;
    }
    return source_read(from->source, at, to, bytes, &got, NULL) == IMGSTAT_OK && got == bytes;
}

static bool read_header(TiffTagSource *out)
{
    uint8_t head[16] = {0};
    if (!tiff_source_read(out, 0, head, 8))
        return false;
    out->kind.big_endian = head[0] == 'M';
    out->kind.big = load_number(head + 2, 2, out->kind.big_endian) == 43;
    if ((head[0] != 'M' && head[0] != 'I') || head[1] != head[0] ||
        (out->kind.big && !tiff_source_read(out, 0, head, 16)))
        return false;
    out->first = out->kind.big ? load_number(head + 8, 8, out->kind.big_endian)
                               : load_number(head + 4, 4, out->kind.big_endian);
    return true;
}

bool tiff_tag_source(const Source *source, TiffTagSource *out)
{
    *out = (TiffTagSource){.source = source, .bytes = source->bytes};
    return read_header(out);
}

bool tiff_tag_memory(const uint8_t *memory, size_t bytes, TiffTagSource *out)
{
    *out = (TiffTagSource){.memory = memory, .bytes = bytes};
    return read_header(out);
}

ImgstatResult tiff_tag_load(const TiffTagSource *from, uint64_t offset, uint16_t tag,
                            TiffLoaded *out, ImgstatError *err)
{
    const unsigned count_bytes = from->kind.big ? 8 : 2, entry_bytes = from->kind.big ? 20 : 12;
    const unsigned width = from->kind.big ? 8 : 4;
    uint8_t entry[20];
    *out = (TiffLoaded){.data = NULL};
    if (!tiff_source_read(from, offset, entry, count_bytes))
        return IMGSTAT_OK;
    const uint64_t n = load_number(entry, count_bytes, from->kind.big_endian);
    for (uint64_t i = 0; i < n && i < TIFF_MAX_FIELDS; i++) {
        if (!tiff_source_read(from, offset + count_bytes + i * entry_bytes, entry, entry_bytes))
            break;
        if (load_number(entry, 2, from->kind.big_endian) != tag)
            continue;
        out->type = (uint16_t)load_number(entry + 2, 2, from->kind.big_endian);
        const uint64_t count = load_number(entry + 4, width, from->kind.big_endian);
        const unsigned bytes = tiff_value_bytes(out->type);
        if (bytes == 0 || count == 0 || count > TIFF_MEMORY_BYTES / bytes ||
            count > from->bytes / bytes)
            break;
        out->count = (size_t)count;
        out->bytes = out->count * bytes;
        out->data = malloc(out->bytes + 1);
        if (!out->data)
            return error_memory(err, out->bytes, "a TIFF field");
        out->data[out->bytes] = '\0';
        if (out->bytes <= width) {
            memcpy(out->data, entry + 4 + width, out->bytes);
        } else if (!tiff_source_read(from,
                                     load_number(entry + 4 + width, width, from->kind.big_endian),
                                     out->data, out->bytes)) {
            free(out->data);
            out->data = NULL;
            break;
        }
        if (from->kind.big_endian != host_big_endian)
            tiff_swap_values(out->data, out->bytes, out->type);
        break;
    }
    return IMGSTAT_OK;
}
