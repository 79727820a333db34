/* SPDX-License-Identifier: MIT */
/* compare.h: two images or records, side by side. */
#ifndef IMGSTAT_TOOLS_COMPARE_COMPARE_H
#define IMGSTAT_TOOLS_COMPARE_COMPARE_H

#include "imgstat.h"

/* One of the two. */
typedef struct Compared {
    char *name;        /* name with the page; owned */
    ImgstatFile *file; /* file with a selected page; NULL: a record */
    ImgstatPage page;
    ImgstatRecord *record;
    ImgstatKind kind; /* kind of the record */
} Compared;

/* Returns percentile k of a record, as imgstat_record_percentile does; the middle of the bounds for
 * records of wider types. */
double compare_percentile(const ImgstatRecord *record, uint16_t channel, size_t k);

/* Distance between the distributions of a channel; NaN for different types, and without samples. */
typedef struct Apart {
    double distance; /* 1-Wasserstein, in values of samples */
    double share;    /* largest difference of the cumulative distributions, 0 to 1 */
} Apart;

/* Percentiles (k + 1/2) / N, which stand for the distributions of wider types. */
enum { COMPARE_QUANTILES = 100 };

Apart compare_distributions(const Compared *a, const Compared *b, uint16_t channel);

/* What differs between the samples of two pages of one size. */
typedef struct SampleDifference {
    uint64_t samples, different; /* samples compared; those that differ (equal bits, and zeros of
                                    both signs, do not) */
    double largest, mean, rms;   /* absolute differences, over `finite` pairs */
    uint64_t largest_integer;    /* of integers, which a double may have to round */
    uint64_t finite;             /* pairs whose difference is a finite double */
    uint32_t x, y;               /* place of the first largest difference */
    uint16_t channel;
} SampleDifference;

/* Whether samples can be compared one by one. */
bool compare_is_alike(const Compared *a, const Compared *b);
/* Reads both pages. */
ImgstatResult compare_samples(const Compared *a, const Compared *b, SampleDifference *out,
                              ImgstatError *err);

#endif
