/* SPDX-License-Identifier: MIT */
/* extras.c: makes the hash, the preview and the count that a measurement asks for. */
#include "measure/extras.h"

#include "base/sample.h"

ImgstatResult extras_create(const ImgstatMeasure *how, Extras *out, ImgstatError *err)
{
    *out = (Extras){.wanted = how->hash || how->preview > 0 || how->clipped,
                    .side = how->preview,
                    .counts = how->clipped};
    return how->hash ? sample_hash_create(&out->hash, err) : IMGSTAT_OK;
}

void extras_release(Extras *extras)
{
    sample_hash_destroy(extras->hash);
    preview_destroy(extras->preview);
    *extras = (Extras){0};
}

void extras_reset(Extras *extras)
{
    if (extras->hash)
        sample_hash_reset(extras->hash);
    preview_destroy(extras->preview);
    extras->preview = NULL;
    extras->clipped = (Clipped){0};
}

ImgstatResult extras_begin(Extras *extras, const ImagePro *like, uint32_t width, uint32_t height,
                           int32_t alpha, ImgstatError *err)
{
    extras->alpha = alpha;
    extras->counts =
        extras->counts && !sample_is_float(like->sample) && sample_bits(like->sample) <= 16;
    if (extras->hash)
        sample_hash_begin(extras->hash, like, width, height);
    if (extras->side == 0 || extras->preview)
        return IMGSTAT_OK;
    return preview_create(like, width, height, extras->side, &extras->preview, err);
}

void extras_add(Extras *extras, const ImagePro *rows)
{
    if (extras->hash)
        sample_hash_add(extras->hash, rows);
    if (extras->preview)
        preview_add(extras->preview, rows);
    if (extras->counts)
        clipped_add(&extras->clipped, rows, extras->alpha);
}

void extras_keep(Extras *extras, ImgstatRecord *record)
{
    record->has_hash = extras->hash != NULL;
    if (extras->hash)
        sample_hash_write(extras->hash, record->hash);
    if (extras->preview)
        preview_finish(extras->preview);
    record->has_clipped = extras->counts;
    record->clipped = extras->clipped;
    record->preview = extras->preview;
    extras->preview = NULL;
}
