/* SPDX-License-Identifier: MIT */
/* shaped_rewrite.c: tifffile's JSON where an output has some of the pages. */
#include "tiff/field_rewrite.h"
#include "tiff/shaped_text.h"

#include <json-c/json.h>
#include <string.h>

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
