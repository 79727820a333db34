/* SPDX-License-Identifier: MIT */
/* result.h: what a settled record, and further reads where needed, yield: struct ImgstatRecord.
 */
#ifndef IMGSTAT_MEASURE_RESULT_H
#define IMGSTAT_MEASURE_RESULT_H

#include "device/read_request.h"
#include "record/histogram.h"

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
    Record *record; /* settled; its bins count valid samples */
    ChannelResult *channel;
    bool has_histogram;
    size_t n_percentiles;
};

/* Whether a request makes sense; before anything is read. */
ImgstatResult findings_check(const ImgstatMeasure *how, ImgstatError *err);
/* The parts of a record that the first read of such samples must fill. */
unsigned findings_parts(const ImgstatMeasure *how);
/* Whether samples of this type are read again after the first time. */
bool findings_read_again(const ImgstatMeasure *how, ImgstatSample sample);
/* Whether they are read again for percentiles and the median alone. */
bool findings_ranks_only(const ImgstatMeasure *how, ImgstatSample sample);

/* Takes the record over, whatever the result. bits: significant ones of a sample. */
ImgstatResult findings_create(Record *record, uint8_t bits, const ImgstatMeasure *how,
                              FurtherReads reader, ImgstatRecord **out, ImgstatError *err);

#endif
