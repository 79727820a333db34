/* SPDX-License-Identifier: MIT */
/* compare.h: two images or records, side by side. */
#ifndef IMGSTAT_TOOLS_COMPARE_H
#define IMGSTAT_TOOLS_COMPARE_H

#include "imgstat.h"

/* One of the two. */
typedef struct Compared {
    char *name;        /* with the page; owned */
    ImgstatFile *file; /* a page is selected; NULL: a record */
    ImgstatPage page;
    ImgstatRecord *record;
    ImgstatKind kind; /* of the record */
} Compared;

/* Percentile k of a record, as imgstat_record_percentile; of a record of a wider type, which has
 * bounds only, the middle of these. */
double compare_percentile(const ImgstatRecord *record, uint16_t channel, size_t k);

/* How far the distributions of a channel are from each other; not a number for unlike types, and
 * without samples. */
typedef struct Apart {
    double distance; /* 1-Wasserstein, in values of samples */
    double share;    /* largest difference of the cumulative distributions, 0 to 1 */
} Apart;

/* Percentiles (k + 1/2) / N, which stand for the distributions of wider types. */
enum { COMPARE_QUANTILES = 100 };

Apart compare_distributions(const Compared *a, const Compared *b, uint16_t channel);

/* What differs between the samples of two pages of one size. */
typedef struct SampleDifference {
    uint64_t samples, different; /* equal bits, and zeros of both signs, do not differ */
    double largest, mean, rms;   /* of the absolute differences; over pairs of finite samples */
    uint64_t finite;             /* pairs */
    uint32_t x, y;               /* of the first of the largest */
    uint16_t channel;
} SampleDifference;

/* Whether samples can be compared one by one. */
bool compare_is_alike(const Compared *a, const Compared *b);
/* Reads both pages. */
ImgstatResult compare_samples(const Compared *a, const Compared *b, SampleDifference *out,
                              ImgstatError *err);

#endif
