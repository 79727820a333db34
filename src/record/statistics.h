/* SPDX-License-Identifier: MIT */
/* statistics.h: from a settled record to the numbers people ask for. */
#ifndef IMGSTAT_RECORD_STATISTICS_H
#define IMGSTAT_RECORD_STATISTICS_H

#include "record/record.h"

/* Of no samples. */
ImgstatStats statistics_undefined(ImgstatSample sample);

/* Fills the counts and extrema. */
void statistics_fill_counts(const Record *record, uint16_t channel, ImgstatStats *out);

/* Fills everything but median, mode and entropy, which are left undefined, and the text of the sum.
 * shape: skewness and kurtosis, for which wide types need `central` (else NULL), taken about
 * statistics_center. */
void statistics_fill(const Record *record, uint16_t channel, unsigned ddof, bool shape,
                     const Central *central, ImgstatStats *out, char sum[48]);

/* The mean rounded to double, about which `central` is taken; 0 without samples or after overflow.
 */
double statistics_center(const Record *record, uint16_t channel);

/* Integers of 64 bits, a channel with samples: the largest that is not above the mean, as a key,
 * and how much the mean is above it, 0 to 1. */
double statistics_origin(const Record *record, uint16_t channel, uint64_t *origin);

/* Key of the smallest value with the largest count; bins by whole key, at least one not empty. */
uint64_t statistics_mode(const uint64_t *bins, size_t n);

/* -sum p log2 p in bits over the counts; not a number if all are 0. */
double statistics_entropy(const uint64_t *counts, size_t n);

/* Between which of n > 0 ordered samples percentile p (0..100) lies, and how far from the first
 * to the second. */
typedef struct PercentileRank {
    uint64_t low, high;
    uint64_t rest; /* t in units of 1e-11: exact */
    double t;      /* in [0, 1); 0 where low is high */
} PercentileRank;

PercentileRank percentile_rank(double p, ImgstatPercentile method, uint64_t n);
/* Of floats. key_low, key_high: of the samples at these ranks. */
double percentile_value(ImgstatSample sample, uint64_t key_low, uint64_t key_high, double t);
/* The same of integers, exactly: *key is the largest integer at or below the point, *value the
 * point rounded once; true if the point is that integer. */
bool percentile_between(ImgstatSample sample, uint64_t key_low, uint64_t key_high, uint64_t rest,
                        uint64_t *key, double *value);

/* Returns the deviation of n numbers from their exact sum and the sum of their squares. */
double statistics_stddev(const ExactSum power[2], uint64_t n, unsigned ddof);

#endif
