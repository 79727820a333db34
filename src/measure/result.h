/* SPDX-License-Identifier: MIT */
/* result.h: struct ImgstatRecord of the public header: a finalized record and all that was asked
 * for beyond it. */
#ifndef IMGSTAT_MEASURE_RESULT_H
#define IMGSTAT_MEASURE_RESULT_H

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

#endif
