/* SPDX-License-Identifier: MIT */
/* read_plane.c: what a read of one plane is to find: all that a pass wants of one channel. */
#include "device/read_request.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The lists of a pass, as items that begin with their channel. */
typedef struct List {
    unsigned char *item; /* first */
    size_t n, bytes;     /* items, bytes of each */
} List;

enum { LISTS = 3 };

_Static_assert(offsetof(DigitCount, channel) == 0 && offsetof(RangeCount, channel) == 0 &&
                   offsetof(KeyGather, channel) == 0,
               "items of all lists begin with their channel");

static void lists_of(const ReadRequest *pass, List lists[LISTS])
{
    lists[0] = (List){(unsigned char *)pass->digits, pass->n_digits, sizeof *pass->digits};
    lists[1] = (List){(unsigned char *)pass->ranges, pass->n_ranges, sizeof *pass->ranges};
    lists[2] = (List){(unsigned char *)pass->gathers, pass->n_gathers, sizeof *pass->gathers};
}

static void set_channel(unsigned char *item, uint16_t channel)
{
    memcpy(item, &channel, sizeof channel);
}

static bool is_of(const unsigned char *item, uint16_t channel)
{
    uint16_t own;
    memcpy(&own, item, sizeof own);
    return own == channel;
}

/* Copies of the items of `channel`, as channel 0; returns how many. */
static size_t take(const List *list, uint16_t channel, unsigned char *to)
{
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++) {
        const unsigned char *const item = list->item + i * list->bytes;
        if (!is_of(item, channel))
            continue;
        memcpy(to + n * list->bytes, item, list->bytes);
        set_channel(to + n++ * list->bytes, 0);
    }
    return n;
}

static void give_back(const List *list, uint16_t channel, const unsigned char *from)
{
    for (size_t i = 0; i < list->n; i++) {
        unsigned char *const item = list->item + i * list->bytes;
        if (!is_of(item, channel))
            continue;
        memcpy(item, from, list->bytes);
        set_channel(item, channel);
        from += list->bytes;
    }
}

ImgstatResult pass_of_plane(const ReadRequest *whole, uint16_t channel, PlanePass *out,
                            ImgstatError *err)
{
    List lists[LISTS];
    size_t bytes = 0, n[LISTS];
    void *place[LISTS];
    lists_of(whole, lists);
    for (size_t k = 0; k < LISTS; k++) /* their sizes keep each other's alignment */
        bytes += lists[k].n * lists[k].bytes;
    unsigned char *at = malloc(bytes ? bytes : 1);
    *out = (PlanePass){.items = at, .whole = whole, .channel = channel};
    if (!at)
        return error_memory(err, bytes, "what to count");
    for (size_t k = 0; k < LISTS; k++) {
        place[k] = at;
        n[k] = take(&lists[k], channel, at);
        at += lists[k].n * lists[k].bytes;
    }
    out->pass = (ReadRequest){.digits = place[0],
                              .n_digits = n[0],
                              .ranges = place[1],
                              .n_ranges = n[1],
                              .gathers = place[2],
                              .n_gathers = n[2]};
    if (whole->central) {
        out->pass.center = whole->center + channel;
        out->pass.central = whole->central + channel;
    }
    out->empty = n[0] + n[1] + n[2] == 0 && !whole->central;
    return IMGSTAT_OK;
}

void pass_of_plane_end(PlanePass *plane)
{
    List lists[LISTS], from[LISTS];
    lists_of(plane->whole, lists);
    lists_of(&plane->pass, from);
    for (size_t k = 0; plane->items && k < LISTS; k++)
        give_back(&lists[k], plane->channel, from[k].item);
    free(plane->items);
    *plane = (PlanePass){0};
}
