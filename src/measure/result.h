/* SPDX-License-Identifier: MIT */
/* result.h: struct ImgstatRecord of the public header: a finalized record and all that was asked
 * for beyond it. */
#ifndef IMGSTAT_MEASURE_RESULT_H
#define IMGSTAT_MEASURE_RESULT_H

#include "device/read_request.h"
#include "record/histogram.h"
#include "record/record.h"

/* A percentile that is a sample's value or, of 64-bit integers, another whole number: a double may
 * not hold it. */
typedef struct ExactPercentile {
    bool exact;
    uint64_t key;
} ExactPercentile;

typedef struct ChannelResult {
    ImgstatStats stats;
    char sum[48];
    double *percentile;    /* as many as asked for */
    ExactPercentile *rank; /* of each percentile, then of the median */
    Histogram histogram;
} ChannelResult;

struct ImgstatRecord {
    Record *record; /* finalized; its bins count valid samples */
    ChannelResult *channel;
    bool has_histogram;
    size_t n_percentiles;
};

/* Fails with IMGSTAT_ERR_ARG for a request that makes no sense, before anything is read. */
ImgstatResult result_check(const ImgstatMeasure *how, ImgstatError *err);

/* Returns the parts of a record that the first read must fill. */
unsigned result_parts(const ImgstatMeasure *how);

/* Returns whether samples of this type are read again after the first time. */
bool result_reads_again(const ImgstatMeasure *how, ImgstatSample sample);

/* Returns whether they are read again for percentiles and the median alone. */
bool result_ranks_only(const ImgstatMeasure *how, ImgstatSample sample);

/* Makes the result from a finalized record, which it takes over whatever happens, and from the
 * further reads that it needs. bits: significant ones of a sample. */
ImgstatResult result_create(Record *record, uint8_t bits, const ImgstatMeasure *how,
                            FurtherReads reads, ImgstatRecord **out, ImgstatError *err);

#endif
