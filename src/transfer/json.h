/* SPDX-License-Identifier: MIT */
/* json.h: transfers as JSON text. */
#ifndef IMGSTAT_TRANSFER_JSON_H
#define IMGSTAT_TRANSFER_JSON_H

#include "transfer/transfer.h"

enum {
    TRANSFER_VERSION = 1,           /* of the schema */
    TRANSFER_SET_VERSION = 2,       /* of a set */
    TRANSFER_MAX_BYTES = 256 << 20, /* of the text: 65,536 levels of some hundred channels */
    TRANSFER_MEMORY = 1 << 30       /* default bound of the memory for reading */
};

/* Returns one line of text without a newline; the caller frees it. NULL on allocation failure.
 * Given the first transfer of a set, it writes all of the set. */
char *transfer_to_json(const Transfer *transfer, ImgstatError *err);
/* Returns one line of text without a newline; the caller frees it: what transfer_to_json writes
 * without tables and knots, but with the known parameters of every map. Describes one transfer of a
 * set. NULL on allocation failure. */
char *transfer_describe(const Transfer *transfer, ImgstatError *err);
/* Describes a whole set, or a single transfer, as transfer_describe does. */
char *transfer_describe_set(const Transfer *set, ImgstatError *err);
/* Describes IMGSTAT_CLAHE, which has no transfer, as transfer_describe does. */
char *transfer_describe_clahe(const ImgstatMethod *method, ImgstatError *err);
/* Creates a transfer from `bytes` bytes of text, which may hold anything. `name` begins every
 * message. memory: bytes that reading may take; 0: TRANSFER_MEMORY. */
ImgstatResult transfer_from_json(const char *text, size_t bytes, const char *name, uint64_t memory,
                                 Transfer **out, ImgstatError *err);

#endif
