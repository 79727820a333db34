/* SPDX-License-Identifier: MIT */
/* page_axes.c: the texts of a file that declare axes, loaded, and the pages that they place. */
#include "tiff/directories.h"
#include "tiff/field_rewrite.h"

#include <stdlib.h>
#include <string.h>
#include <tiffio.h>

ImgstatResult tiff_imagej_load(const TiffTagSource *from, uint64_t at, ImagejMetadata *out,
                               ImgstatError *err)
{
    TiffLoaded data, counts = {.data = NULL};
    *out = (ImagejMetadata){.data = NULL};
    IMGSTAT_TRY(tiff_tag_load(from, at, TAG_IMAGEJ_METADATA, &data, err));
    ImgstatResult res = IMGSTAT_OK;
    if (data.data)
        res = tiff_tag_load(from, at, TAG_IMAGEJ_COUNTS, &counts, err);
    if (res != IMGSTAT_OK || !counts.data || counts.type != TIFF_LONG ||
        (data.type != TIFF_BYTE && data.type != TIFF_UNDEFINED)) {
        free(data.data);
        free(counts.data);
        return res;
    }
    *out = (ImagejMetadata){.data = data.data,
                            .bytes = data.bytes,
                            .counts = (uint32_t *)(void *)counts.data,
                            .n_counts = counts.count};
    return IMGSTAT_OK;
}

/* The text of the page asked for last. */
typedef struct Texts {
    TiffTagSource from;
    const PageList *list;
    TiffLoaded text;
    ImgstatResult result;
    ImgstatError *err;
} Texts;

static const char *description(void *context, uint32_t page)
{
    Texts *const texts = context;
    free(texts->text.data);
    texts->text.data = NULL;
    if (texts->result == IMGSTAT_OK)
        texts->result = tiff_tag_load(&texts->from, texts->list->entry[page].at,
                                      TIFFTAG_IMAGEDESCRIPTION, &texts->text, texts->err);
    return (const char *)texts->text.data;
}

static ImgstatResult read_axes(Texts *texts, Warnings *warnings, StackAxes *axes, ImgstatError *err)
{
    const PageList *const list = texts->list;
    bool *const other = malloc(list->chain * sizeof *other);
    StackTexts stack = {.description = description, .context = texts};
    if (!other)
        return error_memory(err, list->chain * sizeof *other, "axes");
    for (uint32_t i = 0; i < list->chain; i++)
        other[i] = list->entry[i].role != IMGSTAT_ROLE_IMAGE;
    TiffLoaded samples;
    ImgstatResult res =
        tiff_tag_load(&texts->from, list->entry[0].at, TIFFTAG_SAMPLESPERPIXEL, &samples, err);
    StackPages pages = {.n = list->chain,
                        .other = other,
                        .samples = 1,
                        .width = list->entry[0].width,
                        .height = list->entry[0].height};
    if (res == IMGSTAT_OK && samples.data && samples.type == TIFF_SHORT)
        pages.samples = *(const uint16_t *)(const void *)samples.data;
    if (res == IMGSTAT_OK)
        free(samples.data);
    if (res == IMGSTAT_OK)
        res = tiff_imagej_load(&texts->from, list->entry[0].at, &stack.imagej, err);
    if (res == IMGSTAT_OK)
        res = stack_axes_read(&stack, &pages, warnings, axes, err);
    free((void *)(uintptr_t)stack.imagej.data);
    free((void *)(uintptr_t)stack.imagej.counts);
    free(other);
    return res == IMGSTAT_OK ? texts->result : res;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Returns the names of all channels in the order of strcmp; NULL on allocation failure. */
static const char **sorted_names(const StackAxes *axes)
{
    const char **const names = malloc((axes->n_names + (size_t)1) * sizeof *names);
    for (uint32_t c = 0; names && c < axes->n_names; c++)
        names[c] = axes->name[c];
    if (names)
        qsort(names, axes->n_names, sizeof *names, compare_names);
    return names;
}

/* Whether several of the sorted names are equal to one of them. */
static bool name_repeats(const char **names, uint32_t n, const char *name)
{
    const char **const at = bsearch(&name, names, n, sizeof *names, compare_names);
    const char **const end = names + n;
    return at && ((at > names && strcmp(at[-1], name) == 0) ||
                  (at + 1 < end && strcmp(at[1], name) == 0));
}

ImgstatResult tiff_axes_find(const Source *source, PageList *list, Warnings *warnings,
                             StackAxes *axes, ImgstatError *err)
{
    Texts texts = {.list = list, .err = err};
    *axes = (StackAxes){.n = 0};
    if (!tiff_tag_source(source, &texts.from))
        return IMGSTAT_OK;
    const char *const text = description(&texts, 0);
    ImgstatResult res = texts.result;
    if (text && stack_text_kind(text) != STACK_TEXT_OTHER)
        res = read_axes(&texts, warnings, axes, err);
    free(texts.text.data);
    const char **const names = res == IMGSTAT_OK ? sorted_names(axes) : NULL;
    if (res == IMGSTAT_OK && !names)
        res = error_memory(err, axes->n_names * sizeof *names, "axes");
    if (res != IMGSTAT_OK)
        stack_axes_release(axes);
    for (uint32_t i = 0; i < axes->n && axes->plane; i++) {
        const StackPlane *const plane = &axes->plane[i];
        PageEntry *const entry = &list->entry[i];
        if (!plane->known)
            continue;
        const char *const name = axes->name[plane->at[AXIS_C]];
        entry->has_axes = true;
        entry->axis_c = plane->at[AXIS_C];
        entry->axis_z = plane->at[AXIS_Z];
        entry->axis_t = plane->at[AXIS_T];
        entry->axis_name = *name ? name : NULL;
        entry->axis_repeats = *name && name_repeats(names, axes->n_names, name);
    }
    free(names);
    return res;
}
