/* SPDX-License-Identifier: MIT */
/* shaped_text.c: the JSON in which tifffile describes an array of any number of axes, {"shape": [2,
 * 5, 64, 48], "axes": "TZYX"}: read, and rewritten where an output has some of the pages. */
#include "tiff/field_rewrite.h"
#include "tiff/stack_axes.h"

#include <json-c/json.h>
#include <string.h>

enum { SHAPED_MOST_AXES = 16, SHAPED_MOST_DEPTH = 16, SHAPED_MOST_BYTES = 1 << 24 };

typedef struct ShapedText {
    size_t n, leading; /* axes; those of planes come first */
    uint32_t size[SHAPED_MOST_AXES];
    char axes[SHAPED_MOST_AXES + 1]; /* a letter for each; "": not named */
    uint64_t planes;                 /* product of the leading sizes; at most UINT32_MAX */
    bool truncated;                  /* one directory stands for all planes */
} ShapedText;

/* Parses a description, to be freed with json_object_put. Returns NULL if it is other JSON or none.
 */
static json_object *shaped_parse(const char *text)
{
    struct json_tokener *const tokener = json_tokener_new_ex(SHAPED_MOST_DEPTH);
    const size_t bytes = strlen(text);
    if (!tokener)
        return NULL;
    json_object *object =
        bytes <= SHAPED_MOST_BYTES ? json_tokener_parse_ex(tokener, text, (int)bytes + 1) : NULL;
    json_object *shape;
    if (object && (!json_object_is_type(object, json_type_object) ||
                   !json_object_object_get_ex(object, "shape", &shape) ||
                   !json_object_is_type(shape, json_type_array))) {
        json_object_put(object);
        object = NULL;
    }
    json_tokener_free(tokener);
    return object;
}

/* Sizes behind those of planes: rows and columns, with samples in front or behind. */
static size_t page_dimensions(const uint32_t *size, size_t n, const char *axes,
                              const StackPages *pages)
{
    size_t of_page = 2;
    if (axes) {
        const char *const y = strchr(axes, 'Y');
        of_page = y ? n - (size_t)(y - axes) : n;
        if (!y || y == axes)
            return of_page;
        /* Separate planes are samples, whatever their axis is called, unless those lie behind. */
        const bool behind = of_page > 2 && size[n - 1] == pages->samples;
        const bool samples = !behind && pages->samples > 1 && size[y - axes - 1] == pages->samples;
        return y[-1] == 'S' || samples ? of_page + 1 : of_page;
    }
    if (pages->samples > 1 && n > 2 &&
        (size[n - 1] == pages->samples || size[n - 3] == pages->samples))
        of_page = 3;
    /* Other programs copy the text to files with fewer samples: rows and columns decide. */
    if (n > 2 && size[n - 3] == pages->height && size[n - 2] == pages->width &&
        (size[n - 2] != pages->height || size[n - 1] != pages->width))
        of_page = 3;
    return of_page < n ? of_page : n;
}

/* Returns false if the shape makes no sense. */
static bool shaped_read(json_object *object, const StackPages *pages, ShapedText *out)
{
    json_object *shape = NULL, *axes = NULL, *truncated = NULL;
    json_object_object_get_ex(object, "shape", &shape);
    *out = (ShapedText){.n = json_object_array_length(shape), .planes = 1};
    if (out->n == 0 || out->n > SHAPED_MOST_AXES)
        return false;
    for (size_t i = 0; i < out->n; i++) {
        json_object *const number = json_object_array_get_idx(shape, i);
        const int64_t size = json_object_get_int64(number);
        if (!json_object_is_type(number, json_type_int) || size < 1 || size > INT32_MAX)
            return false;
        out->size[i] = (uint32_t)size;
    }
    if (json_object_object_get_ex(object, "axes", &axes) &&
        json_object_is_type(axes, json_type_string) &&
        (size_t)json_object_get_string_len(axes) == out->n)
        memcpy(out->axes, json_object_get_string(axes), out->n);
    out->leading =
        out->n - page_dimensions(out->size, out->n, *out->axes ? out->axes : NULL, pages);
    for (size_t i = 0; i < out->leading; i++) {
        out->planes *= out->size[i];
        if (out->planes > UINT32_MAX)
            return false;
    }
    out->truncated = json_object_object_get_ex(object, "truncated", &truncated) &&
                     json_object_get_boolean(truncated);
    return true;
}

uint64_t shaped_planes_contiguous(const char *text, const StackPages *first)
{
    ShapedText shaped;
    json_object *const object = shaped_parse(text);
    const bool ok = object && shaped_read(object, first, &shaped) && shaped.truncated;
    json_object_put(object);
    return ok && shaped.planes > 0 ? shaped.planes : 1;
}

/* Fills in the sizes and the order of named axes. Returns false if another axis has planes. */
static bool name_axes(const ShapedText *shaped, StackImage *image)
{
    unsigned n = 0, seen = 0;
    for (size_t i = shaped->leading; i-- > 0;) {
        const char letter = *shaped->axes ? shaped->axes[i] : '?';
        const unsigned axis = letter == 'C'   ? AXIS_C
                              : letter == 'Z' ? AXIS_Z
                              : letter == 'T' ? AXIS_T
                                              : STACK_AXES;
        if (shaped->size[i] == 1 && axis == STACK_AXES)
            continue;
        if (axis == STACK_AXES || (seen & 1u << axis))
            return false;
        seen |= 1u << axis;
        image->size[axis] = shaped->size[i];
        image->order[n++] = (uint8_t)axis;
    }
    const bool named = n > 0;
    for (unsigned axis = 0; axis < STACK_AXES; axis++)
        if (!(seen & 1u << axis))
            image->order[n++] = (uint8_t)axis;
    return named;
}

bool shaped_axes_read(const char *text, const StackPages *pages, uint32_t first, uint32_t *next,
                      StackAxes *axes)
{
    ShapedText shaped;
    StackImage image = {.size = {1, 1, 1}, .samples = 1};
    json_object *const object = shaped_parse(text);
    if (!object)
        return first == 0; /* other JSON */
    const bool ok = shaped_read(object, pages, &shaped);
    json_object_put(object);
    if (!ok || shaped.planes > pages->n)
        return false;
    if (!name_axes(&shaped, &image))
        return true;
    if (!stack_image_add(axes, &image))
        return false;
    *next = stack_place_images(axes, pages, axes->n_images - 1, first, shaped.planes);
    for (uint32_t c = 0; c < image.size[AXIS_C]; c++)
        if (!stack_name_add(axes, ""))
            return false;
    return *next > 0;
}

/* ---- Rewriting ---- */

/* New sizes of the leading axes. Returns false if the pages that are left are no such array. */
static bool resize(ShapedText *shaped, const FieldChange *change)
{
    StackSelection kept;
    bool ok = false;
    if (shaped->planes != change->from_pages)
        return false;           /* one series of several */
    if (shaped->leading == 1) { /* of whatever name */
        shaped->size[0] = change->n_pages;
        return true;
    }
    if (!change->axes || change->axes->n_images != 1 ||
        stack_axes_select(change->axes, 0, change->pages, change->n_pages, &kept, NULL) !=
            IMGSTAT_OK)
        return change->n_pages == shaped->planes;
    ok = kept.is_grid;
    for (size_t i = 0; i < shaped->leading; i++) {
        const char letter = shaped->axes[i];
        if (letter == 'C' || letter == 'Z' || letter == 'T')
            shaped->size[i] = kept.size[letter == 'C' ? AXIS_C : letter == 'Z' ? AXIS_Z : AXIS_T];
    }
    stack_selection_release(&kept);
    return ok;
}

ImgstatResult shaped_rewrite(const char *text, const FieldChange *change, Warnings *warnings,
                             FieldResult *out, ImgstatError *err)
{
    const StackPages pages = {.samples = change->from_samples};
    ShapedText shaped;
    json_object *const object = shaped_parse(text);
    if (!object)
        return IMGSTAT_OK; /* other JSON */
    const bool read = shaped_read(object, &pages, &shaped);
    const bool truncated = shaped.truncated && !change->contiguous;
    if (read && !change->pages && change->samples == change->from_samples && !truncated) {
        json_object_put(object);
        return IMGSTAT_OK;
    }
    if (!read || change->samples != change->from_samples ||
        (change->pages && !resize(&shaped, change))) {
        json_object_put(object);
        out->fate = FIELD_GOES;
        warnings_report(warnings, "its shape in JSON is left out: the output has another one");
        return IMGSTAT_OK;
    }
    json_object *shape = NULL;
    json_object_object_get_ex(object, "shape", &shape);
    for (size_t i = 0; i < shaped.leading; i++)
        json_object_array_put_idx(shape, i, json_object_new_int64(shaped.size[i]));
    if (truncated)
        json_object_object_del(object, "truncated");
    const char *const json = json_object_to_json_string_ext(
        object, JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE);
    if (json)
        text_add(&out->text, json, strlen(json));
    json_object_put(object);
    if (!json || out->text.failed)
        return error_memory(err, strlen(text), "a description");
    out->fate = FIELD_CHANGES;
    return IMGSTAT_OK;
}
