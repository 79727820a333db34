/* SPDX-License-Identifier: MIT */
/* plan.h: which reads of the pixels a request for statistics takes, and those after the first. */
#ifndef IMGSTAT_MEASURE_PLAN_H
#define IMGSTAT_MEASURE_PLAN_H

#include "device/read_request.h"
#include "measure/result.h"

/* Fails with IMGSTAT_ERR_ARG for a request that makes no sense, before anything is read. */
ImgstatResult plan_check(const ImgstatMeasure *how, ImgstatError *err);

/* Returns the parts of a record that the first read must fill. */
unsigned plan_parts(const ImgstatMeasure *how);

/* Returns whether samples of this type are read again after the first time. */
bool plan_reads_again(const ImgstatMeasure *how, ImgstatSample sample);

/* Returns whether they are read again for percentiles and the median alone. */
bool plan_ranks_only(const ImgstatMeasure *how, ImgstatSample sample);

/* Makes the result from a finalized record, which it takes over whatever happens, and from the
 * further reads that it needs. bits: significant ones of a sample. */
ImgstatResult plan_run(Record *record, uint8_t bits, const ImgstatMeasure *how, FurtherReads reads,
                       ImgstatRecord **out, ImgstatError *err);

#endif
