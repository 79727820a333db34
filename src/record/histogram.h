/* SPDX-License-Identifier: MIT */
/* histogram.h: counts over a range. Edges are order keys, so comparisons are exact. */
#ifndef IMGSTAT_RECORD_HISTOGRAM_H
#define IMGSTAT_RECORD_HISTOGRAM_H

#include "record/record.h"

enum {
    HISTOGRAM_BINS = 256,          /* the default */
    HISTOGRAM_MAX_BINS = 16777216, /* 256 MiB of counts and edges a channel */
    HISTOGRAM_MAX_VALUES = 65536   /* up to here each value has a bin */
};

/* Bin k counts the keys with edge[k] <= key < edge[k + 1]. */
typedef struct Histogram {
    double lo, hi; /* NaN if the range is that of the samples and there are none */
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

/* Checks bins and range. */
ImgstatResult histogram_check(const ImgstatMeasure *how, ImgstatError *err);
/* Chooses range and bins for a channel of a finalized record with `bits` significant bits, and
 * creates edges and counts. Narrow types are counted as well. */
ImgstatResult histogram_create(BufferCache *cache, const Record *record, uint16_t channel,
                               uint8_t bits, const ImgstatMeasure *how, Histogram *out,
                               ImgstatError *err);
/* Returns where bin k begins, or with k = bins where the last one ends. Outgrown edges are rounded.
 * hi - lo may be too large for a double. */
double histogram_edge(const Histogram *histogram, uint32_t k);
void histogram_release(Histogram *histogram); /* contents only */

#endif
