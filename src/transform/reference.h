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

/* Returns the description of the page, as so many threads read it. It belongs to the reference. */
const PageToMeasure *reference_page(const Reference *reference, unsigned threads);

/* As imgstat_file_lost_rows, of the page that is measured. Accepts NULL. Any thread. */
uint64_t reference_lost_rows(Reference *reference);

/* Finds what images of a shape are matched to; *out is NULL if the method matches nothing. The
 * first call for a mode measures the reference: the worker must hold no pixels then. Waits while
 * another thread measures, unless the worker is cancelled. *out belongs to the reference. file:
 * NULL, or the name of a file that a failure belongs to as well. */
ImgstatResult reference_get(Reference *reference, TransformWorker *worker,
                            const ImgstatMethod *method, const TransferShape *shape,
                            const char *file, const MatchReference **out, ImgstatError *err);

#endif
