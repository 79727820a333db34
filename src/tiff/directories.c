/* SPDX-License-Identifier: MIT */
/* directories.c: walks the chain of directories of a TIFF file, which may be broken or form a loop.
 */
#include "tiff/decoder.h"

#include <stdlib.h>

/* Header and directory as both kinds of file have them. */
typedef struct Kind {
    bool big_endian, big; /* big: BigTIFF, 64-bit offsets */
} Kind;

/* Offsets seen, open addressing; 0 is free, as no directory lies at 0. */
typedef struct OffsetSet {
    uint64_t *slot;
    size_t capacity, n; /* capacity is a power of two, at most half full */
} OffsetSet;

static uint64_t number(const Kind *kind, const uint8_t *at, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value = value << 8 | at[kind->big_endian ? i : bytes - 1 - i];
    return value;
}

static size_t slot_of(const OffsetSet *set, uint64_t offset)
{
    size_t i = (size_t)(offset * 0x9E3779B97F4A7C15u >> 20) & (set->capacity - 1);
    while (set->slot[i] && set->slot[i] != offset)
        i = (i + 1) & (set->capacity - 1);
    return i;
}

static bool set_grow(OffsetSet *set)
{
    OffsetSet larger = {.capacity = set->capacity ? 2 * set->capacity : 16, .n = set->n};
    larger.slot = calloc(larger.capacity, sizeof *larger.slot);
    if (!larger.slot)
        return false;
    for (size_t i = 0; i < set->capacity; i++)
        if (set->slot[i])
            larger.slot[slot_of(&larger, set->slot[i])] = set->slot[i];
    free(set->slot);
    *set = larger;
    return true;
}

/* False if memory runs out; *is_new: whether the offset was not there. */
static bool set_add(OffsetSet *set, uint64_t offset, bool *is_new)
{
    if (2 * (set->n + 1) > set->capacity && !set_grow(set))
        return false;
    const size_t i = slot_of(set, offset);
    *is_new = set->slot[i] == 0;
    set->slot[i] = offset;
    set->n += *is_new;
    return true;
}

static ImgstatResult read_header(const Source *source, Kind *kind, uint64_t *first,
                                 ImgstatError *err)
{
    uint8_t head[16] = {0};
    size_t n = 0;
    IMGSTAT_TRY(source_read(source, 0, head, sizeof head, &n, err));
    kind->big_endian = head[0] == 'M';
    kind->big = number(kind, head + 2, 2) == 43;
    if (n < (kind->big ? 16 : 8))
        return error_file(err, IMGSTAT_ERR_TRUNCATED, source->name,
                          "ends early, inside its header");
    if (kind->big && (number(kind, head + 4, 2) != 8 || number(kind, head + 6, 2) != 0))
        return error_file(err, IMGSTAT_ERR_FORMAT, source->name, "damaged BigTIFF header");
    *first = kind->big ? number(kind, head + 8, 8) : number(kind, head + 4, 4);
    if (*first == 0)
        return error_file(err, IMGSTAT_ERR_FORMAT, source->name, "holds no image");
    return IMGSTAT_OK;
}

/* The offset that follows the directory at `at`; *whole is false where it lies outside the file. A
 * file that ends right behind the entries has no next directory. */
static ImgstatResult next_directory(const Source *source, const Kind *kind, uint64_t at,
                                    uint64_t *next, bool *whole, ImgstatError *err)
{
    const unsigned count_bytes = kind->big ? 8 : 2, entry_bytes = kind->big ? 20 : 12;
    const unsigned offset_bytes = kind->big ? 8 : 4;
    uint8_t bytes[8] = {0};
    size_t n = 0;
    *whole = false;
    *next = 0;
    IMGSTAT_TRY(source_read(source, at, bytes, count_bytes, &n, err));
    if (n < count_bytes)
        return IMGSTAT_OK;
    const uint64_t entries = number(kind, bytes, count_bytes);
    if (entries == 0 || entries > (source->bytes - at - count_bytes) / entry_bytes)
        return IMGSTAT_OK;
    *whole = true;
    IMGSTAT_TRY(source_read(source, at + count_bytes + entries * entry_bytes, bytes, offset_bytes,
                            &n, err));
    if (n == offset_bytes)
        *next = number(kind, bytes, offset_bytes);
    return IMGSTAT_OK;
}

typedef struct PageList {
    uint64_t *at;
    uint32_t n, room;
} PageList;

static bool list_add(PageList *list, uint64_t offset)
{
    if (list->n == list->room) {
        const uint32_t room = list->room ? 2 * list->room : 8;
        uint64_t *const at = realloc(list->at, room * sizeof *at);
        if (!at)
            return false;
        list->at = at;
        list->room = room;
    }
    list->at[list->n++] = offset;
    return true;
}

static ImgstatResult walk(const Source *source, const ImgstatLimits *limits, Warnings *warnings,
                          OffsetSet *seen, PageList *list, ImgstatError *err)
{
    Kind kind = {.big = false};
    uint64_t at = 0;
    IMGSTAT_TRY(read_header(source, &kind, &at, err));
    while (at != 0) {
        bool is_new = false, whole = false;
        uint64_t next = 0;
        if (!set_add(seen, at, &is_new))
            return error_memory(err, 2 * seen->capacity * sizeof *seen->slot, "the list of pages");
        if (!is_new) {
            warnings_report(warnings,
                            "its directories form a loop; each of the %u pages is read once",
                            list->n);
            break;
        }
        IMGSTAT_TRY(next_directory(source, &kind, at, &next, &whole, err));
        if (!whole && list->n == 0)
            return error_file(err, at >= source->bytes ? IMGSTAT_ERR_TRUNCATED : IMGSTAT_ERR_FORMAT,
                              source->name, "its directory does not lie inside the file");
        if (!whole) {
            warnings_report(warnings,
                            "directory %u does not lie inside the file; pages end before it",
                            list->n);
            break;
        }
        if (list->n == limits->max_pages)
            return error_file(err, IMGSTAT_ERR_LIMIT, source->name,
                              "has more pages than the limit of %u", limits->max_pages);
        if (!list_add(list, at))
            return error_memory(err, 2 * (size_t)list->room * sizeof *list->at,
                                "the list of pages");
        at = next;
    }
    return IMGSTAT_OK;
}

ImgstatResult tiff_pages_find(const Source *source, const ImgstatLimits *limits, Warnings *warnings,
                              uint64_t **out, uint32_t *n, ImgstatError *err)
{
    OffsetSet seen = {.slot = NULL};
    PageList list = {.at = NULL};
    const ImgstatResult res = walk(source, limits, warnings, &seen, &list, err);
    free(seen.slot);
    if (res != IMGSTAT_OK) {
        free(list.at);
        list = (PageList){.at = NULL};
    }
    *out = list.at;
    *n = list.n;
    return res;
}
