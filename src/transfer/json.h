/* SPDX-License-Identifier: MIT */
/* json.h: transfers as JSON text. */
#ifndef IMGSTAT_TRANSFER_JSON_H
#define IMGSTAT_TRANSFER_JSON_H

#include "transfer/transfer.h"

enum {
    TRANSFER_VERSION = 1,           /* of the schema */
    TRANSFER_SET_VERSION = 2,       /* of a set */
    TRANSFER_MAX_BYTES = 256 << 20, /* of the text: 65,536 levels of some hundred channels */
    TRANSFER_MEMORY = 1 << 30       /* that reading it may take where nothing else is said */
};

/* Words of the schema, by ImgstatTransform. */
extern const char *const transfer_transform_names[];
/* Words of the schema, by ImgstatLike. */
extern const char *const transfer_like_names[];

/* Returns one line of text without a newline, to be freed by the caller; NULL on allocation
 * failure. The first transfer of a set stands for all. */
char *transfer_to_json(const Transfer *transfer, ImgstatError *err);
/* Returns one line of text without a newline, to be freed by the caller: transfer_to_json without
 * tables and knots, and with the parameters of every map that has any. Of a set it describes the
 * one transfer. NULL on allocation failure. */
char *transfer_describe(const Transfer *transfer, ImgstatError *err);
/* Returns such a line for a whole set, or a transfer alone. */
char *transfer_describe_set(const Transfer *set, ImgstatError *err);
/* Returns such a line for IMGSTAT_CLAHE, which has no transfer. */
char *transfer_describe_clahe(const ImgstatMethod *method, ImgstatError *err);
/* Creates a transfer from `bytes` bytes of text, which may hold anything. `name` starts every
 * message. memory: that this may take; 0: TRANSFER_MEMORY. */
ImgstatResult transfer_from_json(const char *text, size_t bytes, const char *name, uint64_t memory,
                                 Transfer **out, ImgstatError *err);

#endif
