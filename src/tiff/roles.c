/* SPDX-License-Identifier: MIT */
/* roles.c: finds which pages are images, their levels and masks, and thumbnails. */
#include "tiff/directories.h"

#include <tiffio.h>

static bool is_mask(const TiffFacts *facts)
{
    return facts->type & FILETYPE_MASK;
}

/* Whether a page is another one at a lower resolution: of the same samples and smaller, its sides
 * in the same proportion but for rounding to whole pixels. */
static bool is_level_of(const PageList *list, const TiffFacts *facts, uint32_t page, uint32_t of)
{
    const PageEntry *const small = &list->entry[page], *const large = &list->entry[of];
    const TiffFacts *const a = &facts[page], *const b = &facts[of];
    const uint64_t across = (uint64_t)small->width * large->height;
    const uint64_t down = (uint64_t)small->height * large->width;
    const uint64_t apart = across > down ? across - down : down - across;
    const uint64_t a_pixel = large->width > large->height ? large->width : large->height;
    return small->width > 0 && small->height > 0 && small->width <= large->width &&
           small->height <= large->height &&
           (small->width < large->width || small->height < large->height) && apart <= a_pixel &&
           a->bits == b->bits && a->samples == b->samples && a->format == b->format;
}

/* Whether a page has the size of a mask, and is its sibling or parent. */
static bool may_be_masked(const PageList *list, uint32_t page, uint32_t mask)
{
    const PageEntry *const one = &list->entry[page], *const other = &list->entry[mask];
    return (one->parent == other->parent || page == other->parent) && one->width == other->width &&
           one->height == other->height &&
           (one->role == IMGSTAT_ROLE_IMAGE || one->role == IMGSTAT_ROLE_LEVEL);
}

/* The nearest such page before a mask, else behind it. */
static uint32_t masked_page(const PageList *list, uint32_t mask)
{
    enum { FAR = 256 }; /* no file has more levels */
    for (uint32_t i = mask; i-- > 0 && mask - i <= FAR;)
        if (may_be_masked(list, i, mask))
            return i;
    for (uint32_t i = mask + 1; i < list->n && i - mask <= FAR; i++)
        if (may_be_masked(list, i, mask))
            return i;
    return IMGSTAT_NO_PAGE;
}

/* Images, levels and thumbnails. A parent comes before what lies in it. */
static void find_images(PageList *list, const TiffFacts *facts)
{
    uint32_t image = IMGSTAT_NO_PAGE; /* the last one of the chain so far */
    for (uint32_t i = 0; i < list->n; i++) {
        PageEntry *const entry = &list->entry[i];
        const bool below = entry->parent != IMGSTAT_NO_PAGE;
        const uint32_t of = below ? list->entry[entry->parent].owner : image;
        const bool fits = of != IMGSTAT_NO_PAGE && is_level_of(list, facts, i, of);
        const bool sized = entry->width > 0 && entry->height > 0;
        if (is_mask(&facts[i])) {
            entry->role = IMGSTAT_ROLE_MASK;
            entry->owner = IMGSTAT_NO_PAGE;
        } else if ((facts[i].type & FILETYPE_REDUCEDIMAGE) ||
                   (below && !facts[i].has_type && fits) || (below && !sized) ||
                   (i > 0 && facts[i].is_jpeg)) {
            entry->role = fits ? IMGSTAT_ROLE_LEVEL : IMGSTAT_ROLE_THUMBNAIL;
            entry->owner = fits ? of : IMGSTAT_NO_PAGE;
        } else if (!below) {
            image = i;
        }
    }
}

static bool have_one_shape(const PageList *list, const TiffFacts *facts, uint32_t a, uint32_t b)
{
    return list->entry[a].role == list->entry[b].role &&
           list->entry[a].width == list->entry[b].width &&
           list->entry[a].height == list->entry[b].height && facts[a].bits == facts[b].bits &&
           facts[a].samples == facts[b].samples && facts[a].format == facts[b].format;
}

/* Pages of one shape from `page` of the chain on. */
static uint32_t alike(const PageList *list, const TiffFacts *facts, uint32_t page)
{
    uint32_t n = 1;
    while (page + n < list->chain && have_one_shape(list, facts, page, page + n))
        n++;
    return n;
}

/* Slide scanners write the channels of an image, each a page, and then as many levels of one size:
 * level k belongs to channel k. */
static void pair_levels(PageList *list, const TiffFacts *facts)
{
    uint32_t first = 0, n_images = 0, n;
    for (uint32_t i = 0; i < list->chain; i += n) {
        const ImgstatRole role = list->entry[i].role;
        n = alike(list, facts, i);
        if (role == IMGSTAT_ROLE_IMAGE) {
            first = i;
            n_images = n;
        }
        for (uint32_t k = 0; role == IMGSTAT_ROLE_LEVEL && n == n_images && k < n; k++)
            list->entry[i + k].owner = first + k;
    }
}

/* A file that holds nothing but previews holds them as its images. */
static void promote_thumbnails(PageList *list)
{
    for (uint32_t i = 0; i < list->n; i++) {
        if (list->entry[i].role != IMGSTAT_ROLE_THUMBNAIL)
            continue;
        list->entry[i].role = IMGSTAT_ROLE_IMAGE;
        list->entry[i].owner = i;
    }
}

void tiff_roles_find(PageList *list, const TiffFacts *facts)
{
    find_images(list, facts);
    pair_levels(list, facts);
    bool any = false;
    for (uint32_t i = 0; i < list->n; i++)
        any = any || list->entry[i].role == IMGSTAT_ROLE_IMAGE;
    if (!any)
        promote_thumbnails(list);
    for (uint32_t i = 0; i < list->n; i++) {
        if (list->entry[i].role != IMGSTAT_ROLE_MASK)
            continue;
        const uint32_t of = masked_page(list, i);
        list->entry[i].owner = of;
        if (of != IMGSTAT_NO_PAGE && list->entry[of].mask == IMGSTAT_NO_PAGE)
            list->entry[of].mask = i;
    }
}
