/* SPDX-License-Identifier: MIT */
/* cost.h: what measuring is expected to take on each device, from what file headers tell. */
#ifndef IMGSTAT_COST_H
#define IMGSTAT_COST_H

#include "imgstat.h"

/* What is to be measured. */
typedef struct CostWork {
    double images;       /* pages */
    double narrow_bytes; /* of decoded samples of at most 16 bits, each read once */
    double wide_bytes;   /* of wider samples, each counted as often as it is read ... */
    double slow_bytes;   /* ... for results that take the processors long; not among wide_bytes */
    double reads;        /* of pages of wider samples */
    double sorted_bytes; /* of 64-bit samples whose mode is wanted: the processors sort them */
} CostWork;

/* Adds a page; `how` says what takes further reads of wide samples. */
void cost_add(CostWork *work, const ImgstatPage *page, const ImgstatMeasure *how);

/* Seconds beyond opening and decoding the files, which the processors do for every device, so that
 * it has no part in the choice. threads: processors that share the work. */
double cost_cpu(const CostWork *work, unsigned threads);
double cost_cuda(const CostWork *work, unsigned threads);

#endif
