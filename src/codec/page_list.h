/* SPDX-License-Identifier: MIT */
/* page_list.h: the pages of a file, their roles, and texts that name pages. */
#ifndef IMGSTAT_CODEC_PAGE_LIST_H
#define IMGSTAT_CODEC_PAGE_LIST_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct PageEntry {
    uint64_t at;          /* where the codec finds it */
    bool work_spent;      /* see codec/work.h */
    uint16_t compression; /* from its header; 0: not known */
    uint64_t field_bytes; /* of the fields of its header, outside of it */
    uint32_t plane;       /* number of the plane there, of those stored one behind the other */
    ImgstatRole role;
    uint32_t owner, mask, parent, number; /* as in ImgstatPage */
    uint32_t width, height;               /* from its header; 0: not known */
    bool has_axes;
    uint32_t axis_c, axis_z, axis_t;
    const char *axis_name; /* the decoder's; NULL: none */
    bool axis_repeats;     /* other channels have that name */
} PageEntry;

/* Pages of the chain, then those of SubIFDs. Every page follows the page that it lies in. */
typedef struct PageList {
    PageEntry *entry;
    uint32_t n, chain, room;
} PageList;

/* Adds a page with the role of an image. Returns NULL if memory runs out. */
PageEntry *page_list_add(PageList *list, uint32_t parent, uint32_t number);

/* Frees what it holds, not the struct. */
void page_list_release(PageList *list);

/* Bytes for the name of a page, with its NUL. Deeply nested pages have longer names, which are cut.
 */
enum { PAGE_NAME_BYTES = 64 };

/* Writes the name of a page, "2" or "0.1", and returns the length of the whole name. */
size_t page_list_name(const PageList *list, uint32_t page, char *to, size_t room);

/* Finds the pages that a text such as "0,3-5,2.1" names, in its order. text: NULL stands for all
 * images in the order of the list, or for all pages if there is no image. file: begins messages.
 * *out receives *n >= 1 pages; the caller frees it. */
ImgstatResult page_list_select(const PageList *list, const char *text, const char *file,
                               uint32_t **out, uint32_t *n, ImgstatError *err);

/* A page to measure or transform. */
typedef struct ChosenPage {
    uint32_t page;
    bool leads;      /* it was named, and does not follow another chosen page */
    uint32_t parent; /* index among the chosen pages of the nearest one that it lies in;
                      * IMGSTAT_NO_PAGE: none */
} ChosenPage;

/* Which pages follow the chosen ones. */
enum { WITH_LEVELS = 1, WITH_MASKS = 2 };

/* Adds the pages that belong to chosen pages: levels of images, and masks of images and levels.
 * Sorts all into the order of the file: a page of the chain, then the pages that lie in it. with:
 * bits of WITH_; 0 adds none and keeps the order. all: WITH_MASKS also adds masks of no page. *out
 * receives *n pages; the caller frees it. */
ImgstatResult page_list_complete(const PageList *list, const uint32_t *pages, uint32_t n_pages,
                                 unsigned with, bool all, ChosenPage **out, uint32_t *n,
                                 ImgstatError *err);

#endif
