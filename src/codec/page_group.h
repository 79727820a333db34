/* SPDX-License-Identifier: MIT */
/* page_group.h: which pages of a file are measured or transformed as one. */
#ifndef IMGSTAT_CODEC_PAGE_GROUP_H
#define IMGSTAT_CODEC_PAGE_GROUP_H

#include "codec/page_list.h"

/* Pages of a file with one `by` and one number belong together. */
typedef struct GroupKey {
    ImgstatGrouping by; /* what the page is grouped by in effect: a file without axes has no
                         * channels, and pages that are no images are alone */
    uint32_t number;
    const char *name; /* of a channel, where no other of the file has it; the list's. NULL: none */
    const char *set;  /* of files that the page's belongs to; the caller's. NULL: all files */
} GroupKey;

/* Returns whether pages of two files belong together, which are grouped by IMGSTAT_BY_ALL: of files
 * of one set channels of one name do, or without names those at one place. */
bool page_group_same(const GroupKey *a, const GroupKey *b);

/* Returns the key of a page. This is the only place that knows what a grouping means. */
GroupKey page_group_key(ImgstatGrouping by, const PageList *list, uint32_t page);

/* Returns the key of a page among those of many files. */
static inline GroupKey page_group_key_of_set(const char *set, const PageList *list, uint32_t page)
{
    GroupKey key = page_group_key(IMGSTAT_BY_ALL, list, page);
    key.set = set;
    return key;
}

/* A list of pages in groups, in the order of their first pages. The pages of group g are page[
 * first[g]] to page[first[g + 1] - 1], in the order of the list. */
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
