/* SPDX-License-Identifier: MIT */
/* group_transfer.h: one transfer from several pages of a file. */
#ifndef IMGSTAT_TRANSFORM_GROUP_TRANSFER_H
#define IMGSTAT_TRANSFORM_GROUP_TRANSFER_H

#include "codec/page_group.h"
#include "transform/file.h"

/* Returns the channel, in a set of transfers, of the images of a group over all files. */
static inline TransferChannel transfer_channel_of(const GroupKey *key)
{
    const bool known = key->by == IMGSTAT_BY_CHANNEL;
    return (TransferChannel){.known = known,
                             .c = known ? key->number : 0,
                             .name = known ? key->name : NULL,
                             .group = key->set};
}

/* Returns by what the images of a file are grouped that get transfers of a pipeline. */
ImgstatGrouping group_transfer_by(const Pipeline *pipeline);

/* Makes the transfer of n pages, which must be alike. One of them is selected on return. */
ImgstatResult group_transfer_make(const Pipeline *pipeline, TransformWorker *worker,
                                  ImgstatFile *file, const uint32_t *pages, uint32_t n,
                                  Transfer **out, ImgstatError *err);

/* Estimates what a transfer for images of a shape holds. */
uint64_t group_transfer_bytes(const Pipeline *pipeline, const TransferShape *shape);

/* Estimates what groups of pages take in addition to one page, for the shape of the page that is
 * selected: keys of all pages, and the transfers of groups whose pages alternate. */
ImgstatResult group_transfer_memory(const Pipeline *pipeline, const ImgstatFile *file,
                                    uint64_t *bytes, ImgstatError *err);

#endif
