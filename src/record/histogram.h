/* SPDX-License-Identifier: MIT */
/* histogram.h: counts over a range, compared exactly: edges become order keys. */
#ifndef IMGSTAT_RECORD_HISTOGRAM_H
#define IMGSTAT_RECORD_HISTOGRAM_H

#include "record/record.h"

enum {
    HISTOGRAM_BINS = 256,          /* where nothing else is said */
    HISTOGRAM_MAX_BINS = 16777216, /* 256 MiB of counts and edges a channel */
    HISTOGRAM_MAX_VALUES = 65536   /* one bin a value up to here */
};

/* Bin k counts the keys with edge[k] <= key < edge[k + 1]. */
typedef struct Histogram {
    double lo, hi; /* not a number where the range is that of the samples and there are none */
    uint32_t bins;
    bool per_value;
    bool has_top; /* the largest key of a 64-bit integer, which no edge can exceed, is in top_bin */
    uint32_t top_bin;
    bool outgrown;    /* edges of integers between their extrema that double need not hold */
    bool fine;        /* bins narrower than two steps of double */
    double per_bin;   /* as RangeCount needs it */
    uint64_t *edge;   /* bins + 1; NULL where per_value */
    uint64_t *counts; /* bins, 0 at first */
} Histogram;

/* Whether bins and range make sense. */
ImgstatResult histogram_check(const ImgstatMeasure *how, ImgstatError *err);
/* Decides range and bins for a channel of a settled record, of `bits` significant bits, and makes
 * edges and counts. Narrow types are counted too. */
ImgstatResult histogram_create(BufferCache *cache, const Record *record, uint16_t channel,
                               uint8_t bits, const ImgstatMeasure *how, Histogram *out,
                               ImgstatError *err);
/* Where bin k begins, or with k = bins the last one ends; of outgrown edges, nearly. hi - lo need
 * not be a finite double. */
double histogram_edge(const Histogram *histogram, uint32_t k);
void histogram_release(Histogram *histogram); /* contents only */

#endif
