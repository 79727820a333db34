/* SPDX-License-Identifier: MIT */
/* result.h: computes the statistics of a record, with as few reads as possible. */
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

/* Returns whether samples of this type are read again for percentiles and the median alone. */
bool result_ranks_only(const ImgstatMeasure *how, ImgstatSample sample);

/* Computes statistics with the further reads that they need, and replaces those that the record
 * has. reads: NULL: statistics that need reads are undefined, and percentiles have bounds. */
ImgstatResult result_compute(ImgstatRecord *record, const ImgstatMeasure *how,
                             const FurtherReads *reads, ImgstatError *err);

/* Creates the record of images in memory, with statistics unless how->mergeable. record: finalized;
 * the function owns it, also after a failure. */
ImgstatResult result_of_image(Record *record, uint8_t bits, const ImgstatMeasure *how,
                              FurtherReads reads, ImgstatRecord **out, ImgstatError *err);

#endif
