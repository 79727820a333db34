/* SPDX-License-Identifier: MIT */
/* page_group.c: sorts the pages of a file into groups. */
#include "codec/page_group.h"

#include <stdlib.h>
#include <string.h>

bool page_group_same(const GroupKey *a, const GroupKey *b)
{
    if (a->by != b->by || !a->name != !b->name)
        return false;
    const bool same_set = !a->set || !b->set ? a->set == b->set : strcmp(a->set, b->set) == 0;
    return same_set && (a->name ? strcmp(a->name, b->name) == 0 : a->number == b->number);
}

GroupKey page_group_key(ImgstatGrouping by, const PageList *list, uint32_t page)
{
    const PageEntry *const entry = &list->entry[page];
    const GroupKey alone = {.by = IMGSTAT_BY_PAGE, .number = page};
    if (entry->role != IMGSTAT_ROLE_IMAGE)
        return alone;
    if ((by == IMGSTAT_BY_CHANNEL || by == IMGSTAT_BY_ALL) && entry->has_axes)
        return (GroupKey){.by = IMGSTAT_BY_CHANNEL,
                          .number = entry->axis_c,
                          .name = entry->axis_repeats ? NULL : entry->axis_name};
    if (by == IMGSTAT_BY_FILE || by == IMGSTAT_BY_ALL)
        return (GroupKey){.by = by, .number = 0};
    return alone;
}

typedef struct Item {
    uint64_t key;
    uint32_t at; /* in the list of pages */
} Item;

static int compare_items(const void *a, const void *b)
{
    const Item *const x = a, *const y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* Sorts items by key, and then by the first item that has their key. */
static void sort_items(Item *items, uint32_t n)
{
    qsort(items, n, sizeof *items, compare_items);
    uint64_t key = 0;
    uint32_t first = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (i == 0 || items[i].key != key) {
            key = items[i].key;
            first = items[i].at;
        }
        items[i].key = first;
    }
    qsort(items, n, sizeof *items, compare_items);
}

ImgstatResult page_groups_make(ImgstatGrouping by, const PageList *list, const ChosenPage *chosen,
                               uint32_t n_chosen, PageGroups *out, ImgstatError *err)
{
    Item *const items = malloc((n_chosen + (size_t)1) * sizeof *items);
    *out = (PageGroups){.page = malloc((n_chosen + (size_t)1) * sizeof *out->page),
                        .first = malloc((n_chosen + (size_t)1) * sizeof *out->first)};
    if (!items || !out->page || !out->first) {
        free(items);
        return error_memory(err, n_chosen * sizeof *items, "groups of pages");
    }
    for (uint32_t i = 0; i < n_chosen; i++) {
        const GroupKey key = page_group_key(by, list, chosen[i].page);
        items[i] = (Item){.key = (uint64_t)key.by << 32 | key.number, .at = i};
    }
    sort_items(items, n_chosen);
    for (uint32_t i = 0; i < n_chosen; i++) {
        if (i == 0 || items[i].key != items[i - 1].key)
            out->first[out->n++] = i;
        out->page[i] = chosen[items[i].at].page;
    }
    out->first[out->n] = n_chosen;
    free(items);
    return IMGSTAT_OK;
}

void page_groups_release(PageGroups *groups)
{
    free(groups->page);
    free(groups->first);
    *groups = (PageGroups){0};
}
