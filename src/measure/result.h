/* SPDX-License-Identifier: MIT */
/* result.h: the statistics of a record: all that is asked for, and how little is read for it. */
#ifndef IMGSTAT_MEASURE_RESULT_H
#define IMGSTAT_MEASURE_RESULT_H

#include "device/read_request.h"
#include "record/image_record.h"

/* The request that NULL stands for in public functions: what every record has. */
extern const ImgstatMeasure result_least;

/* Fails with IMGSTAT_ERR_ARG for a request that makes no sense, before anything is read. */
ImgstatResult result_check(const ImgstatMeasure *how, ImgstatError *err);

/* Returns the parts of a record that the first read must fill. */
unsigned result_parts(const ImgstatMeasure *how);

/* Returns whether samples of this type are read again after the first time. */
bool result_reads_again(const ImgstatMeasure *how, ImgstatSample sample);

/* Returns whether they are read again for percentiles and the median alone. */
bool result_ranks_only(const ImgstatMeasure *how, ImgstatSample sample);

/* Computes statistics in place of those that the record has, with the further reads that they need.
 * reads: NULL for none: what they would tell is undefined, and percentiles get bounds. */
ImgstatResult result_compute(ImgstatRecord *record, const ImgstatMeasure *how,
                             const FurtherReads *reads, ImgstatError *err);

/* Makes the record of images in memory, with its statistics unless it is to be merged. record:
 * finalized, taken over whatever happens. */
ImgstatResult result_of_image(Record *record, uint8_t bits, const ImgstatMeasure *how,
                              FurtherReads reads, ImgstatRecord **out, ImgstatError *err);

#endif
