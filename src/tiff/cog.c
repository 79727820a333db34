/* SPDX-License-Identifier: MIT */
/* cog.c: cloud optimized GeoTIFF: the text behind the header, all directories, then tiles, of the
 * smallest level first, each between its size and a copy of its last bytes. */
#include "tiff/encoder.h"

#include "base/byteswap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEADER_BYTES = 4,  /* the size of a tile, little-endian in every file */
    TRAILER_BYTES = 4, /* its last bytes once more */
    BLOCK_BYTES = 4 << 20
};

/* GDAL's words. The size that the first line names is that of what follows. */
static const char head_format[] = "GDAL_STRUCTURAL_METADATA_SIZE=%06zu bytes\n";
static const char structure[] = "LAYOUT=IFDS_BEFORE_DATA\n"
                                "BLOCK_ORDER=ROW_MAJOR\n"
                                "BLOCK_LEADER=SIZE_AS_UINT4\n"
                                "BLOCK_TRAILER=LAST_4_BYTES_REPEATED\n"
                                "KNOWN_INCOMPATIBLE_EDITION=NO\n ";
static const char interleaved[] = "MASK_INTERLEAVED_WITH_IMAGERY=YES\n";

bool tiff_is_cog(const Source *source)
{
    enum { HEAD_BYTES = 43 }; /* of the first line */
    uint8_t bytes[16 + HEAD_BYTES + 512] = {0};
    size_t got = 0;
    if (source_read(source, 0, bytes, sizeof bytes - 1, &got, NULL) != IMGSTAT_OK)
        return false;
    const bool big = bytes[2] == 43 || bytes[3] == 43;
    const char *const text = (const char *)bytes + (big ? 16 : 8);
    return strncmp(text, head_format, strcspn(head_format, "%")) == 0 &&
           strstr(text, "\nLAYOUT=IFDS_BEFORE_DATA\n") != NULL;
}

typedef struct CogWriter {
    const TiffFile *from; /* payloads and tiles; its byte order */
    AtomicFile *to;
    bool big, measures; /* measures: nothing is written, only places are found */
    uint64_t at;        /* end so far */
    uint8_t *tile;      /* one; `room` bytes */
    size_t room;
} CogWriter;

static ImgstatResult put(const CogWriter *w, uint64_t at, const void *from, size_t bytes,
                         ImgstatError *err)
{
    return w->measures ? IMGSTAT_OK : atomic_file_write(w->to, at, from, bytes, err);
}

/* ---- Directories ----------------------------------------------------------------------------- */

/* Copies a payload to the end. */
static ImgstatResult copy_payload(CogWriter *w, const TiffTag *tag, ImgstatError *err)
{
    uint8_t bytes[1 << 12];
    const uint64_t at = w->at;
    w->at += tag->bytes;
    for (uint64_t done = 0; done < tag->bytes && !w->measures; done += sizeof bytes) {
        const uint64_t left = tag->bytes - done;
        const size_t n = left < sizeof bytes ? (size_t)left : sizeof bytes;
        IMGSTAT_TRY(atomic_file_read(w->from->output, tag->at + done, bytes, n, err));
        IMGSTAT_TRY(put(w, at + done, bytes, n, err));
    }
    return IMGSTAT_OK;
}

/* A directory being written. page: NULL for EXIF data and the like. */
typedef struct CogDirectory {
    CogWriter *w;
    const CogPage *page;
} CogDirectory;

/* Places of tiles, as wide as the file has them. */
static ImgstatResult put_offsets(CogWriter *w, const CogPage *page, ImgstatError *err)
{
    const unsigned width = w->big ? 8 : 4;
    uint8_t value[8];
    for (size_t i = 0; i < page->n && !w->measures; i++) {
        store_number(value, page->offsets[i], width, w->from->big_endian);
        IMGSTAT_TRY(put(w, w->at + i * width, value, width, err));
    }
    w->at += page->n * width;
    return IMGSTAT_OK;
}

static ImgstatResult put_directory(CogWriter *w, TiffTags *tags, const CogPage *page,
                                   uint64_t *link, ImgstatError *err);

/* TiffPlaceValue: values lie behind the directory. */
static ImgstatResult put_value(void *context, TiffTag *tag, uint8_t *to, ImgstatError *err)
{
    const CogDirectory *const directory = context;
    CogWriter *const w = directory->w;
    const CogPage *const page = directory->page;
    const unsigned width = w->big ? 8 : 4;
    const bool is_offsets = page && tag->tag == TIFFTAG_TILEOFFSETS;
    uint64_t link = 0;
    if (is_offsets)
        tag->type = w->big ? TIFF_LONG8 : TIFF_LONG;
    if (is_offsets && page->n == 1) {
        store_number(to, page->offsets[0], width, w->from->big_endian);
        return IMGSTAT_OK;
    }
    if (!is_offsets && !tag->sub && tag->bytes <= width) {
        memcpy(to, tag->value, (size_t)tag->bytes);
        return IMGSTAT_OK;
    }
    w->at += w->at & 1;
    store_number(to, w->at, width, w->from->big_endian);
    if (is_offsets)
        return put_offsets(w, page, err);
    if (tag->sub)
        return put_directory(w, tag->sub, NULL, &link, err);
    if (tag->bytes > sizeof tag->value)
        return copy_payload(w, tag, err);
    const uint64_t at = w->at;
    w->at += tag->bytes;
    return put(w, at, tag->value, (size_t)tag->bytes, err);
}

/* *link: where the place of the next directory belongs. */
static ImgstatResult put_directory(CogWriter *w, TiffTags *tags, const CogPage *page,
                                   uint64_t *link, ImgstatError *err)
{
    CogDirectory directory = {w, page};
    const uint64_t at = w->at;
    const size_t bytes = tiff_directory_bytes(tags, w->big);
    uint8_t *table = NULL;
    w->at += bytes;
    *link = at + bytes - (w->big ? 8 : 4);
    ImgstatResult res =
        tiff_directory_fill(tags, w->big, w->from->big_endian, put_value, &directory, &table, err);
    if (res == IMGSTAT_OK)
        res = put(w, at, table, bytes, err);
    free(table);
    w->at += w->at & 1;
    return res;
}

static ImgstatResult put_head(CogWriter *w, bool with_masks, uint64_t *link, ImgstatError *err)
{
    char text[512];
    uint8_t head[TIFF_HEADER_BYTES];
    const size_t size = strlen(structure) + (with_masks ? strlen(interleaved) : 0);
    const int n = snprintf(text, sizeof text, head_format, size);
    const size_t bytes = (size_t)n + (size_t)snprintf(text + n, sizeof text - (size_t)n, "%s%s",
                                                      structure, with_masks ? interleaved : "");
    *link = tiff_header_fill(head, w->from->big_endian, w->big);
    const size_t head_bytes = 2 * (size_t)*link;
    IMGSTAT_TRY(put(w, 0, head, head_bytes, err));
    IMGSTAT_TRY(put(w, head_bytes, text, bytes, err));
    w->at = head_bytes + bytes;
    w->at += w->at & 1;
    return IMGSTAT_OK;
}

static ImgstatResult put_directories(CogWriter *w, const CogPage *pages, size_t n, bool with_masks,
                                     ImgstatError *err)
{
    uint64_t link;
    IMGSTAT_TRY(put_head(w, with_masks, &link, err));
    for (size_t i = 0; i < n; i++) {
        uint8_t place[8];
        store_number(place, w->at, w->big ? 8 : 4, w->from->big_endian);
        IMGSTAT_TRY(put(w, link, place, w->big ? 8 : 4, err));
        IMGSTAT_TRY(put_directory(w, pages[i].tags, &pages[i], &link, err));
    }
    return IMGSTAT_OK;
}

/* ---- Tiles ----------------------------------------------------------------------------------- */

/* Writes tile `index` of a page at the end. */
static ImgstatResult put_tile(CogWriter *w, CogPage *page, size_t index, ImgstatError *err)
{
    const uint64_t size = page->sizes[index], from = page->spooled[index];
    const size_t bytes = (size_t)size + LEADER_BYTES + TRAILER_BYTES;
    const uint64_t at = w->at;
    page->offsets[index] = at + LEADER_BYTES;
    w->at += bytes;
    if (w->measures)
        return IMGSTAT_OK;
    if (bytes > w->room) {
        uint8_t *const larger = realloc(w->tile, bytes);
        if (!larger)
            return error_memory(err, bytes, "a tile");
        w->tile = larger;
        w->room = bytes;
    }
    uint8_t *const to = w->tile;
    store_number(to, size, LEADER_BYTES, false);
    IMGSTAT_TRY(atomic_file_read(w->from->output, from, to + LEADER_BYTES, (size_t)size, err));
    memset(to + LEADER_BYTES + size, 0, TRAILER_BYTES);
    if (size >= TRAILER_BYTES)
        memcpy(to + LEADER_BYTES + size, to + size, TRAILER_BYTES);
    return put(w, at, to, bytes, err);
}

/* Every tile of a page, and behind it that of its mask; NULL: there is none. */
static ImgstatResult put_tiles(CogWriter *w, CogPage *page, CogPage *mask, ImgstatError *err)
{
    for (size_t i = 0; i < page->n; i++) {
        IMGSTAT_TRY(put_tile(w, page, i, err));
        if (mask)
            IMGSTAT_TRY(put_tile(w, mask, i, err));
    }
    return IMGSTAT_OK;
}

/* The mask of a page, or the page of a mask: the first that has the same tiles. NULL: none has. */
static CogPage *partner_of(CogPage *pages, size_t n, const CogPage *page)
{
    for (CogPage *other = pages; other < pages + n; other++)
        if (other->is_mask != page->is_mask && other->width == page->width &&
            other->height == page->height && other->n == page->n)
            return other;
    return NULL;
}

static int by_area(const void *a, const void *b)
{
    const CogPage *const one = *(CogPage *const *)a, *const other = *(CogPage *const *)b;
    const uint64_t area = (uint64_t)one->width * one->height;
    const uint64_t other_area = (uint64_t)other->width * other->height;
    return area != other_area ? (area > other_area) - (area < other_area)
                              : (one > other) - (one < other);
}

/* order: the pages, the smallest first. */
static ImgstatResult put_all_tiles(CogWriter *w, CogPage *pages, CogPage *const *order, size_t n,
                                   bool with_masks, ImgstatError *err)
{
    for (size_t i = 0; i < n; i++) {
        if (with_masks && order[i]->is_mask)
            continue;
        IMGSTAT_TRY(
            put_tiles(w, order[i], with_masks ? partner_of(pages, n, order[i]) : NULL, err));
    }
    return IMGSTAT_OK;
}

/* Returns whether pages and masks are pairs: each is the partner of its partner. Of two pages of
 * one size it would not be known which mask is whose. */
static bool are_pairs(CogPage *pages, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const CogPage *const partner = partner_of(pages, n, &pages[i]);
        if (!partner || partner_of(pages, n, partner) != &pages[i])
            return false;
    }
    return true;
}

ImgstatResult tiff_cog_write(const TiffFile *from, CogPage *pages, size_t n, AtomicFile *to,
                             ImgstatError *err)
{
    const bool with_masks = are_pairs(pages, n);
    CogPage **const order = malloc(n * sizeof *order);
    CogWriter w = {.from = from, .to = to, .big = from->big, .measures = true};
    ImgstatResult res = order ? IMGSTAT_OK : error_memory(err, n * sizeof *order, "tiles");
    for (size_t i = 0; i < n && order; i++)
        order[i] = &pages[i];
    if (order)
        qsort(order, n, sizeof *order, by_area);
    /* Places of tiles do not change the size of directories. */
    for (bool again = true; again && res == IMGSTAT_OK;) {
        res = put_directories(&w, pages, n, with_masks, err);
        if (res == IMGSTAT_OK)
            res = put_all_tiles(&w, pages, order, n, with_masks, err);
        again = !w.big && w.at > UINT32_MAX;
        w.big |= again;
    }
    w.measures = false;
    if (res == IMGSTAT_OK)
        res = put_directories(&w, pages, n, with_masks, err);
    if (res == IMGSTAT_OK)
        res = put_all_tiles(&w, pages, order, n, with_masks, err);
    free(w.tile);
    free(order);
    return res;
}

ImgstatResult tiff_spool_copy(const TiffFile *from, AtomicFile *to, ImgstatError *err)
{
    uint8_t *const block = malloc(BLOCK_BYTES);
    ImgstatResult res = block ? IMGSTAT_OK : error_memory(err, BLOCK_BYTES, "a copy buffer");
    for (uint64_t at = 0; at < from->at && res == IMGSTAT_OK; at += BLOCK_BYTES) {
        const uint64_t left = from->at - at;
        const size_t n = left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES;
        res = atomic_file_read(from->output, at, block, n, err);
        if (res == IMGSTAT_OK)
            res = atomic_file_write(to, at, block, n, err);
    }
    free(block);
    return res;
}
