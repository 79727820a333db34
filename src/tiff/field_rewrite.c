/* SPDX-License-Identifier: MIT */
/* field_rewrite.c: which rewriter a description needs; Photoshop's image resources. */
#include "tiff/field_rewrite.h"

#include <stdlib.h>
#include <string.h>

void field_result_release(FieldResult *result)
{
    text_release(&result->text);
    free(result->counts);
    *result = (FieldResult){.fate = FIELD_STAYS};
}

ImgstatResult description_rewrite(const char *text, const FieldChange *change, Warnings *warnings,
                                  FieldResult *out, ImgstatError *err)
{
    *out = (FieldResult){.fate = FIELD_STAYS};
    if (!change->values && !change->pages)
        return IMGSTAT_OK;
    switch (stack_text_kind(text)) {
    case STACK_OME:
        return ome_rewrite(text, change, warnings, out, err);
    case STACK_IMAGEJ:
        return imagej_description_rewrite(text, change, warnings, out, err);
    case STACK_SHAPED:
        return shaped_rewrite(text, change, warnings, out, err);
    case STACK_TEXT_OTHER:
        break;
    }
    return IMGSTAT_OK;
}

/* ---- Photoshop ---- */

enum { RESOURCE_HEAD = 6, THUMBNAIL_BGR = 1033, THUMBNAIL = 1036 };

static size_t even(size_t n)
{
    return n + (n & 1);
}

/* Bytes of the resource at `at` with its padding, 0 where it is damaged: signature, number, name
 * with its length, size, data. The last one may lack the padding. */
static size_t resource_bytes(const uint8_t *data, size_t bytes, size_t at, unsigned *number)
{
    if (bytes - at < RESOURCE_HEAD + 1)
        return 0;
    const uint8_t *const head = data + at;
    const size_t name = even(1 + (size_t)head[RESOURCE_HEAD]);
    if (bytes - at < RESOURCE_HEAD + name + 4)
        return 0;
    const uint8_t *const size = head + RESOURCE_HEAD + name;
    const size_t n = (size_t)size[0] << 24 | (size_t)size[1] << 16 | (size_t)size[2] << 8 | size[3];
    const size_t before = RESOURCE_HEAD + name + 4;
    *number = (unsigned)(head[4] << 8 | head[5]);
    if (n > bytes - at - before)
        return 0;
    return before + even(n) < bytes - at ? before + even(n) : bytes - at;
}

ImgstatResult photoshop_rewrite(const uint8_t *data, size_t bytes, const FieldChange *change,
                                Warnings *warnings, FieldResult *out, ImgstatError *err)
{
    *out = (FieldResult){.fate = FIELD_STAYS};
    if (!change->values)
        return IMGSTAT_OK;
    size_t at = 0;
    for (size_t n; at < bytes; at += n) {
        unsigned number = 0;
        n = resource_bytes(data, bytes, at, &number);
        if (n == 0)
            break;
        if (number == THUMBNAIL || number == THUMBNAIL_BGR)
            out->fate = FIELD_CHANGES;
        else
            text_add(&out->text, (const char *)data + at, n);
    }
    if (out->fate == FIELD_STAYS) {
        field_result_release(out);
        return IMGSTAT_OK;
    }
    text_add(&out->text, (const char *)data + at, bytes - at); /* damaged: as it is */
    if (out->text.failed)
        return error_memory(err, bytes, "image resources");
    warnings_report(warnings, "its Photoshop thumbnail is left out: it shows the old contrast");
    if (out->text.n == 0)
        out->fate = FIELD_GOES;
    return IMGSTAT_OK;
}
