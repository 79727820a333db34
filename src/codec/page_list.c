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

typedef struct Selection {
    const PageList *list;
    const char *text, *file;
    uint32_t *page;
    uint32_t n;
    bool *chosen; /* for each page of the list */
} Selection;

static ImgstatResult misspelled(const Selection *s, ImgstatError *err)
{
    return error_file(err, IMGSTAT_ERR_ARG, s->file,
                      "\"%s\" names no pages; an example that does is 0,3-5,2.1", s->text);
}

static ImgstatResult missing(const Selection *s, const char *name, size_t length, ImgstatError *err)
{
    return error_file(err, IMGSTAT_ERR_ARG, s->file, "has no page %.*s; it has %u, counted from 0",
                      (int)length, name, s->list->chain);
}

static bool parse_number(const char **at, uint32_t *out)
{
    uint64_t value = 0;
    const char *p = *at;
    for (; *p >= '0' && *p <= '9'; p++)
        value = value < UINT32_MAX ? 10 * value + (uint64_t)(*p - '0') : value;
    const bool any = p > *at;
    *out = value < IMGSTAT_NO_PAGE ? (uint32_t)value : IMGSTAT_NO_PAGE - 1;
    *at = p;
    return any;
}

static uint32_t find_below(const PageList *list, uint32_t parent, uint32_t number)
{
    for (uint32_t i = list->chain; i < list->n; i++)
        if (list->entry[i].parent == parent && list->entry[i].number == number)
            return i;
    return IMGSTAT_NO_PAGE;
}

static ImgstatResult choose(Selection *s, uint32_t page, ImgstatError *err)
{
    if (s->chosen[page])
        return error_file(err, IMGSTAT_ERR_ARG, s->file, "\"%s\" names a page twice", s->text);
    s->chosen[page] = true;
    s->page[s->n++] = page;
    return IMGSTAT_OK;
}

/* "2", "2-5" or "2.1.0" */
static ImgstatResult parse_item(Selection *s, const char **at, ImgstatError *err)
{
    const char *const start = *at;
    uint32_t first = 0, last = 0, number = 0;
    if (!parse_number(at, &first))
        return misspelled(s, err);
    last = first;
    if (**at == '-') {
        ++*at;
        if (!parse_number(at, &last) || last < first)
            return misspelled(s, err);
    }
    if (last >= s->list->chain)
        return missing(s, start, (size_t)(*at - start), err);
    uint32_t page = first;
    while (first == last && **at == '.') {
        ++*at;
        if (!parse_number(at, &number))
            return misspelled(s, err);
        page = find_below(s->list, page, number);
        if (page == IMGSTAT_NO_PAGE)
            return missing(s, start, (size_t)(*at - start), err);
    }
    IMGSTAT_TRY(choose(s, page, err));
    for (uint32_t k = first + 1; k <= last; k++)
        IMGSTAT_TRY(choose(s, k, err));
    return IMGSTAT_OK;
}

static ImgstatResult parse(Selection *s, ImgstatError *err)
{
    const char *at = s->text;
    IMGSTAT_TRY(parse_item(s, &at, err));
    while (*at == ',') {
        at++;
        IMGSTAT_TRY(parse_item(s, &at, err));
    }
    return *at == '\0' ? IMGSTAT_OK : misspelled(s, err);
}

ImgstatResult page_list_select(const PageList *list, const char *text, const char *file,
                               uint32_t **out, uint32_t *n, ImgstatError *err)
{
    Selection s = {.list = list,
                   .text = text,
                   .file = file,
                   .page = malloc(list->n * sizeof *s.page),
                   .chosen = text ? calloc(list->n, sizeof *s.chosen) : NULL};
    ImgstatResult res = IMGSTAT_OK;
    *out = NULL;
    *n = 0;
    if (!s.page || (text && !s.chosen))
        res = error_memory(err, list->n * sizeof *s.page, "a list of pages");
    else if (text)
        res = parse(&s, err);
    for (uint32_t i = 0; res == IMGSTAT_OK && !text && i < list->n; i++)
        if (list->entry[i].role == IMGSTAT_ROLE_IMAGE)
            s.page[s.n++] = i;
    for (uint32_t i = 0; res == IMGSTAT_OK && !text && i >= s.n && i < list->n; i++)
        s.page[s.n++] = i; /* masks alone */
    free(s.chosen);
    if (res != IMGSTAT_OK) {
        free(s.page);
        return res;
    }
    *out = s.page;
    *n = s.n;
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
