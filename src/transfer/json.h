/* SPDX-License-Identifier: MIT */
/* json.h: transfers as JSON text. imgstat_transfer_save and _load put it into files. */
#ifndef IMGSTAT_TRANSFER_JSON_H
#define IMGSTAT_TRANSFER_JSON_H

#include "transfer/transfer.h"

enum {
    TRANSFER_VERSION = 1,          /* of the schema */
    TRANSFER_MAX_BYTES = 256 << 20 /* of a file: 65,536 levels of some hundred channels */
};

/* By ImgstatTransform, by ImgstatLike. */
extern const char *const transfer_transform_names[];
extern const char *const transfer_like_names[];

/* One line of text, to be freed; NULL: out of memory. */
char *transfer_to_json(const Transfer *transfer, ImgstatError *err);
/* `name` starts every message. Any bytes are safe to give. */
ImgstatResult transfer_from_json(const char *text, size_t bytes, const char *name, Transfer **out,
                                 ImgstatError *err);

#endif
