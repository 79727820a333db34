/* SPDX-License-Identifier: MIT */
/* reference.h: the file that others are matched to. */
#ifndef IMGSTAT_TRANSFORM_REFERENCE_H
#define IMGSTAT_TRANSFORM_REFERENCE_H

#include "transform/transfer_source.h"
#include "transform/worker.h"

/* Measured when it is first asked for. Threads share it. */
typedef struct Reference Reference;

/* memory: bytes that sorting its samples may take. */
ImgstatResult reference_create(const char *path, uint32_t page, const ImgstatOpen *how,
                               size_t memory, Reference **out, ImgstatError *err);
void reference_destroy(Reference *reference); /* accepts NULL */
/* The page of the reference as it was before anything of it was read. */
const PageToMeasure *reference_page(const Reference *reference);
/* What images of that shape are matched to; *out belongs to the reference. */
ImgstatResult reference_get(Reference *reference, TransformWorker *worker,
                            const ImgstatMethod *method, const TransferShape *shape,
                            const MatchReference **out, ImgstatError *err);

#endif
