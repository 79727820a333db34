/* SPDX-License-Identifier: MIT */
/* gdal_metadata.c: GDAL's items of a file and its bands, <Item name="NAME" sample="0"
 * role="ROLE">. */
#include "tiff/field_rewrite.h"
#include "tiff/xml_tags.h"

#include <string.h>

typedef struct ItemWalk {
    const char *text;
    TextBuffer *out;
    size_t copied; /* so many bytes of the text are done */
    bool in_item, goes;
    bool other_bands; /* of the output */
    unsigned n_left, n_gone, n_scales, n_units, n_bands;
    char (*names)[STACK_NAME_BYTES];
    uint16_t n_names;
    uint32_t named; /* band that the item names, UINT32_MAX: none */
} ItemWalk;

static bool has_role(const XmlTag *tag, const char *role)
{
    char text[64];
    return xml_value(tag, "role", text, sizeof text) && strcmp(text, role) == 0;
}

static bool is_statistics(const XmlTag *tag)
{
    char text[128];
    return xml_value(tag, "name", text, sizeof text) && strncmp(text, "STATISTICS_", 11) == 0;
}

static bool on_start(void *context, const XmlTag *tag)
{
    ItemWalk *const walk = context;
    walk->in_item = tag->depth == 1 && strcmp(tag->name, "Item") == 0;
    if (tag->depth != 1)
        return true;
    const bool scale = has_role(tag, "scale") || has_role(tag, "offset");
    const bool unit = has_role(tag, "unittype");
    const bool of_values = scale || unit || is_statistics(tag);
    const bool band = walk->other_bands && !of_values && xml_has(tag, "sample");
    walk->goes = walk->in_item && (of_values || band);
    walk->n_left += !walk->goes;
    walk->n_gone += walk->goes;
    walk->n_scales += walk->goes && scale;
    walk->n_units += walk->goes && unit;
    walk->n_bands += walk->goes && band;
    size_t from = tag->from; /* with the blanks in front of it */
    while (from > 0 && strchr(" \t\r\n", walk->text[from - 1]))
        from--;
    if (walk->goes && walk->out)
        text_add(walk->out, walk->text + walk->copied, from - walk->copied);
    walk->named = UINT32_MAX;
    if (walk->in_item && has_role(tag, "description"))
        (void)xml_number(tag, "sample", &walk->named);
    if (walk->named < walk->n_names)
        walk->names[walk->named][0] = '\0';
    return true;
}

static bool on_end(void *context, const char *name, size_t at)
{
    ItemWalk *const walk = context;
    if (walk->in_item && walk->goes && strcmp(name, "Item") == 0)
        walk->copied = at;
    walk->in_item = false;
    return true;
}

static void on_text(void *context, const char *text, size_t n)
{
    ItemWalk *const walk = context;
    if (!walk->in_item || walk->named >= walk->n_names)
        return;
    char *const name = walk->names[walk->named];
    const size_t used = strlen(name);
    if (n < STACK_NAME_BYTES - used) {
        memcpy(name + used, text, n);
        name[used + n] = '\0';
    }
}

ImgstatResult gdal_metadata_rewrite(const char *text, const FieldChange *change, Warnings *warnings,
                                    FieldResult *out, ImgstatError *err)
{
    static const XmlHandler handler = {.start = on_start, .end = on_end};
    *out = (FieldResult){.fate = FIELD_STAYS};
    if (!change->values)
        return IMGSTAT_OK;
    ItemWalk walk = {
        .text = text, .out = &out->text, .other_bands = change->samples != change->from_samples};
    const size_t bytes = strlen(text);
    const ImgstatResult res = xml_parse(text, bytes, &handler, &walk, err);
    if (res == IMGSTAT_ERR_MEMORY)
        return res;
    if (res != IMGSTAT_OK) {
        text_release(&out->text);
        out->fate = FIELD_GOES;
        warnings_report(warnings, "its GDAL metadata are damaged and left out");
        return IMGSTAT_OK;
    }
    if (walk.n_gone == 0)
        return IMGSTAT_OK;
    text_add(&out->text, text + walk.copied, bytes - walk.copied);
    if (out->text.failed)
        return error_memory(err, bytes, "GDAL metadata");
    out->fate = walk.n_left > 0 ? FIELD_CHANGES : FIELD_GOES;
    if (walk.n_scales > 0)
        warnings_report(warnings, "scale and offset of its bands are left out: they are true of "
                                  "the old values only");
    if (walk.n_units > 0)
        warnings_report(warnings,
                        "units of its bands are left out: they are true of the old values "
                        "only");
    if (walk.n_bands > 0)
        warnings_report(warnings, "what its GDAL metadata say of bands is left out: the output has "
                                  "other bands");
    return IMGSTAT_OK;
}

ImgstatResult gdal_band_names(const char *text, uint16_t n, char (*names)[STACK_NAME_BYTES],
                              ImgstatError *err)
{
    static const XmlHandler handler = {.start = on_start, .end = on_end, .text = on_text};
    ItemWalk walk = {.text = text, .names = names, .n_names = n};
    memset(names, 0, n * sizeof *names);
    const ImgstatResult res = xml_parse(text, strlen(text), &handler, &walk, err);
    if (res != IMGSTAT_OK)
        memset(names, 0, n * sizeof *names);
    return res == IMGSTAT_ERR_MEMORY ? res : IMGSTAT_OK;
}
