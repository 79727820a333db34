/* SPDX-License-Identifier: MIT */
/* roles.c: images, their levels and masks, and thumbnails are told apart by their directories. */
#include "tiff/directories.h"

#include <tiffio.h>

static bool is_mask(const TiffFacts *facts)
{
    return facts->type & FILETYPE_MASK;
}

static bool is_reduced(const TiffFacts *facts)
{
    return facts->type & FILETYPE_REDUCEDIMAGE;
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

/* The image or level of that size which comes last before a mask, among its siblings or as its
 * parent. */
static uint32_t masked_page(const PageList *list, uint32_t mask)
{
    enum { FAR = 256 }; /* no file has more levels */
    const PageEntry *const entry = &list->entry[mask];
    for (uint32_t i = mask; i-- > 0 && mask - i <= FAR;) {
        const PageEntry *const other = &list->entry[i];
        const bool related = other->parent == entry->parent || i == entry->parent;
        if (related && other->width == entry->width && other->height == entry->height &&
            (other->role == IMGSTAT_ROLE_IMAGE || other->role == IMGSTAT_ROLE_LEVEL))
            return i;
    }
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
        if (is_mask(&facts[i])) {
            entry->role = IMGSTAT_ROLE_MASK;
            entry->owner = IMGSTAT_NO_PAGE;
        } else if (is_reduced(&facts[i]) || (below && !facts[i].has_type && fits)) {
            entry->role = fits ? IMGSTAT_ROLE_LEVEL : IMGSTAT_ROLE_THUMBNAIL;
            entry->owner = fits ? of : IMGSTAT_NO_PAGE;
        } else if (!below) {
            image = i;
        }
    }
}

/* A file that holds nothing but previews, or nothing but masks, holds them as its images. */
static bool promote(PageList *list, ImgstatRole role)
{
    bool any = false;
    for (uint32_t i = 0; i < list->n; i++) {
        if (list->entry[i].role != role)
            continue;
        list->entry[i].role = IMGSTAT_ROLE_IMAGE;
        list->entry[i].owner = i;
        any = true;
    }
    return any;
}

void tiff_roles_find(PageList *list, const TiffFacts *facts)
{
    find_images(list, facts);
    bool any = false;
    for (uint32_t i = 0; i < list->n; i++)
        any = any || list->entry[i].role == IMGSTAT_ROLE_IMAGE;
    if (!any && !promote(list, IMGSTAT_ROLE_THUMBNAIL))
        (void)promote(list, IMGSTAT_ROLE_MASK);
    for (uint32_t i = 0; i < list->n; i++) {
        if (list->entry[i].role != IMGSTAT_ROLE_MASK)
            continue;
        const uint32_t of = masked_page(list, i);
        list->entry[i].owner = of;
        if (of != IMGSTAT_NO_PAGE && list->entry[of].mask == IMGSTAT_NO_PAGE)
            list->entry[of].mask = i;
    }
}
