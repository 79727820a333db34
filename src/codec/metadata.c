/* SPDX-License-Identifier: MIT */
/* metadata.c: a short list of items. */
#include "codec/metadata.h"

#include <stdlib.h>
#include <string.h>

const char *metadata_keyword(MetadataText keyword)
{
    static const char *const names[TEXT_KINDS] = {[TEXT_TITLE] = "Title",
                                                  [TEXT_AUTHOR] = "Author",
                                                  [TEXT_DESCRIPTION] = "Description",
                                                  [TEXT_COPYRIGHT] = "Copyright",
                                                  [TEXT_SOFTWARE] = "Software",
                                                  [TEXT_SOURCE] = "Source"};
    return names[keyword];
}

bool metadata_has(const Metadata *metadata, MetadataKind kind, MetadataText keyword)
{
    for (size_t i = 0; i < metadata->n; i++)
        if (metadata->item[i].kind == kind &&
            (kind != METADATA_TEXT || metadata->item[i].keyword == keyword))
            return true;
    return false;
}

ImgstatResult metadata_add(Metadata *metadata, const MetadataItem *item, ImgstatError *err)
{
    if (metadata_has(metadata, item->kind, item->keyword))
        return IMGSTAT_OK;
    if (item->bytes > METADATA_BYTES - metadata->bytes) {
        metadata->lacks = true;
        return IMGSTAT_OK;
    }
    uint8_t *const data = malloc(item->bytes + 1);
    if (!data)
        return error_memory(err, item->bytes + 1, "metadata");
    if (item->bytes > 0)
        memcpy(data, item->data, item->bytes);
    data[item->bytes] = 0;
    MetadataItem *const added = &metadata->item[metadata->n++];
    *added = *item;
    added->data = data;
    metadata->bytes += item->bytes;
    return IMGSTAT_OK;
}

void metadata_release(Metadata *metadata)
{
    for (size_t i = 0; i < metadata->n; i++)
        free(metadata->item[i].data);
    metadata->n = 0;
}
