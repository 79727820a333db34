/* SPDX-License-Identifier: MIT */
/* test_roles.c: which pages of a file are images, levels, masks and thumbnails, and whose. */
#include "tiff/directories.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { REDUCED = 1, MASK = 4, NONE = -1, MOST_PAGES = 1000 };

/* A page as a file describes it, and what it is. */
typedef struct Page {
    uint32_t width, height;
    int type; /* NONE: the field is not there */
    uint16_t samples, bits, format;
    int parent; /* NONE: of the chain */
    ImgstatRole role;
    int owner, mask; /* NONE: no page */
} Page;

#define IMAGE     IMGSTAT_ROLE_IMAGE
#define LEVEL     IMGSTAT_ROLE_LEVEL
#define MASKING   IMGSTAT_ROLE_MASK
#define THUMBNAIL IMGSTAT_ROLE_THUMBNAIL

static uint32_t number_of(int page)
{
    return page == NONE ? IMGSTAT_NO_PAGE : (uint32_t)page;
}

static void find(const Page *pages, uint32_t n, PageList *list)
{
    TiffFacts *const facts = calloc(n, sizeof *facts);
    *list = (PageList){.n = 0};
    for (uint32_t i = 0; i < n; i++) {
        const Page *const page = &pages[i];
        PageEntry *const entry = page_list_add(list, number_of(page->parent), i);
        entry->width = page->width;
        entry->height = page->height;
        facts[i] = (TiffFacts){.has_type = page->type != NONE,
                               .type = page->type == NONE ? 0 : (uint32_t)page->type,
                               .bits = page->bits ? page->bits : 8,
                               .samples = page->samples ? page->samples : 1,
                               .format = page->format ? page->format : 1};
    }
    tiff_roles_find(list, facts);
    free(facts);
}

static void check(const char *what, const Page *pages, uint32_t n)
{
    PageList list;
    find(pages, n, &list);
    for (uint32_t i = 0; i < n; i++) {
        const PageEntry *const entry = &list.entry[i];
        cr_expect_eq(entry->role, pages[i].role, "%s: page %u is a %s", what, i,
                     imgstat_role_name(entry->role));
        cr_expect_eq(entry->owner, number_of(pages[i].owner), "%s: page %u is of %u", what, i,
                     entry->owner);
        cr_expect_eq(entry->mask, number_of(pages[i].mask), "%s: page %u has mask %u", what, i,
                     entry->mask);
    }
    page_list_release(&list);
}

#define CHECK(what, ...)                                  \
    do {                                                  \
        const Page pages[] = {__VA_ARGS__};               \
        check(what, pages, sizeof pages / sizeof *pages); \
    } while (0)

Test(roles, levels_of_the_chain)
{
    CHECK("two levels", {100, 60, NONE, .parent = NONE, .role = IMAGE, .owner = 0, .mask = NONE},
          {50, 30, REDUCED, .parent = NONE, .role = LEVEL, .owner = 0, .mask = NONE},
          {25, 15, REDUCED, .parent = NONE, .role = LEVEL, .owner = 0, .mask = NONE});
    CHECK("two images with a level each",
          {100, 60, 0, .parent = NONE, .role = IMAGE, .owner = 0, .mask = NONE},
          {50, 30, REDUCED, .parent = NONE, .role = LEVEL, .owner = 0, .mask = NONE},
          {80, 80, 2, .parent = NONE, .role = IMAGE, .owner = 2, .mask = NONE},
          {10, 10, REDUCED, .parent = NONE, .role = LEVEL, .owner = 2, .mask = NONE});
    CHECK("smaller pages that do not say so are images",
          {100, 60, NONE, .parent = NONE, .role = IMAGE, .owner = 0, .mask = NONE},
          {50, 30, NONE, .parent = NONE, .role = IMAGE, .owner = 1, .mask = NONE});
}

/* Sides of a level are those of its image over a factor, rounded up or down: (w - 1) * H and w * H
 * differ by a pixel of the longer side at most. */
Test(roles, proportions)
{
    static const struct {
        uint32_t width, height;
        bool level;
    } kinds[] = {{33, 20, true},   {34, 20, true},  {33, 21, false}, {51, 31, true},
                 {100, 59, true},  {99, 60, true},  {1, 1, true},    {100, 60, false},
                 {101, 60, false}, {33, 33, false}, {20, 33, false}, {100, 50, false},
                 {0, 5, false},    {5, 0, false},   {7, 60, false}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        CHECK("a smaller page",
              {100, 60, NONE, .parent = NONE, .role = IMAGE, .owner = 0, .mask = NONE},
              {kinds[i].width, kinds[i].height, REDUCED, .parent = NONE,
               .role = kinds[i].level ? LEVEL : THUMBNAIL, .owner = kinds[i].level ? 0 : NONE,
               .mask = NONE});
}

Test(roles, other_samples_are_no_level)
{
    CHECK("samples, bits, format",
          {100, 60, NONE, .parent = NONE, .role = IMAGE, .owner = 0, .mask = NONE},
          {50, 30, REDUCED, .samples = 3, .parent = NONE, .role = THUMBNAIL, .owner = NONE,
           .mask = NONE},
          {50, 30, REDUCED, .bits = 16, .parent = NONE, .role = THUMBNAIL, .owner = NONE,
           .mask = NONE},
          {50, 30, REDUCED, .format = 3, .parent = NONE, .role = THUMBNAIL, .owner = NONE,
           .mask = NONE});
    CHECK("a reduced page in front of every image",
          {50, 30, REDUCED, .parent = NONE, .role = THUMBNAIL, .owner = NONE, .mask = NONE},
          {100, 60, NONE, .parent = NONE, .role = IMAGE, .owner = 1, .mask = NONE});
}

Test(roles, previews_alone_are_images)
{
    CHECK("previews", {50, 30, REDUCED, .parent = NONE, .role = IMAGE, .owner = 0, .mask = NONE},
          {25, 15, REDUCED, .parent = NONE, .role = IMAGE, .owner = 1, .mask = NONE});
    CHECK("a mask beside a preview",
          {50, 30, MASK, .parent = NONE, .role = MASKING, .owner = 1, .mask = NONE},
          {50, 30, REDUCED, .parent = NONE, .role = IMAGE, .owner = 1, .mask = 0});
    CHECK("masks alone stay masks",
          {50, 30, MASK, .parent = NONE, .role = MASKING, .owner = NONE, .mask = NONE});
}

Test(roles, subifds)
{
    CHECK("a pyramid", {100, 60, NONE, .parent = NONE, .role = IMAGE, .owner = 0, .mask = NONE},
          {90, 90, NONE, .parent = NONE, .role = IMAGE, .owner = 1, .mask = NONE},
          {50, 30, REDUCED, .parent = 0, .role = LEVEL, .owner = 0, .mask = NONE},
          {25, 15, NONE, .parent = 0, .role = LEVEL, .owner = 0, .mask = NONE},
          {45, 45, REDUCED, .parent = 1, .role = LEVEL, .owner = 1, .mask = NONE},
          {12, 8, REDUCED, .parent = 2, .role = LEVEL, .owner = 0, .mask = NONE});
    CHECK("a camera's raw file",
          {30, 20, REDUCED, .samples = 3, .parent = NONE, .role = THUMBNAIL, .owner = NONE,
           .mask = NONE},
          {4000, 3000, 0, .bits = 16, .parent = 0, .role = IMAGE, .owner = 1, .mask = NONE},
          {400, 300, REDUCED, .samples = 3, .parent = 0, .role = THUMBNAIL, .owner = NONE,
           .mask = NONE});
    CHECK("full resolution below an image",
          {100, 60, NONE, .parent = NONE, .role = IMAGE, .owner = 0, .mask = NONE},
          {50, 30, 0, .parent = 0, .role = IMAGE, .owner = 1, .mask = NONE},
          {70, 70, NONE, .parent = 0, .role = IMAGE, .owner = 2, .mask = NONE});
    CHECK("JPEG data without a size, as in EXIF",
          {100, 60, NONE, .parent = NONE, .role = IMAGE, .owner = 0, .mask = NONE},
          {0, 0, NONE, .parent = 0, .role = THUMBNAIL, .owner = NONE, .mask = NONE});
}

Test(roles, masks)
{
    CHECK("of the image and of its level",
          {100, 60, NONE, .parent = NONE, .role = IMAGE, .owner = 0, .mask = 1},
          {100, 60, MASK, .parent = NONE, .role = MASKING, .owner = 0, .mask = NONE},
          {50, 30, REDUCED, .parent = NONE, .role = LEVEL, .owner = 0, .mask = 3},
          {50, 30, MASK | REDUCED, .parent = NONE, .role = MASKING, .owner = 2, .mask = NONE});
    CHECK("the nearest page before it, else behind it",
          {100, 60, NONE, .parent = NONE, .role = IMAGE, .owner = 0, .mask = NONE},
          {100, 60, NONE, .parent = NONE, .role = IMAGE, .owner = 1, .mask = 2},
          {100, 60, MASK, .parent = NONE, .role = MASKING, .owner = 1, .mask = NONE},
          {9, 9, MASK, .parent = NONE, .role = MASKING, .owner = 4, .mask = NONE},
          {9, 9, NONE, .parent = NONE, .role = IMAGE, .owner = 4, .mask = 3});
    CHECK("the first of two masks counts",
          {100, 60, NONE, .parent = NONE, .role = IMAGE, .owner = 0, .mask = 1},
          {100, 60, MASK, .parent = NONE, .role = MASKING, .owner = 0, .mask = NONE},
          {100, 60, MASK, .parent = NONE, .role = MASKING, .owner = 0, .mask = NONE});
    CHECK("below its image, and of another size",
          {100, 60, NONE, .parent = NONE, .role = IMAGE, .owner = 0, .mask = 2},
          {90, 60, MASK, .parent = NONE, .role = MASKING, .owner = NONE, .mask = NONE},
          {100, 60, MASK, .parent = 0, .role = MASKING, .owner = 0, .mask = NONE});
    CHECK("not of a thumbnail",
          {100, 60, NONE, .parent = NONE, .role = IMAGE, .owner = 0, .mask = NONE},
          {9, 9, REDUCED, .samples = 3, .parent = NONE, .role = THUMBNAIL, .owner = NONE,
           .mask = NONE},
          {9, 9, MASK, .parent = NONE, .role = MASKING, .owner = NONE, .mask = NONE});
}

/* n channels of a slide, and as many levels of one size, twice. */
Test(roles, levels_of_channels)
{
    enum { CHANNELS = 3 };
    Page pages[3 * CHANNELS];
    for (int i = 0; i < 3 * CHANNELS; i++) {
        const int size = i / CHANNELS;
        pages[i] = (Page){.width = 100u >> size,
                          .height = 60u >> size,
                          .type = size ? REDUCED : 0,
                          .parent = NONE,
                          .role = size ? LEVEL : IMAGE,
                          .owner = i % CHANNELS,
                          .mask = NONE};
    }
    check("channels", pages, 3 * CHANNELS);
    for (int i = CHANNELS; i < 2 * CHANNELS; i++)
        pages[i].owner = CHANNELS - 1;
    pages[2 * CHANNELS - 1] = (Page){.width = 7,
                                     .height = 50,
                                     .parent = NONE,
                                     .role = IMAGE,
                                     .owner = 2 * CHANNELS - 1,
                                     .mask = NONE};
    check("fewer levels than channels are of the last", pages, 2 * CHANNELS);
}

/* Masks look for their pages no further than levels go: a file of masks alone takes no time. */
Test(roles, many_pages, .timeout = 60)
{
    Page *const pages = calloc(MOST_PAGES, sizeof *pages);
    for (int i = 0; i < MOST_PAGES; i++)
        pages[i] = (Page){.width = 10,
                          .height = 10,
                          .type = MASK,
                          .parent = NONE,
                          .role = MASKING,
                          .owner = NONE,
                          .mask = NONE};
    check("masks", pages, MOST_PAGES);
    pages[0] =
        (Page){.width = 10, .height = 10, .type = 0, .parent = NONE, .role = IMAGE, .mask = 1};
    for (int i = 1; i <= 256; i++)
        pages[i].owner = 0;
    check("far masks", pages, MOST_PAGES);
    free(pages);
}
