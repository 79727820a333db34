/* SPDX-License-Identifier: MIT */
/* transfer_json.h: transfers as JSON text. imgstat_transfer_save and _load put it into files. */
#ifndef IMGSTAT_TRANSFER_JSON_H
#define IMGSTAT_TRANSFER_JSON_H

#include "transfer.h"

/* One line of text, to be freed; NULL: out of memory. */
char *transfer_to_json(const Transfer *transfer, ImgstatError *err);
/* `name` starts every message. Any bytes are safe to give. */
ImgstatResult transfer_from_json(const char *text, size_t bytes, const char *name, Transfer **out,
                                 ImgstatError *err);

#endif
