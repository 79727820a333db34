/* SPDX-License-Identifier: MIT */
/* field_rewrite.c: which rewriter a description needs; Photoshop's image resources. */
#include "tiff/field_rewrite.h"

#include "codec/photoshop.h"

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

ImgstatResult photoshop_rewrite(const uint8_t *data, size_t bytes, const FieldChange *change,
                                Warnings *warnings, FieldResult *out, ImgstatError *err)
{
    *out = (FieldResult){.fate = FIELD_STAYS};
    if (!change->values || bytes == 0)
        return IMGSTAT_OK;
    text_add(&out->text, (const char *)data, bytes);
    if (out->text.failed)
        return error_memory(err, bytes, "image resources");
    const size_t left = photoshop_remove_thumbnails((uint8_t *)out->text.data, out->text.n);
    if (left == bytes) {
        field_result_release(out);
        return IMGSTAT_OK;
    }
    out->text.n = left;
    warnings_report(warnings, "its Photoshop thumbnail is left out: it shows the old contrast");
    out->fate = left > 0 ? FIELD_CHANGES : FIELD_GOES;
    return IMGSTAT_OK;
}
