/* SPDX-License-Identifier: MIT */
/* page_list.c: the pages of a file, and texts that name some of them. */
#include "codec/page_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

PageEntry *page_list_add(PageList *list, uint32_t parent, uint32_t number)
{
    if (list->n == list->room) {
        const uint32_t room = list->room ? 2 * list->room : 4;
        PageEntry *const entry = realloc(list->entry, room * sizeof *entry);
        if (!entry)
            return NULL;
        list->entry = entry;
        list->room = room;
    }
    PageEntry *const added = &list->entry[list->n];
    *added = (PageEntry){.role = IMGSTAT_ROLE_IMAGE,
                         .owner = list->n,
                         .mask = IMGSTAT_NO_PAGE,
                         .parent = parent,
                         .number = number};
    list->n++;
    list->chain += parent == IMGSTAT_NO_PAGE;
    return added;
}

void page_list_release(PageList *list)
{
    free(list->entry);
    *list = (PageList){.entry = NULL};
}

const char *imgstat_role_name(ImgstatRole role)
{
    static const char *const names[] = {"image", "level", "mask", "thumbnail"};
    return (unsigned)role < sizeof names / sizeof *names ? names[role] : "";
}

size_t page_list_name(const PageList *list, uint32_t page, char *to, size_t room)
{
    const PageEntry *const entry = &list->entry[page];
    const bool below = entry->parent != IMGSTAT_NO_PAGE;
    const size_t used = below ? page_list_name(list, entry->parent, to, room) : 0;
    const size_t left = used < room ? room - used : 0;
    return used +
           (size_t)snprintf(left ? to + used : NULL, left, "%s%u", below ? "." : "", entry->number);
}

/* ---- Texts ----------------------------------------------------------------------------------- */

/* A part of a text: "2", "2-5", or "2.1.0" of SubIFDs. */
typedef struct PageItem {
    uint64_t first, last;
    const char *text, *end; /* where it begins and ends */
    const char *below;      /* where the numbers of SubIFDs begin; its end if it has none */
} PageItem;

static bool parse_number(const char **at, uint64_t *out)
{
    const char *p = *at;
    for (*out = 0; *p >= '0' && *p <= '9'; p++)
        *out = *out < UINT64_MAX / 10 ? 10 * *out + (uint64_t)(*p - '0') : *out;
    const bool any = p > *at;
    *at = p;
    return any;
}

static bool parse_item(const char *at, PageItem *out)
{
    *out = (PageItem){.text = at};
    bool good = parse_number(&at, &out->first);
    const bool range = good && *at == '-';
    out->last = out->first;
    if (range) {
        at++;
        good = parse_number(&at, &out->last) && out->last >= out->first;
    }
    out->below = at;
    while (good && !range && *at == '.') {
        uint64_t number;
        at++;
        good = parse_number(&at, &number);
    }
    out->end = at;
    return good;
}

/* Orders SubIFDs by the numbers behind their first ones. */
static int compare_below(const PageItem *a, const PageItem *b)
{
    const char *s = a->below, *t = b->below;
    while (*s == '.' && *t == '.') {
        uint64_t x = 0, y = 0;
        s++, t++;
        (void)parse_number(&s, &x);
        (void)parse_number(&t, &y);
        if (x != y)
            return x < y ? -1 : 1;
    }
    return (*s == '.') - (*t == '.');
}

/* Orders pages of the chain before SubIFDs. */
static int compare_items(const void *a, const void *b)
{
    const PageItem *const x = a, *const y = b;
    const int lower = (*x->below == '.') - (*y->below == '.');
    if (lower != 0)
        return lower;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return compare_below(x, y);
}

/* Sorts the items. */
static bool have_twice(PageItem *items, size_t n)
{
    qsort(items, n, sizeof *items, compare_items);
    for (size_t i = 1; i < n; i++) {
        const PageItem *const a = &items[i - 1], *const b = &items[i];
        const bool chain = *a->below != '.' && *b->below != '.';
        if (chain ? b->first <= a->last : compare_items(a, b) == 0)
            return true;
    }
    return false;
}

ImgstatResult imgstat_pages_check(const char *pages, ImgstatError *err)
{
    size_t most = 1, n = 0;
    IMGSTAT_TRY(error_if_null(pages, __func__, err));
    for (const char *s = pages; *s; s++)
        most += *s == ',';
    PageItem *const items = malloc(most * sizeof *items);
    if (!items)
        return error_memory(err, most * sizeof *items, "a list of pages");
    bool good = parse_item(pages, &items[n++]);
    while (good && *items[n - 1].end == ',') {
        good = parse_item(items[n - 1].end + 1, &items[n]);
        n++;
    }
    good = good && *items[n - 1].end == '\0';
    const bool twice = good && have_twice(items, n);
    free(items);
    if (!good)
        return error_set(err, IMGSTAT_ERR_ARG,
                         "\"%s\" names no pages; an example that does is 0,3-5,2.1", pages);
    if (twice)
        return error_set(err, IMGSTAT_ERR_ARG, "\"%s\" names a page twice", pages);
    return IMGSTAT_OK;
}

static uint32_t find_below(const PageList *list, uint32_t parent, uint64_t number)
{
    for (uint32_t i = list->chain; i < list->n; i++)
        if (list->entry[i].parent == parent && list->entry[i].number == number)
            return i;
    return IMGSTAT_NO_PAGE;
}

/* Adds the pages of an item to page[*n] and behind. */
static ImgstatResult add_item(const PageList *list, const PageItem *item, const char *file,
                              uint32_t *page, uint32_t *n, ImgstatError *err)
{
    const char *at = item->below;
    uint32_t found = item->last < list->chain ? (uint32_t)item->first : IMGSTAT_NO_PAGE;
    while (found != IMGSTAT_NO_PAGE && at < item->end) {
        uint64_t number;
        at++;
        (void)parse_number(&at, &number);
        found = find_below(list, found, number);
    }
    if (found == IMGSTAT_NO_PAGE)
        return error_file(err, IMGSTAT_ERR_ARG, file, "has no page %.*s; it has %u, counted from 0",
                          (int)(at - item->text), item->text, list->chain);
    page[(*n)++] = found;
    for (uint64_t k = item->first + 1; k <= item->last; k++)
        page[(*n)++] = (uint32_t)k;
    return IMGSTAT_OK;
}

static ImgstatResult add_text(const PageList *list, const char *text, const char *file,
                              uint32_t *page, uint32_t *n, ImgstatError *err)
{
    const char *at = text;
    IMGSTAT_TRY(error_add_file(err, imgstat_pages_check(text, err), file));
    for (PageItem item;; at = item.end + 1) {
        (void)parse_item(at, &item);
        IMGSTAT_TRY(add_item(list, &item, file, page, n, err));
        if (*item.end == '\0')
            return IMGSTAT_OK;
    }
}

ImgstatResult page_list_select(const PageList *list, const char *text, const char *file,
                               uint32_t **out, uint32_t *n, ImgstatError *err)
{
    *out = NULL;
    *n = 0;
    uint32_t count = 0, *const page = malloc(list->n * sizeof *page);
    if (!page)
        return error_memory(err, list->n * sizeof *page, "a list of pages");
    if (text) {
        const ImgstatResult res = add_text(list, text, file, page, &count, err);
        if (res != IMGSTAT_OK) {
            free(page);
            return res;
        }
    }
    for (uint32_t i = 0; !text && i < list->n; i++)
        if (list->entry[i].role == IMGSTAT_ROLE_IMAGE)
            page[count++] = i;
    for (uint32_t i = 0; !text && i >= count && i < list->n; i++)
        page[count++] = i; /* masks alone */
    *out = page;
    *n = count;
    return IMGSTAT_OK;
}

/* ---- What belongs to pages ------------------------------------------------------------------- */

/* Adds to `chosen` the levels and masks of chosen pages. An owner precedes its levels in the list,
 * but not every mask. follows[i]: page i was added. */
static void add_followers(const PageList *list, unsigned with, bool all, bool *chosen,
                          bool *follows)
{
    for (uint32_t i = 0; i < list->n && with & WITH_LEVELS; i++) {
        const PageEntry *const entry = &list->entry[i];
        follows[i] = entry->role == IMGSTAT_ROLE_LEVEL && chosen[entry->owner];
        chosen[i] |= follows[i];
    }
    for (uint32_t i = 0; i < list->n && with & WITH_MASKS; i++) {
        const PageEntry *const entry = &list->entry[i];
        const bool of_nothing = entry->owner == IMGSTAT_NO_PAGE;
        if (entry->role != IMGSTAT_ROLE_MASK)
            continue;
        follows[i] = of_nothing ? all && !chosen[i] : chosen[entry->owner];
        chosen[i] |= follows[i];
    }
}

/* Lists chosen pages in the order of the file. below: room for 2 n numbers. */
static uint32_t sort_pages(const PageList *list, const bool *chosen, const bool *follows,
                           uint32_t *below, ChosenPage *out)
{
    /* SubIFDs of a page are next to each other in the list, in their order. */
    uint32_t *const first = below, *const place = below + list->n;
    uint32_t n = 0;
    for (uint32_t i = 0; i < list->n; i++)
        first[i] = place[i] = IMGSTAT_NO_PAGE;
    for (uint32_t i = list->n; i-- > list->chain;)
        first[list->entry[i].parent] = i;
    for (uint32_t page = 0; page < list->n;) {
        const uint32_t parent = list->entry[page].parent;
        const uint32_t above = parent != IMGSTAT_NO_PAGE ? place[parent] : IMGSTAT_NO_PAGE;
        place[page] = chosen[page] ? n : above;
        if (chosen[page])
            out[n++] = (ChosenPage){.page = page, .leads = !follows[page], .parent = above};
        if (first[page] != IMGSTAT_NO_PAGE) {
            page = first[page];
            continue;
        }
        /* The next page beside it, or beside the page that it lies in. */
        for (;;) {
            const uint32_t up = list->entry[page].parent;
            page++;
            if (up == IMGSTAT_NO_PAGE) {
                page = page < list->chain ? page : list->n;
                break;
            }
            if (page < list->n && list->entry[page].parent == up)
                break;
            page = up;
        }
    }
    return n;
}

ImgstatResult page_list_complete(const PageList *list, const uint32_t *pages, uint32_t n_pages,
                                 unsigned with, bool all, ChosenPage **out, uint32_t *n,
                                 ImgstatError *err)
{
    bool *const chosen = calloc(2 * (size_t)list->n, sizeof *chosen);
    uint32_t *const below = malloc(2 * (size_t)list->n * sizeof *below);
    *n = 0;
    *out = malloc(list->n * sizeof **out);
    if (!chosen || !below || !*out) {
        free(chosen);
        free(below);
        return error_memory(err, list->n * sizeof **out, "a list of pages");
    }
    for (uint32_t i = 0; i < n_pages; i++) {
        chosen[pages[i]] = true;
        if (with == 0)
            (*out)[(*n)++] =
                (ChosenPage){.page = pages[i], .leads = true, .parent = IMGSTAT_NO_PAGE};
    }
    if (with != 0) {
        add_followers(list, with, all, chosen, chosen + list->n);
        *n = sort_pages(list, chosen, chosen + list->n, below, *out);
    }
    free(chosen);
    free(below);
    return IMGSTAT_OK;
}
