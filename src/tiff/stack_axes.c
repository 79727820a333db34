/* SPDX-License-Identifier: MIT */
/* stack_axes.c: which page lies where along channel, z and time, put together from the texts. */
#include "tiff/stack_axes.h"

#include <stdlib.h>
#include <string.h>

/* ---- For the readers of texts ---- */

bool stack_image_add(StackAxes *axes, const StackImage *image)
{
    for (unsigned i = 0; i < STACK_AXES; i++)
        if (image->size[i] == 0 || image->size[i] > STACK_MOST_SIZE)
            return false;
    if (image->size[AXIS_C] > STACK_MOST_CHANNELS || axes->n_images == STACK_MOST_CHANNELS)
        return false;
    if ((axes->n_images & (axes->n_images - 1)) == 0) { /* room is the next power of two */
        const size_t room = axes->n_images ? 2 * (size_t)axes->n_images : 1;
        StackImage *const larger = realloc(axes->image, room * sizeof *larger);
        axes->no_memory = !larger;
        if (!larger)
            return false;
        axes->image = larger;
    }
    axes->image[axes->n_images++] = *image;
    return true;
}

bool stack_name_add(StackAxes *axes, const char *name)
{
    if (axes->n_names == STACK_MOST_CHANNELS)
        return false;
    if (axes->n_names == axes->names_room) {
        const uint32_t room = axes->names_room ? 2 * axes->names_room : 4;
        void *const larger = realloc(axes->name, room * sizeof *axes->name);
        axes->no_memory = !larger;
        if (!larger)
            return false;
        axes->name = larger;
        axes->names_room = room;
    }
    char *const to = axes->name[axes->n_names++];
    const size_t n = strlen(name);
    memset(to, 0, STACK_NAME_BYTES);
    if (n < STACK_NAME_BYTES)
        memcpy(to, name, n);
    return true;
}

bool stack_place(StackAxes *axes, uint32_t image, uint32_t page, uint64_t count,
                 const uint32_t at[STACK_AXES])
{
    const StackImage *const in = &axes->image[image];
    StackPlane plane = {.image = image, .known = true};
    if (page > axes->n || count > axes->n - page)
        return false;
    for (unsigned i = 0; i < STACK_AXES; i++) {
        plane.at[i] = at[i];
        if (at[i] >= in->size[i])
            return false;
    }
    for (uint64_t i = 0; i < count; i++) {
        if (plane.at[in->order[2]] >= in->size[in->order[2]] || axes->plane[page + i].known)
            return false;
        axes->plane[page + i] = plane;
        for (unsigned k = 0; k < STACK_AXES; k++) {
            const unsigned axis = in->order[k];
            if (++plane.at[axis] < in->size[axis] || k == STACK_AXES - 1)
                break;
            plane.at[axis] = 0;
        }
    }
    return true;
}

uint32_t stack_place_images(StackAxes *axes, const StackPages *pages, uint32_t image,
                            uint32_t first, uint64_t count)
{
    const StackImage *const in = &axes->image[image];
    uint32_t page = first;
    if (count != stack_image_planes(in))
        return 0;
    for (uint64_t i = 0; i < count; i++, page++) {
        uint32_t at[STACK_AXES];
        uint64_t rest = i;
        for (unsigned k = 0; k < STACK_AXES; k++) {
            at[in->order[k]] = (uint32_t)(rest % in->size[in->order[k]]);
            rest /= in->size[in->order[k]];
        }
        while (page < pages->n && pages->other && pages->other[page])
            page++;
        if (!stack_place(axes, image, page, 1, at))
            return 0;
    }
    return page;
}

/* ---- Putting together ---- */

StackText stack_text_kind(const char *description)
{
    const char *at = description;
    while (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')
        at++;
    if (strncmp(description, "ImageJ=", 7) == 0)
        return STACK_IMAGEJ;
    if (*at == '{')
        return STACK_SHAPED;
    const size_t n = strlen(at);
    const char *const end = n > 32 ? at + n - 32 : at; /* "</OME>", "</OME:OME>", blanks */
    return *at == '<' && strstr(end, "OME>") ? STACK_OME : STACK_TEXT_OTHER;
}

uint64_t stack_planes_contiguous(const char *description, const StackPages *first)
{
    switch (stack_text_kind(description)) {
    case STACK_IMAGEJ:
        return imagej_planes_contiguous(description);
    case STACK_SHAPED:
        return shaped_planes_contiguous(description, first);
    default:
        return 1;
    }
}

/* Images with the channels of the first one share them: positions of a stage, for example. */
static bool has_same_channels(const StackAxes *axes, const StackImage *image, uint32_t names_at)
{
    const uint32_t n = image->size[AXIS_C];
    if (n != axes->image[0].size[AXIS_C] || names_at + n > axes->n_names)
        return false;
    for (uint32_t c = 0; c < n; c++)
        if (!*axes->name[c] || strcmp(axes->name[c], axes->name[names_at + c]) != 0)
            return false;
    return true;
}

/* Counts channels over all images. */
static bool finish(StackAxes *axes, const StackPages *pages)
{
    uint32_t names_at = 0; /* of the image, among those read */
    for (uint32_t i = 0; i < axes->n_images; i++) {
        StackImage *const image = &axes->image[i];
        const uint32_t n = image->size[AXIS_C], to = axes->size[AXIS_C];
        for (unsigned axis = AXIS_Z; axis < STACK_AXES; axis++)
            if (image->size[axis] > axes->size[axis])
                axes->size[axis] = image->size[axis];
        if (i == 0 || !has_same_channels(axes, image, names_at)) {
            if (n > STACK_MOST_CHANNELS - to)
                return false;
            image->first_c = to;
            axes->size[AXIS_C] = to + n;
            for (uint32_t c = 0; c < n && to != names_at && names_at + c < axes->n_names; c++)
                memcpy(axes->name[to + c], axes->name[names_at + c], STACK_NAME_BYTES);
        }
        names_at += n;
    }
    axes->n_names = axes->n_names < axes->size[AXIS_C] ? axes->n_names : axes->size[AXIS_C];
    while (axes->n_names < axes->size[AXIS_C])
        if (!stack_name_add(axes, ""))
            return false;
    for (uint32_t i = 0; i < axes->n; i++) {
        StackPlane *const plane = &axes->plane[i];
        if (!plane->known && !(pages->other && pages->other[i]))
            return false;
        if (plane->known)
            plane->at[AXIS_C] += axes->image[plane->image].first_c;
    }
    return true;
}

/* Series of tifffile: the first page of each has a description of its own. */
static bool read_shaped(const StackTexts *texts, const StackPages *pages, StackAxes *axes)
{
    for (uint32_t page = 0; page < pages->n;) {
        const char *const text = texts->description(texts->context, page);
        uint32_t next = 0;
        if (pages->other && pages->other[page]) {
            page++;
            continue;
        }
        if (!text || stack_text_kind(text) != STACK_SHAPED ||
            !shaped_axes_read(text, pages, page, &next, axes))
            return false;
        if (axes->n_images == 0) /* names no axes */
            return page == 0;
        page = next;
    }
    return true;
}

/* Counts images in their full resolution. */
static uint32_t count_images(const StackPages *pages)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < pages->n; i++)
        n += !(pages->other && pages->other[i]);
    return n;
}

ImgstatResult stack_axes_read(const StackTexts *texts, const StackPages *pages, Warnings *warnings,
                              StackAxes *out, ImgstatError *err)
{
    static const char *const names[] = {[STACK_OME] = "OME-XML",
                                        [STACK_IMAGEJ] = "ImageJ description",
                                        [STACK_SHAPED] = "shape in JSON"};
    *out = (StackAxes){.n = pages->n};
    const char *const text = pages->n > 0 ? texts->description(texts->context, 0) : NULL;
    const StackText kind = text ? stack_text_kind(text) : STACK_TEXT_OTHER;
    if (kind == STACK_TEXT_OTHER)
        return IMGSTAT_OK;
    out->plane = calloc(pages->n, sizeof *out->plane);
    if (!out->plane)
        return error_memory(err, pages->n * sizeof *out->plane, "axes");
    bool damaged = false;
    const bool read = kind == STACK_OME      ? ome_axes_read(text, pages, out, &damaged)
                      : kind == STACK_IMAGEJ ? imagej_axes_read(text, &texts->imagej, pages, out)
                                             : read_shaped(texts, pages, out);
    const bool ok = read && (out->n_images == 0 || finish(out, pages)), no_memory = out->no_memory;
    if (ok && out->n_images > 0)
        return IMGSTAT_OK;
    stack_axes_release(out);
    if (no_memory)
        return error_memory(err, 0, "axes");
    if (damaged)
        warnings_report(warnings, "its OME-XML is damaged or too large; its axes are not used");
    const uint32_t n = count_images(pages);
    /* The only image has its planes as samples; GDAL copies tifffile's text to such files. */
    const bool harmless = kind == STACK_SHAPED && n == 1 && pages->samples > 1;
    if (!ok && !damaged && !harmless)
        warnings_report(warnings, "its %s contradicts its %u page%s; its axes are not used",
                        names[kind], n, n == 1 ? "" : "s");
    return IMGSTAT_OK;
}

void stack_axes_release(StackAxes *axes)
{
    free(axes->plane);
    free(axes->image);
    free(axes->name);
    *axes = (StackAxes){.plane = NULL};
}

/* ---- Selecting ---- */

/* Numbers the positions that are left. */
static void renumber(StackSelection *out, const uint32_t size[STACK_AXES])
{
    for (unsigned axis = 0; axis < STACK_AXES; axis++) {
        for (uint32_t i = 0; i < out->n; i++)
            out->kept[axis][out->plane[i].at[axis]] = 0;
        for (uint32_t i = 0; i < size[axis]; i++)
            if (out->kept[axis][i] == 0)
                out->kept[axis][i] = out->size[axis]++;
        for (uint32_t i = 0; i < out->n; i++)
            out->plane[i].at[axis] = out->kept[axis][out->plane[i].at[axis]];
    }
}

static bool is_grid(const StackSelection *selection, const StackImage *image)
{
    const uint32_t *const size = selection->size;
    if (selection->n != (uint64_t)size[0] * size[1] * size[2])
        return false;
    for (uint32_t i = 0; i < selection->n; i++) {
        uint32_t rest = i;
        for (unsigned k = 0; k < STACK_AXES; k++) {
            const unsigned axis = image->order[k];
            if (selection->plane[i].at[axis] != rest % size[axis])
                return false;
            rest /= size[axis];
        }
    }
    return true;
}

ImgstatResult stack_axes_select(const StackAxes *from, uint32_t image, const uint32_t *keep,
                                uint32_t n_keep, StackSelection *out, ImgstatError *err)
{
    const StackImage *const in = &from->image[image];
    *out = (StackSelection){.n = 0};
    out->page = malloc((n_keep + (size_t)1) * sizeof *out->page);
    out->plane = malloc((n_keep + (size_t)1) * sizeof *out->plane);
    bool ok = out->page && out->plane;
    for (unsigned axis = 0; axis < STACK_AXES; axis++) {
        out->kept[axis] = malloc(in->size[axis] * sizeof *out->kept[axis]);
        ok = ok && out->kept[axis];
        if (ok)
            memset(out->kept[axis], 0xFF, in->size[axis] * sizeof *out->kept[axis]);
    }
    if (!ok) {
        stack_selection_release(out);
        return error_memory(err, n_keep * sizeof *out->plane, "axes");
    }
    for (uint32_t i = 0; i < n_keep; i++) {
        if (keep[i] >= from->n || !from->plane[keep[i]].known ||
            from->plane[keep[i]].image != image)
            continue;
        out->page[out->n] = i;
        out->plane[out->n] = from->plane[keep[i]];
        out->plane[out->n++].at[AXIS_C] -= in->first_c;
    }
    renumber(out, in->size);
    out->is_grid = is_grid(out, in);
    return IMGSTAT_OK;
}

void stack_selection_release(StackSelection *selection)
{
    free(selection->page);
    free(selection->plane);
    for (unsigned axis = 0; axis < STACK_AXES; axis++)
        free(selection->kept[axis]);
    *selection = (StackSelection){.n = 0};
}
