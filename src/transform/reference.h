/* SPDX-License-Identifier: MIT */
/* reference.h: the file that others are matched to. */
#ifndef IMGSTAT_TRANSFORM_REFERENCE_H
#define IMGSTAT_TRANSFORM_REFERENCE_H

#include "transform/transfer_source.h"
#include "transform/worker.h"

/* A page that reference_get measures when a channel mode is first needed. Threads share it. */
typedef struct Reference Reference;

/* Opens the file and selects its page. memory: bytes that sorting its samples may take. */
ImgstatResult reference_create(const char *path, const char *page, const ImgstatOpen *how,
                               size_t memory, Reference **out, ImgstatError *err);

/* Accepts NULL. */
void reference_destroy(Reference *reference);

/* Returns the description of the page, which belongs to the reference. */
const PageToMeasure *reference_page(const Reference *reference);

/* Finds what images of a shape are matched to. Waits while another thread measures, unless the
 * worker is cancelled. *out belongs to the reference. */
ImgstatResult reference_get(Reference *reference, TransformWorker *worker,
                            const ImgstatMethod *method, const TransferShape *shape,
                            const MatchReference **out, ImgstatError *err);

#endif
