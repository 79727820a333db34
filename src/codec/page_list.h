/* SPDX-License-Identifier: MIT */
/* page_list.h: the pages of a file, what each is, and texts that name some of them. */
#ifndef IMGSTAT_CODEC_PAGE_LIST_H
#define IMGSTAT_CODEC_PAGE_LIST_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct PageEntry {
    uint64_t at;    /* where the codec finds it */
    uint32_t plane; /* which of the planes there, one behind the other */
    ImgstatRole role;
    uint32_t owner, mask, parent, number; /* as ImgstatPage has them */
    uint32_t width, height;               /* as its header says; 0: not known */
    bool has_axes;
    uint32_t axis_c, axis_z, axis_t;
    const char *axis_name; /* the decoder's; NULL: none */
    bool axis_repeats;     /* other channels have that name */
} PageEntry;

/* Pages of the chain, then those of SubIFDs: every page behind the one that it lies in. */
typedef struct PageList {
    PageEntry *entry;
    uint32_t n, chain, room;
} PageList;

/* Adds a page, an image of its own. Returns NULL if memory runs out. */
PageEntry *page_list_add(PageList *list, uint32_t parent, uint32_t number);

/* Frees what it holds, not the struct. */
void page_list_release(PageList *list);

enum { PAGE_NAME_BYTES = 64 }; /* of the names of pages that lie in a few others, with their NUL */

/* Writes the name of a page, "2" or "0.1", and returns the length of the whole name. */
size_t page_list_name(const PageList *list, uint32_t page, char *to, size_t room);

/* Finds the pages that a text such as "0,3-5,2.1" names, in its order; NULL: all images, in the
 * order of the list, or where there is none all pages. file: its name, for messages. *out:
 * malloc's, *n of them, at least one. */
ImgstatResult page_list_select(const PageList *list, const char *text, const char *file,
                               uint32_t **out, uint32_t *n, ImgstatError *err);

/* A page that is to be measured or transformed. */
typedef struct ChosenPage {
    uint32_t page;
    bool leads;      /* it was chosen itself, and follows no image that was */
    uint32_t parent; /* the nearest chosen page that it lies in, as its place among those that are
                      * chosen; IMGSTAT_NO_PAGE: none */
} ChosenPage;

/* What follows the pages that are chosen. */
enum { WITH_LEVELS = 1, WITH_MASKS = 2 };

/* Adds what belongs to chosen pages: levels of images, masks of either. All of them are put in the
 * order of the file: a page of the chain, then those that lie in it. with: of WITH_; 0 leaves the
 * pages as they are, and in their order. all: WITH_MASKS adds masks of nothing as well. *out:
 * malloc's, *n of them. */
ImgstatResult page_list_complete(const PageList *list, const uint32_t *pages, uint32_t n_pages,
                                 unsigned with, bool all, ChosenPage **out, uint32_t *n,
                                 ImgstatError *err);

#endif
