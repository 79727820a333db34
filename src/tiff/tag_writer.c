/* SPDX-License-Identifier: MIT */
/* tag_writer.c: directories of an output TIFF, and its header. */
#include "tiff/encoder.h"

#include "base/byteswap.h"

#include <stdlib.h>
#include <string.h>

enum { COPY_BYTES = 1 << 16 };

/* ---- Lists ---- */

TiffTags *tiff_tags_create(void)
{
    return calloc(1, sizeof(TiffTags));
}

void tiff_tags_destroy(TiffTags *tags)
{
    if (!tags)
        return;
    for (size_t i = 0; i < tags->n; i++)
        tiff_tags_destroy(tags->tag[i].sub);
    free(tags->below);
    free(tags->tag);
    free(tags);
}

bool tiff_tags_have(const TiffTags *tags, uint16_t tag)
{
    for (size_t i = 0; i < tags->n; i++)
        if (tags->tag[i].tag == tag)
            return true;
    return false;
}

static ImgstatResult add_tag(TiffTags *tags, const TiffTag *tag, ImgstatError *err)
{
    if (tags->n == tags->room) {
        const size_t room = tags->room ? 2 * tags->room : 32;
        TiffTag *const larger = realloc(tags->tag, room * sizeof *larger);
        if (!larger)
            return error_memory(err, room * sizeof *larger, "TIFF fields");
        tags->tag = larger;
        tags->room = room;
    }
    tags->tag[tags->n++] = *tag;
    return IMGSTAT_OK;
}

static ImgstatResult put(TiffFile *file, uint64_t at, const void *from, size_t bytes,
                         ImgstatError *err)
{
    if (file->output)
        return atomic_file_write(file->output, at, from, bytes, err);
    if (at > TIFF_MEMORY_BYTES || bytes > TIFF_MEMORY_BYTES - at)
        return error_set(err, IMGSTAT_ERR_LIMIT, "TIFF fields of more than %d bytes",
                         TIFF_MEMORY_BYTES);
    if (at + bytes > file->memory_room) {
        const size_t room = 2 * ((size_t)at + bytes);
        uint8_t *const larger = realloc(file->memory, room);
        if (!larger)
            return error_memory(err, room, "TIFF fields");
        memset(larger + file->memory_room, 0, room - file->memory_room);
        file->memory = larger;
        file->memory_room = room;
    }
    memcpy(file->memory + at, from, bytes);
    return IMGSTAT_OK;
}

/* Writes behind everything else, at an even place. */
static ImgstatResult append(TiffFile *file, const void *from, size_t bytes, uint64_t *at,
                            ImgstatError *err)
{
    file->at += file->at & 1;
    *at = file->at;
    file->at += bytes;
    return put(file, *at, from, bytes, err);
}

/* The payload is in the output's byte order. */
static ImgstatResult append_payload(TiffFile *file, const uint8_t *from, TiffTag *tag,
                                    ImgstatError *err)
{
    if (tag->bytes > sizeof tag->value)
        return append(file, from, (size_t)tag->bytes, &tag->at, err);
    memcpy(tag->value, from, (size_t)tag->bytes);
    return IMGSTAT_OK;
}

ImgstatResult tiff_tags_set(TiffFile *file, TiffTags *tags, uint16_t tag, uint16_t type,
                            uint64_t count, const void *values, ImgstatError *err)
{
    TiffTag entry = {
        .tag = tag, .type = type, .count = count, .bytes = count * tiff_value_bytes(type)};
    uint8_t *const copy = malloc((size_t)entry.bytes + 1);
    if (!copy)
        return error_memory(err, (size_t)entry.bytes, "a TIFF field");
    memcpy(copy, values, (size_t)entry.bytes);
    if (file->big_endian != host_big_endian)
        tiff_swap_values(copy, (size_t)entry.bytes, type);
    ImgstatResult res = append_payload(file, copy, &entry, err);
    free(copy);
    if (res == IMGSTAT_OK)
        res = add_tag(tags, &entry, err);
    return res;
}

ImgstatResult tiff_tags_number(TiffFile *file, TiffTags *tags, uint16_t tag, uint16_t type,
                               uint32_t value, ImgstatError *err)
{
    const uint16_t narrow = (uint16_t)value;
    return tiff_tags_set(file, tags, tag, type, 1,
                         type == TIFF_SHORT ? (const void *)&narrow : &value, err);
}

/* ---- Copying ---- */

/* Copies a payload that lies outside its field, block by block. */
static ImgstatResult copy_payload(TiffFile *file, const TiffTagSource *from, uint64_t offset,
                                  TiffTag *tag, bool *whole, ImgstatError *err)
{
    const size_t most = tag->bytes < COPY_BYTES ? (size_t)tag->bytes : COPY_BYTES;
    uint8_t *const block = malloc(most ? most : 1);
    if (!block)
        return error_memory(err, most, "a TIFF field");
    ImgstatResult res = IMGSTAT_OK;
    file->at += file->at & 1;
    tag->at = file->at;
    *whole = true;
    for (uint64_t done = 0; done < tag->bytes && *whole && res == IMGSTAT_OK;) {
        const uint64_t left = tag->bytes - done;
        const size_t n = left < COPY_BYTES ? (size_t)left : COPY_BYTES;
        *whole = tiff_source_read(from, offset + done, block, n);
        if (from->kind.big_endian != file->big_endian)
            tiff_swap_values(block, n, tag->type);
        if (*whole && tag->bytes <= sizeof tag->value)
            memcpy(tag->value, block, n);
        else if (*whole)
            res = put(file, file->at + done, block, n, err);
        done += n;
    }
    if (tag->bytes > sizeof tag->value && *whole)
        file->at += tag->bytes;
    free(block);
    return res;
}

static bool points_to_directory(uint16_t tag, uint16_t type)
{
    return tag == TIFFTAG_EXIFIFD || tag == TIFFTAG_GPSIFD || tag == 40965 /* interoperability */ ||
           tag == 400 /* global parameters of TIFF-FX */ || tag == 33424 /* Kodak's */ ||
           tag == 50933 /* more profiles of DNG */ || type == TIFF_IFD || type == TIFF_IFD8;
}

/* Fields of these directories that say where pixels lie. */
static bool in_sub(const void *context, uint16_t tag)
{
    (void)context;
    return tag != TIFFTAG_SUBIFD && tag != TIFFTAG_JPEGIFOFFSET && tag != TIFFTAG_JPEGIFBYTECOUNT &&
           tag != TIFFTAG_STRIPOFFSETS && tag != TIFFTAG_TILEOFFSETS;
}

static ImgstatResult copy_directory(TiffFile *file, const TiffTagSource *from, uint64_t offset,
                                    bool (*wanted)(const void *, uint16_t), const void *context,
                                    unsigned depth, Warnings *warnings, TiffTags *to,
                                    ImgstatError *err);

static ImgstatResult copy_sub(TiffFile *file, const TiffTagSource *from, uint64_t offset,
                              uint16_t tag, unsigned depth, Warnings *warnings, TiffTags *to,
                              ImgstatError *err)
{
    TiffTags *const sub = tiff_tags_create();
    if (!sub)
        return error_memory(err, sizeof *sub, "TIFF fields");
    const TiffTag entry = {.tag = tag, .type = TIFF_LONG, .count = 1, .bytes = 4, .sub = sub};
    ImgstatResult res =
        copy_directory(file, from, offset, in_sub, NULL, depth + 1, warnings, sub, err);
    if (res == IMGSTAT_OK && sub->n > 0)
        res = add_tag(to, &entry, err);
    else if (res == IMGSTAT_OK)
        warnings_report(warnings, "its field %u is damaged and left out", tag);
    if (res != IMGSTAT_OK || sub->n == 0)
        tiff_tags_destroy(sub);
    return res;
}

/* Makes a number of 64 bits one that a classic TIFF has. Returns false if there is none such, or
 * there are several. */
static bool narrow_number(const TiffFile *file, TiffTag *tag)
{
    if (file->big || (tag->type != TIFF_LONG8 && tag->type != TIFF_SLONG8))
        return true;
    const uint64_t value = load_number(tag->value, 8, file->big_endian);
    if (tag->count != 1 || value > INT32_MAX)
        return false;
    tag->type = tag->type == TIFF_LONG8 ? TIFF_LONG : TIFF_SLONG;
    tag->bytes = 4;
    memset(tag->value, 0, sizeof tag->value);
    store_number(tag->value, value, 4, file->big_endian);
    return true;
}

/* Copies one field. entry: its 12 or 20 bytes. */
static ImgstatResult copy_field(TiffFile *file, const TiffTagSource *from, const uint8_t *entry,
                                unsigned depth, Warnings *warnings, TiffTags *to, ImgstatError *err)
{
    const unsigned width = from->kind.big ? 8 : 4; /* of counts and offsets */
    TiffTag tag = {.tag = (uint16_t)load_number(entry, 2, from->kind.big_endian),
                   .type = (uint16_t)load_number(entry + 2, 2, from->kind.big_endian)};
    const unsigned bytes = tiff_value_bytes(tag.type);
    tag.count = load_number(entry + 4, width, from->kind.big_endian);
    bool whole = bytes > 0 && tag.count > 0 && tag.count <= from->bytes / bytes;
    tag.bytes = whole ? tag.count * bytes : 0;
    if (whole && points_to_directory(tag.tag, tag.type)) {
        if (depth < 3 && tag.count == 1 && bytes >= 4 && bytes <= width && tag.tag != 50933)
            return copy_sub(file, from,
                            load_number(entry + 4 + width, bytes, from->kind.big_endian), tag.tag,
                            depth, warnings, to, err);
        warnings_report(
            warnings, "its field %u, which points to places of the old file, is left out", tag.tag);
        return IMGSTAT_OK;
    }
    /* Many fields may claim the same bytes: the sum is bounded by what honest files hold. */
    file->copied += tag.bytes;
    whole = whole && file->copied <= 16 * from->bytes + ((uint64_t)64 << 20);
    if (whole && tag.bytes <= width) {
        memcpy(tag.value, entry + 4 + width, (size_t)tag.bytes);
        if (from->kind.big_endian != file->big_endian)
            tiff_swap_values(tag.value, (size_t)tag.bytes, tag.type);
    } else if (whole) {
        IMGSTAT_TRY(copy_payload(file, from,
                                 load_number(entry + 4 + width, width, from->kind.big_endian), &tag,
                                 &whole, err));
    }
    if (whole && narrow_number(file, &tag))
        return add_tag(to, &tag, err);
    if (tag.count > 0)
        warnings_report(warnings, "its field %u is damaged and left out", tag.tag);
    return IMGSTAT_OK;
}

static ImgstatResult copy_directory(TiffFile *file, const TiffTagSource *from, uint64_t offset,
                                    bool (*wanted)(const void *, uint16_t), const void *context,
                                    unsigned depth, Warnings *warnings, TiffTags *to,
                                    ImgstatError *err)
{
    const unsigned count_bytes = from->kind.big ? 8 : 2, entry_bytes = from->kind.big ? 20 : 12;
    uint8_t bytes[20];
    if (!tiff_source_read(from, offset, bytes, count_bytes)) {
        warnings_report(warnings, "a directory of metadata lies outside the file and is left out");
        return IMGSTAT_OK;
    }
    const uint64_t n = load_number(bytes, count_bytes, from->kind.big_endian);
    for (uint64_t i = 0; i < n && i < TIFF_MAX_FIELDS; i++) {
        if (!tiff_source_read(from, offset + count_bytes + i * entry_bytes, bytes, entry_bytes)) {
            warnings_report(warnings, "a directory of metadata lies outside the file in part; the "
                                      "rest is left out");
            break;
        }
        const uint16_t tag = (uint16_t)load_number(bytes, 2, from->kind.big_endian);
        if (wanted(context, tag) && !tiff_tags_have(to, tag))
            IMGSTAT_TRY(copy_field(file, from, bytes, depth, warnings, to, err));
    }
    return IMGSTAT_OK;
}

ImgstatResult tiff_tags_copy(TiffFile *file, const TiffTagSource *from, uint64_t offset,
                             bool (*wanted)(const void *context, uint16_t tag), const void *context,
                             Warnings *warnings, TiffTags *to, ImgstatError *err)
{
    return copy_directory(file, from, offset, wanted, context, 0, warnings, to, err);
}

/* ---- Completing the file ---- */

static uint64_t directory_bytes(const TiffTags *tags)
{
    uint64_t bytes = 8 + 8 + 1 + (tags->n_below ? 20 + 8 * (uint64_t)tags->n_below + 1 : 0);
    for (size_t i = 0; i < tags->n; i++)
        bytes += 12 + 8 + 1 + (tags->tag[i].sub ? directory_bytes(tags->tag[i].sub) : 0);
    return bytes;
}

static int by_tag(const void *a, const void *b)
{
    return (int)((const TiffTag *)a)->tag - (int)((const TiffTag *)b)->tag;
}

size_t tiff_directory_bytes(const TiffTags *tags, bool big)
{
    return big ? 8 + tags->n * 20 + 8 : 2 + tags->n * 12 + 4;
}

ImgstatResult tiff_directory_fill(TiffTags *tags, bool big, bool big_endian, TiffPlaceValue place,
                                  void *context, uint8_t **out, ImgstatError *err)
{
    const unsigned width = big ? 8 : 4; /* of counts and offsets */
    const size_t bytes = tiff_directory_bytes(tags, big);
    uint8_t *const table = *out = calloc(1, bytes);
    if (!table)
        return error_memory(err, bytes, "a TIFF directory");
    if (tags->n > 0)
        qsort(tags->tag, tags->n, sizeof *tags->tag, by_tag);
    store_number(table, tags->n, big ? 8 : 2, big_endian);
    uint8_t *entry = table + (big ? 8 : 2);
    for (size_t i = 0; i < tags->n; i++, entry += 4 + 2 * width) {
        TiffTag *const tag = &tags->tag[i];
        IMGSTAT_TRY(place(context, tag, entry + 4 + width, err));
        if (tag->sub && big)
            tag->type = TIFF_LONG8;
        store_number(entry, tag->tag, 2, big_endian);
        store_number(entry + 2, tag->type, 2, big_endian);
        store_number(entry + 4, tag->count, width, big_endian);
    }
    return IMGSTAT_OK;
}

static ImgstatResult write_directory(TiffFile *file, TiffTags *tags, uint64_t *at, uint64_t *link,
                                     ImgstatError *err);

/* TiffPlaceValue: values lie in front of the directory. */
static ImgstatResult put_value(void *context, TiffTag *tag, uint8_t *to, ImgstatError *err)
{
    TiffFile *const file = context;
    const unsigned width = file->big ? 8 : 4;
    uint64_t at = tag->at, link;
    if (!tag->sub && tag->bytes <= width) {
        memcpy(to, tag->value, (size_t)tag->bytes);
        return IMGSTAT_OK;
    }
    if (tag->sub)
        IMGSTAT_TRY(write_directory(file, tag->sub, &at, &link, err));
    else if (tag->bytes <= sizeof tag->value)
        IMGSTAT_TRY(append(file, tag->value, (size_t)tag->bytes, &at, err));
    store_number(to, at, width, file->big_endian);
    return IMGSTAT_OK;
}

/* Writes a directory, those it points to first. *at: where it lies; *link: where the offset of the
 * next one belongs. */
static ImgstatResult write_directory(TiffFile *file, TiffTags *tags, uint64_t *at, uint64_t *link,
                                     ImgstatError *err)
{
    const size_t bytes = tiff_directory_bytes(tags, file->big);
    uint8_t *table = NULL;
    ImgstatResult res =
        tiff_directory_fill(tags, file->big, file->big_endian, put_value, file, &table, err);
    if (res == IMGSTAT_OK)
        res = append(file, table, bytes, at, err);
    *link = *at + bytes - (file->big ? 8 : 4);
    free(table);
    return res;
}

unsigned tiff_header_fill(uint8_t head[TIFF_HEADER_BYTES], bool big_endian, bool big)
{
    memset(head, 0, TIFF_HEADER_BYTES);
    head[0] = head[1] = big_endian ? 'M' : 'I';
    store_number(head + 2, big ? 43 : 42, 2, big_endian);
    if (big)
        store_number(head + 4, 8, 2, big_endian);
    return big ? 8 : 4;
}

/* Adds the field with the places of a page's SubIFDs, which are written. */
static ImgstatResult set_below(TiffFile *file, TiffTags *tags, ImgstatError *err)
{
    if (tags->n_below == 0)
        return IMGSTAT_OK;
    if (file->big)
        return tiff_tags_set(file, tags, TIFFTAG_SUBIFD, TIFF_IFD8, tags->n_below, tags->below,
                             err);
    uint32_t *const narrow = malloc(tags->n_below * sizeof *narrow);
    if (!narrow)
        return error_memory(err, tags->n_below * sizeof *narrow, "places of SubIFDs");
    for (size_t i = 0; i < tags->n_below; i++)
        narrow[i] = (uint32_t)tags->below[i];
    const ImgstatResult res =
        tiff_tags_set(file, tags, TIFFTAG_SUBIFD, TIFF_IFD, tags->n_below, narrow, err);
    free(narrow);
    return res;
}

/* Writes the directory of a page that lies in another one, whose list of places it enters: from the
 * end, as pages come last first. */
static ImgstatResult write_below(TiffFile *file, TiffTags *tags, ImgstatError *err)
{
    TiffTags *const parent = tags->parent;
    uint64_t link;
    if (!parent->below)
        parent->below = calloc(parent->n_below, sizeof *parent->below);
    if (!parent->below)
        return error_memory(err, parent->n_below * sizeof *parent->below, "places of SubIFDs");
    IMGSTAT_TRY(set_below(file, tags, err));
    const size_t place = parent->n_below - ++parent->n_written;
    return write_directory(file, tags, &parent->below[place], &link, err);
}

uint64_t tiff_file_end(const TiffFile *file)
{
    uint64_t end = file->at;
    for (size_t i = 0; i < file->n_pages; i++)
        end += directory_bytes(file->pages[i]);
    return end;
}

ImgstatResult tiff_tags_finish(TiffFile *file, ImgstatError *err)
{
    uint8_t head[TIFF_HEADER_BYTES];
    if (tiff_file_end(file) > UINT32_MAX)
        file->big = true;
    uint64_t link = tiff_header_fill(head, file->big_endian, file->big);
    IMGSTAT_TRY(put(file, 0, head, sizeof head, err));
    for (size_t i = file->n_pages; i-- > 0;)
        if (file->pages[i]->parent)
            IMGSTAT_TRY(write_below(file, file->pages[i], err));
    for (size_t i = 0; i < file->n_pages; i++) {
        TiffTags *const tags = file->pages[i];
        uint64_t at = 0, next_link = 0;
        uint8_t offset[8];
        if (tags->parent)
            continue;
        IMGSTAT_TRY(set_below(file, tags, err));
        IMGSTAT_TRY(write_directory(file, tags, &at, &next_link, err));
        store_number(offset, at, file->big ? 8 : 4, file->big_endian);
        IMGSTAT_TRY(put(file, link, offset, file->big ? 8 : 4, err));
        link = next_link;
    }
    return IMGSTAT_OK;
}

void tiff_file_release(TiffFile *file)
{
    for (size_t i = 0; i < file->n_pages; i++)
        tiff_tags_destroy(file->pages[i]);
    free(file->pages);
    file->pages = NULL;
    file->n_pages = file->room = 0;
}
