/* SPDX-License-Identifier: MIT */
/* layout.c: describes how a page is stored in its file. */
#include "base/compiler.h"
#include "codec/codec.h"

#include <string.h>

void layout_add(ImgstatLayout *layout, const char *metadata)
{
    for (uint32_t i = 0; i < layout->n_metadata; i++)
        if (strcmp(layout->metadata[i], metadata) == 0)
            return;
    if (layout->n_metadata < ARRAY_LEN(layout->metadata))
        layout->metadata[layout->n_metadata++] = metadata;
}

static void add_metadata(ImgstatLayout *layout, const Metadata *metadata)
{
    static const char *const names[] = {[METADATA_PROFILE] = "icc",
                                        [METADATA_RESOLUTION] = "resolution",
                                        [METADATA_TIME] = "time",
                                        [METADATA_EXIF] = "exif",
                                        [METADATA_XMP] = "xmp",
                                        [METADATA_IPTC] = "iptc",
                                        [METADATA_PHOTOSHOP] = "photoshop"};
    bool texts = false;
    for (size_t i = 0; i < metadata->n; i++) {
        if (metadata->item[i].kind != METADATA_TEXT)
            layout_add(layout, names[metadata->item[i].kind]);
        else if (!texts)
            layout_add(layout, "text");
        texts = texts || metadata->item[i].kind == METADATA_TEXT;
    }
}

ImgstatResult imgstat_file_layout(ImgstatFile *file, ImgstatLayout *out, ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(file && out, __func__, err));
    Decoder *const decoder = file->decoder;
    if (!decoder->channel_names && !decoder->outlined)
        return error_file(err, IMGSTAT_ERR_ARG, file->source->name, "no page is selected");
    Metadata metadata = {.n = 0};
    Warnings silent = {.name = file->source->name};
    *out = (ImgstatLayout){.compression = "", .predictor = "none"};
    ImgstatResult res =
        decoder->outlined ? IMGSTAT_OK : decoder_metadata(decoder, &metadata, &silent, err);
    if (res == IMGSTAT_OK) {
        add_metadata(out, &metadata);
        decoder->codec->layout(decoder, out);
    }
    res = decoder_settle(decoder, res, err);
    metadata_release(&metadata);
    warnings_release(&silent);
    return res;
}
