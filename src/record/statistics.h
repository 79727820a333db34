/* SPDX-License-Identifier: MIT */
/* statistics.h: statistics of a finalized record. */
#ifndef IMGSTAT_RECORD_STATISTICS_H
#define IMGSTAT_RECORD_STATISTICS_H

#include "record/record.h"

/* Returns the statistics of no samples. */
ImgstatStats statistics_undefined(ImgstatSample sample);

/* Fills the counts and extrema. */
void statistics_fill_counts(const Record *record, uint16_t channel, ImgstatStats *out);

/* Whether sums of squares of doubles do not have the deviation: squares have overflowed, or those
 * of distances are too small for a double. */
bool statistics_lack_squares(const Record *record, uint16_t channel);

/* Fills everything but median, mode and entropy, which are left undefined, and the text of the sum.
 * shape: skewness and kurtosis, for which wide types need `central` (else NULL), taken about
 * statistics_center. */
void statistics_fill(const Record *record, uint16_t channel, unsigned ddof, bool shape,
                     const Central *central, ImgstatStats *out, char sum[48]);

/* Returns the mean rounded to double, which is the center of `central`; 0 without samples or after
 * overflow. */
double statistics_center(const Record *record, uint16_t channel);

/* For a channel of 64-bit integers with samples: sets *origin to the key of the largest integer
 * that is not above the mean, and returns how much the mean is above it, 0 to 1. */
double statistics_origin(const Record *record, uint16_t channel, uint64_t *origin);

/* Returns the smallest key with the largest count. bins: one for each key; at least one is not
 * empty. */
uint64_t statistics_mode(const uint64_t *bins, size_t n);

/* Returns the entropy of counts in bits, -sum p log2 p; NaN if all are 0. */
double statistics_entropy(const uint64_t *counts, size_t n);

/* The two of n > 0 ordered samples that percentile p (0..100) lies between, and how far it is from
 * the first to the second. */
typedef struct PercentileRank {
    uint64_t low, high;
    uint64_t rest; /* t in units of 1e-11: exact */
    double t;      /* in [0, 1); 0 where low is high */
} PercentileRank;

PercentileRank percentile_rank(double p, ImgstatPercentile method, uint64_t n);
/* Returns a percentile of floats. key_low, key_high: keys of the samples at its ranks. */
double percentile_value(ImgstatSample sample, uint64_t key_low, uint64_t key_high, double t);
/* Computes a percentile of integers exactly: *key is the largest integer at or below it, *value the
 * percentile rounded once. Returns whether it is that integer. */
bool percentile_between(ImgstatSample sample, uint64_t key_low, uint64_t key_high, uint64_t rest,
                        uint64_t *key, double *value);

/* Returns the deviation of n numbers from their exact sum and the sum of their squares. */
double statistics_stddev(const ExactSum power[2], uint64_t n, unsigned ddof);

#endif
