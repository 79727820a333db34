/* SPDX-License-Identifier: MIT */
/* directories.c: finds all directories of a TIFF file, those of the chain and those of SubIFDs,
 * which may be broken or form a loop. */
#include "tiff/directories.h"

#include "base/byteswap.h"
#include "tiff/directory.h"
#include "tiff/stack_axes.h"

#include <tiffio.h>

#include <stdlib.h>

/* Offsets seen, open addressing; 0 is free, as no directory lies at 0. */
typedef struct OffsetSet {
    uint64_t *slot;
    size_t capacity, n; /* capacity is a power of two, at most half full */
} OffsetSet;

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

static ImgstatResult read_header(const Source *source, TiffKind *kind, uint64_t *first,
                                 ImgstatError *err)
{
    uint8_t head[16] = {0};
    size_t n = 0;
    IMGSTAT_TRY(source_read(source, 0, head, sizeof head, &n, err));
    kind->big_endian = head[0] == 'M';
    kind->big = load_number(head + 2, 2, kind->big_endian) == 43;
    if (n < (kind->big ? 16 : 8))
        return error_file(err, IMGSTAT_ERR_TRUNCATED, source->name,
                          "ends early, inside its header");
    if (kind->big && (load_number(head + 4, 2, kind->big_endian) != 8 ||
                      load_number(head + 6, 2, kind->big_endian) != 0))
        return error_file(err, IMGSTAT_ERR_FORMAT, source->name, "damaged BigTIFF header");
    *first = kind->big ? load_number(head + 8, 8, kind->big_endian)
                       : load_number(head + 4, 4, kind->big_endian);
    if (*first == 0)
        return error_file(err, IMGSTAT_ERR_FORMAT, source->name, "holds no image");
    return IMGSTAT_OK;
}

/* ---- All directories ------------------------------------------------------------------------- */

/* Where a directory leads to. */
typedef struct Links {
    uint64_t next; /* 0: it is the last one */
    TiffField sub; /* names its SubIFDs */
} Links;

typedef struct Walk {
    const Source *source;
    Warnings *warnings;
    uint32_t max_pages;
    bool salvage; /* planes that the file ends before count */
    TiffKind kind;
    OffsetSet seen;
    PageList *list;
    TiffFacts *facts; /* of each page of the list */
    Links *links;     /* likewise */
    uint32_t room;
    TiffDirectory first; /* of the first page */
} Walk;

static bool reserve(Walk *walk)
{
    if (walk->list->n < walk->room)
        return true;
    const uint32_t room = walk->room ? 2 * walk->room : 4;
    TiffFacts *const facts = realloc(walk->facts, room * sizeof *facts);
    walk->facts = facts ? facts : walk->facts;
    Links *const links = realloc(walk->links, room * sizeof *links);
    walk->links = links ? links : walk->links;
    walk->room = facts && links ? room : walk->room;
    return facts && links;
}

static TiffFacts facts_of(const Walk *walk, const TiffDirectory *directory)
{
    uint64_t value[TIFF_FIELD_SUB];
    for (unsigned f = 0; f < TIFF_FIELD_SUB; f++)
        value[f] = tiff_field_value(walk->source, &walk->kind, &directory->field[f], 0);
    const bool old =
        directory->field[TIFF_FIELD_NEW_TYPE].count == 0 && value[TIFF_FIELD_OLD_TYPE] == 2;
    return (TiffFacts){.has_type = directory->field[TIFF_FIELD_NEW_TYPE].count > 0,
                       .is_jpeg = directory->field[TIFF_FIELD_JPEG].count > 0 &&
                                  directory->field[TIFF_FIELD_STRIPS].count == 0 &&
                                  directory->field[TIFF_FIELD_WIDTH].count == 0,
                       .type = old ? FILETYPE_REDUCEDIMAGE : (uint32_t)value[TIFF_FIELD_NEW_TYPE],
                       .bits = (uint16_t)value[TIFF_FIELD_BITS],
                       .samples = (uint16_t)value[TIFF_FIELD_SAMPLES],
                       .format = (uint16_t)(value[TIFF_FIELD_FORMAT] ? value[TIFF_FIELD_FORMAT]
                                                                     : SAMPLEFORMAT_UINT),
                       .photometric = (uint16_t)value[TIFF_FIELD_PHOTOMETRIC]};
}

static uint32_t dimension(const Walk *walk, const TiffField *field)
{
    const uint64_t value = tiff_field_value(walk->source, &walk->kind, field, 0);
    return value <= UINT32_MAX ? (uint32_t)value : 0;
}

static ImgstatResult out_of_memory(const Walk *walk, ImgstatError *err)
{
    return error_memory(err, 2 * walk->list->n * sizeof *walk->facts, "the list of pages");
}

static void report_sub(Walk *walk, uint32_t parent, uint32_t place, const char *what)
{
    char name[PAGE_NAME_BYTES];
    (void)page_list_name(walk->list, parent, name, sizeof name);
    warnings_report(walk->warnings, "SubIFD %u of page %s %s", place, name, what);
}

/* libtiff loads all fields. Those of a sound file do not share its bytes. */
static ImgstatResult check_fields(const Walk *walk, const TiffDirectory *directory,
                                  ImgstatError *err)
{
    enum { SHARED_BYTES = 1 << 20 }; /* damaged fields may lie on others */
    const uint64_t bytes = directory->field_bytes;
    if (bytes <= walk->source->bytes + SHARED_BYTES)
        return IMGSTAT_OK;
    if (bytes == UINT64_MAX)
        return error_file(err, IMGSTAT_ERR_LIMIT, walk->source->name,
                          "directory %u has more than %d fields", walk->list->n, TIFF_MAX_FIELDS);
    return error_file(err, IMGSTAT_ERR_FORMAT, walk->source->name,
                      "the fields of directory %u have %llu bytes, more than the file",
                      walk->list->n, (unsigned long long)bytes);
}

/* libtiff passes over this in silence, and takes samples for what they may not be. */
static void warn_of_fields(const Walk *walk, const TiffDirectory *directory, uint16_t compression)
{
    const TiffField *const field = directory->field;
    const uint64_t predictor =
        tiff_field_value(walk->source, &walk->kind, &field[TIFF_FIELD_PREDICTOR], 0);
    const uint64_t photometric =
        tiff_field_value(walk->source, &walk->kind, &field[TIFF_FIELD_PHOTOMETRIC], 0);
    /* Programs without libtiff undo it, and read other samples. */
    if (predictor > PREDICTOR_NONE &&
        (compression == COMPRESSION_NONE || compression == COMPRESSION_PACKBITS))
        warnings_report(walk->warnings, "its predictor is ignored: samples %s have none",
                        compression == COMPRESSION_NONE ? "without compression" : "in PackBits");
    if (photometric == PHOTOMETRIC_PALETTE && field[TIFF_FIELD_COLORMAP].count == 0)
        warnings_report(walk->warnings, "has a palette image without colours, whose indices are "
                                        "read as gray");
}

/* Adds the directory at `at`. *next: the offset of the one behind it; 0: there is none, or this one
 * does not lie inside the file. */
static ImgstatResult add_directory(Walk *walk, uint64_t at, uint32_t parent, uint32_t place,
                                   uint64_t *next, ImgstatError *err)
{
    PageList *const list = walk->list;
    TiffDirectory directory;
    *next = 0;
    IMGSTAT_TRY(tiff_directory_read(walk->source, &walk->kind, at, &directory, err));
    if (!directory.whole && list->n == 0)
        return error_file(err, directory.empty ? IMGSTAT_ERR_FORMAT : IMGSTAT_ERR_TRUNCATED,
                          walk->source->name,
                          directory.empty ? "its directory is empty"
                                          : "its directory does not lie inside the file");
    if (!directory.whole) {
        if (parent == IMGSTAT_NO_PAGE)
            warnings_report(walk->warnings,
                            "directory %u does not lie inside the file; pages end before it",
                            place);
        else
            report_sub(walk, parent, place, "does not lie inside the file and is left out");
        return IMGSTAT_OK;
    }
    IMGSTAT_TRY(check_fields(walk, &directory, err));
    if (list->n == walk->max_pages)
        return error_file(err, IMGSTAT_ERR_LIMIT, walk->source->name,
                          "has more pages than the limit of %u", walk->max_pages);
    PageEntry *const entry = reserve(walk) ? page_list_add(list, parent, place) : NULL;
    if (!entry)
        return out_of_memory(walk, err);
    if (list->n == 1)
        walk->first = directory;
    entry->at = at;
    entry->field_bytes = directory.field_bytes;
    entry->compression = (uint16_t)tiff_field_value(walk->source, &walk->kind,
                                                    &directory.field[TIFF_FIELD_COMPRESSION], 0);
    warn_of_fields(walk, &directory, entry->compression);
    entry->width = dimension(walk, &directory.field[TIFF_FIELD_WIDTH]);
    entry->height = dimension(walk, &directory.field[TIFF_FIELD_HEIGHT]);
    walk->facts[list->n - 1] = facts_of(walk, &directory);
    walk->links[list->n - 1] =
        (Links){.next = directory.next, .sub = directory.field[TIFF_FIELD_SUB]};
    *next = directory.next;
    return IMGSTAT_OK;
}

static ImgstatResult walk_chain(Walk *walk, uint64_t at, ImgstatError *err)
{
    while (at != 0) {
        bool is_new = false;
        if (!set_add(&walk->seen, at, &is_new))
            return out_of_memory(walk, err);
        if (!is_new) {
            warnings_report(walk->warnings,
                            "its directories form a loop; each of the %u pages is read once",
                            walk->list->n);
            break;
        }
        IMGSTAT_TRY(add_directory(walk, at, IMGSTAT_NO_PAGE, walk->list->n, &at, err));
    }
    return IMGSTAT_OK;
}

/* How deep a page lies in SubIFDs: 0 for one of the chain. */
static unsigned depth_of(const PageList *list, uint32_t page)
{
    unsigned depth = 0;
    for (; list->entry[page].parent != IMGSTAT_NO_PAGE; depth++)
        page = list->entry[page].parent;
    return depth;
}

/* Adds the SubIFDs that a page lists. */
static ImgstatResult walk_listed(Walk *walk, uint32_t parent, const TiffField *field,
                                 uint64_t count, ImgstatError *err)
{
    for (uint64_t k = 0; k < count && k <= walk->max_pages; k++) {
        uint64_t at = tiff_field_value(walk->source, &walk->kind, field, k);
        bool is_new = true;
        if (at == 0) { /* the rest of the list is not there */
            report_sub(walk, parent, (uint32_t)k, "has no place and is left out");
            break;
        }
        if (!set_add(&walk->seen, at, &is_new))
            return out_of_memory(walk, err);
        if (is_new)
            IMGSTAT_TRY(add_directory(walk, at, parent, (uint32_t)k, &at, err));
        else
            report_sub(walk, parent, (uint32_t)k, "is in another place as well, where it counts");
    }
    return IMGSTAT_OK;
}

/* Adds the SubIFDs of a page. Some writers list the first one and chain the others to it, some list
 * all and chain them as well. */
static ImgstatResult walk_below(Walk *walk, uint32_t parent, ImgstatError *err)
{
    enum { MOST_DEPTH = 8 }; /* real files have one, raw files of cameras two */
    const TiffField field = walk->links[parent].sub;
    const uint64_t count = tiff_field_bytes(field.type) >= 4 ? field.count : 0;
    const uint32_t first = walk->list->n;
    if (count > 0 && depth_of(walk->list, parent) == MOST_DEPTH) {
        warnings_report(walk->warnings, "SubIFDs that lie more than %d deep are left out",
                        MOST_DEPTH);
        return IMGSTAT_OK;
    }
    IMGSTAT_TRY(walk_listed(walk, parent, &field, count, err));
    const uint32_t listed = walk->list->n - first;
    uint32_t place = listed ? walk->list->entry[walk->list->n - 1].number + 1 : 0;
    for (uint32_t i = 0; i < listed; i++) {
        uint64_t at = walk->links[first + i].next;
        while (at != 0) {
            bool is_new = true;
            if (!set_add(&walk->seen, at, &is_new))
                return out_of_memory(walk, err);
            if (!is_new)
                break;
            IMGSTAT_TRY(add_directory(walk, at, parent, place++, &at, err));
        }
    }
    return IMGSTAT_OK;
}

/* ---- A stack in one directory ---------------------------------------------------------------- */

/* Returns the bytes of a plane whose strips lie one behind the other, and *first, where they begin;
 * 0: it has none such. */
static uint64_t plane_bytes(const Walk *walk, uint64_t *first)
{
    enum { MOST_STRIPS = 1 << 20 };
    const Source *const source = walk->source;
    const TiffField *const field = walk->first.field;
    const uint64_t most = walk->salvage ? INT64_MAX : source->bytes;
    uint64_t value[TIFF_FIELDS];
    for (unsigned f = 0; f < TIFF_FIELD_TEXT; f++)
        value[f] = tiff_field_value(source, &walk->kind, &field[f], 0);
    const uint64_t samples = value[TIFF_FIELD_SAMPLES] ? value[TIFF_FIELD_SAMPLES] : 1;
    const bool apart = value[TIFF_FIELD_PLANAR] == PLANARCONFIG_SEPARATE;
    const uint64_t bits = value[TIFF_FIELD_BITS] ? value[TIFF_FIELD_BITS] : 1,
                   height = value[TIFF_FIELD_HEIGHT];
    const uint64_t n_apart = apart ? samples : 1;
    if (value[TIFF_FIELD_WIDTH] == 0 || height == 0 || value[TIFF_FIELD_WIDTH] > UINT32_MAX ||
        height > UINT32_MAX || bits > 64 || samples > UINT16_MAX ||
        value[TIFF_FIELD_COMPRESSION] > COMPRESSION_NONE)
        return 0;
    const uint64_t row =
        (value[TIFF_FIELD_WIDTH] * (apart ? 1 : samples) * bits + 7) / 8; /* 32+16+6 bits */
    const uint64_t rows = value[TIFF_FIELD_STRIP_ROWS] > 0 && value[TIFF_FIELD_STRIP_ROWS] < height
                              ? value[TIFF_FIELD_STRIP_ROWS]
                              : height;
    const uint64_t down = (height + rows - 1) / rows;
    *first = value[TIFF_FIELD_STRIPS];
    if (row > most / height || row * height > most / n_apart ||
        down * n_apart != field[TIFF_FIELD_STRIPS].count || down * n_apart > MOST_STRIPS ||
        *first > source->bytes)
        return 0;
    for (uint64_t i = 0; i < down * n_apart; i++) {
        const uint64_t at = *first + i / down * row * height + i % down * row * rows;
        if (tiff_field_value(source, &walk->kind, &field[TIFF_FIELD_STRIPS], i) != at)
            return 0;
    }
    return row * height * n_apart;
}

/* Samples that are not there take time: a small file does not ask for much of it. */
enum { MOST_LOST = 64 }; /* of as many planes, all but one */

/* ImageJ and tifffile write large stacks as one directory with the pixels of all pages behind it,
 * and a text that counts them. So does MetaMorph with all stacks: a field has values for each. */
static ImgstatResult add_planes(Walk *walk, const char *text, ImgstatError *err)
{
    PageList *const list = walk->list;
    uint64_t first = 0;
    const TiffField *const values = &walk->first.field[TIFF_FIELD_METAMORPH];
    const bool metamorph = values->type == TIFF_RATIONAL && values->count > 1;
    const StackPages one = {.n = 1,
                            .samples = walk->facts[0].samples,
                            .width = list->entry[0].width,
                            .height = list->entry[0].height};
    const uint64_t n = metamorph ? values->count : text ? stack_planes_contiguous(text, &one) : 1;
    const char *const what = metamorph ? "field UIC2" : "description";
    if (n <= 1)
        return IMGSTAT_OK;
    const uint64_t bytes = plane_bytes(walk, &first);
    const uint64_t at = list->entry[0].at, most = at > first ? at : walk->source->bytes;
    const bool holds_one = bytes == 0 || (most - first) / bytes < 2;
    const bool is_cut = at < first && most - first != bytes; /* in its first or second plane */
    if (bytes == 0 || (holds_one && !is_cut)) {
        warnings_report(walk->warnings, "its %s counts %llu images, but it holds one", what,
                        (unsigned long long)n);
        return IMGSTAT_OK;
    }
    if (n > walk->max_pages)
        return error_file(err, IMGSTAT_ERR_LIMIT, walk->source->name,
                          "has more pages than the limit of %u", walk->max_pages);
    const uint64_t there = (most - first) / bytes + ((most - first) % bytes > 0);
    if (walk->salvage && n / MOST_LOST > there)
        return error_file(err, IMGSTAT_ERR_LIMIT, walk->source->name,
                          "its %s counts %llu images, of which it holds %llu: more than "
                          "%d of %d are lost",
                          what, (unsigned long long)n, (unsigned long long)there, MOST_LOST - 1,
                          MOST_LOST);
    for (uint32_t plane = 1; plane < n; plane++) {
        PageEntry *const entry = reserve(walk) ? page_list_add(list, IMGSTAT_NO_PAGE, plane) : NULL;
        if (!entry)
            return out_of_memory(walk, err);
        entry->at = list->entry[0].at;
        entry->plane = plane;
        entry->width = list->entry[0].width;
        entry->height = list->entry[0].height;
        walk->facts[plane] = walk->facts[0];
        walk->links[plane] = (Links){.next = 0};
    }
    return IMGSTAT_OK;
}

/* ---- Whether it is whole --------------------------------------------------------------------- */

/* Whether the last strip or tile lies inside the file; one that is nowhere does. */
static bool has_last(const Source *source, const TiffKind *kind, const TiffField *places,
                     const TiffField *sizes)
{
    if (places->count == 0 || sizes->count != places->count)
        return true;
    const uint64_t at = tiff_field_value(source, kind, places, places->count - 1);
    const uint64_t bytes = tiff_field_value(source, kind, sizes, sizes->count - 1);
    return at <= source->bytes && bytes <= source->bytes - at;
}

/* The directory at `at` and those behind it, with `deeper` levels of SubIFDs. left: how many steps
 * may be taken; what is behind them counts as whole. */
static bool are_whole(const Source *source, const TiffKind *kind, uint64_t at, unsigned deeper,
                      uint32_t *left)
{
    TiffDirectory directory = {.next = at};
    while (directory.next >= at && directory.next != 0 && *left > 0) { /* no loop */
        *left -= 1;
        at = directory.next;
        if (tiff_directory_read(source, kind, at, &directory, NULL) != IMGSTAT_OK)
            return true;
        const TiffField *const field = directory.field, *const sub = &field[TIFF_FIELD_SUB];
        if (!directory.whole || directory.end > source->bytes ||
            !has_last(source, kind, &field[TIFF_FIELD_STRIPS], &field[TIFF_FIELD_STRIP_BYTES]) ||
            !has_last(source, kind, &field[TIFF_FIELD_TILES], &field[TIFF_FIELD_TILE_BYTES]))
            return false;
        for (uint64_t k = 0; deeper > 0 && *left > 0 && k < sub->count; k++) {
            const uint64_t below = tiff_field_value(source, kind, sub, k);
            *left -= 1;
            if (below > 0 && !are_whole(source, kind, below, deeper - 1, left))
                return false;
        }
        at++;
    }
    return true;
}

bool tiff_is_whole(const Source *source)
{
    TiffKind kind;
    uint64_t first = 0;
    uint32_t left = 1 << 18; /* a second of reading; outputs of imgstat have far fewer */
    return read_header(source, &kind, &first, NULL) == IMGSTAT_OK &&
           are_whole(source, &kind, first, 1, &left);
}

/* Masks that mask nothing, where there is an image. */
static void warn_of_masks(const PageList *list, Warnings *warnings)
{
    bool any = false;
    for (uint32_t i = 0; i < list->n; i++)
        any = any || list->entry[i].role == IMGSTAT_ROLE_IMAGE;
    for (uint32_t i = 0; any && i < list->n; i++) {
        const PageEntry *const entry = &list->entry[i];
        char name[PAGE_NAME_BYTES];
        if (entry->role != IMGSTAT_ROLE_MASK ||
            (entry->owner != IMGSTAT_NO_PAGE && list->entry[entry->owner].mask == i))
            continue;
        page_list_name(list, i, name, sizeof name);
        warnings_report(warnings, "page %s is a mask that is not used: %s", name,
                        entry->owner == IMGSTAT_NO_PAGE ? "no image has its size"
                                                        : "its image has another one");
    }
}

ImgstatResult tiff_pages_find(const Source *source, const ImgstatOpen *how, Warnings *warnings,
                              PageList *out, bool *has_axes, ImgstatError *err)
{
    Walk walk = {.source = source,
                 .warnings = warnings,
                 .max_pages = how->limits.max_pages,
                 .salvage = how->salvage,
                 .list = out};
    uint64_t first = 0;
    *out = (PageList){.n = 0};
    ImgstatResult res = read_header(source, &walk.kind, &first, err);
    if (res == IMGSTAT_OK)
        res = walk_chain(&walk, first, err);
    const TiffField *const description = &walk.first.field[TIFF_FIELD_TEXT];
    char *text = NULL;
    if (res == IMGSTAT_OK)
        res = tiff_field_text(source, &walk.kind, description, &text, err);
    *has_axes = description->count > 0 && (!text || stack_text_kind(text) != STACK_TEXT_OTHER);
    if (res == IMGSTAT_OK && out->chain == 1)
        res = add_planes(&walk, text, err);
    free(text);
    for (uint32_t page = 0; res == IMGSTAT_OK && page < out->n; page++) /* it grows meanwhile */
        res = walk_below(&walk, page, err);
    if (res == IMGSTAT_OK) {
        tiff_roles_find(out, walk.facts);
        if (!how->ignore_masks)
            warn_of_masks(out, warnings);
    }
    free(walk.seen.slot);
    free(walk.facts);
    free(walk.links);
    if (res != IMGSTAT_OK)
        page_list_release(out);
    return res;
}
