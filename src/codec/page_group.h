/* SPDX-License-Identifier: MIT */
/* page_group.h: finds the pages of a file that are measured or transformed together. */
#ifndef IMGSTAT_CODEC_PAGE_GROUP_H
#define IMGSTAT_CODEC_PAGE_GROUP_H

#include "codec/page_list.h"

/* The group of a page. Pages of a file with equal `by` and number belong together. */
typedef struct GroupKey {
    ImgstatGrouping by; /* the grouping that applies: files without axes have no channels, and pages
                         * that are no images are alone */
    uint32_t number;
    const char *name; /* of a channel, if no other of the file has it; the list's. NULL: none */
    const char *set;  /* of files, with the page's file; the caller's. NULL: all files */
} GroupKey;

/* Returns whether pages of two files belong together, with keys of IMGSTAT_BY_ALL. In files of one
 * set, channels with equal names do, and without names channels at the same place. */
bool page_group_same(const GroupKey *a, const GroupKey *b);

/* Returns the key of a page. No other function knows what a grouping means. */
GroupKey page_group_key(ImgstatGrouping by, const PageList *list, uint32_t page);

/* Returns the key of a page among the pages of a set of files. */
static inline GroupKey page_group_key_of_set(const char *set, const PageList *list, uint32_t page)
{
    GroupKey key = page_group_key(IMGSTAT_BY_ALL, list, page);
    key.set = set;
    return key;
}

/* Pages in groups. Groups are in the order of their first pages, and pages of a group in the order
 * of the list. Group g has page[first[g]] to page[first[g + 1] - 1]. */
typedef struct PageGroups {
    uint32_t *page;
    uint32_t *first; /* n + 1 */
    uint32_t n;
} PageGroups;

static inline uint32_t page_group_pages(const PageGroups *groups, uint32_t group)
{
    return groups->first[group + 1] - groups->first[group];
}

/* Groups chosen pages. page_groups_release frees what it holds, whatever the result. */
ImgstatResult page_groups_make(ImgstatGrouping by, const PageList *list, const ChosenPage *chosen,
                               uint32_t n_chosen, PageGroups *out, ImgstatError *err);

void page_groups_release(PageGroups *groups);

#endif
