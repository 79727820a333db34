/* SPDX-License-Identifier: MIT */
/* request_copy.h: what a worker finds for a request that others work on as well. */
#ifndef IMGSTAT_BATCH_REQUEST_COPY_H
#define IMGSTAT_BATCH_REQUEST_COPY_H

#include "base/error.h"
#include "device/read_request.h"

/* All zero: none is made. */
typedef struct RequestCopy {
    ReadRequest request;
    uint64_t *counts;  /* of digits, then of ranges */
    bool made, shared; /* shared: too large, requests are served one at a time */
} RequestCopy;

/* channels: those of request->central. most: bytes that its counters may take. */
ImgstatResult request_copy_make(const ReadRequest *request, uint16_t channels, size_t most,
                                RequestCopy *copy, ImgstatError *err);

/* Adds what was found to what a request adds to, if there is a copy. */
void request_copy_add(const RequestCopy *copy, const ReadRequest *into, uint16_t channels);

void request_copy_release(RequestCopy *copy);

#endif
