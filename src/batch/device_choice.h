/* SPDX-License-Identifier: MIT */
/* device_choice.h: what measuring and transforming are expected to take on each device, from what
 * file headers tell. */
#ifndef IMGSTAT_BATCH_DEVICE_CHOICE_H
#define IMGSTAT_BATCH_DEVICE_CHOICE_H

#include "imgstat.h"

/* What is done to every page: one of the three. */
typedef struct CostTask {
    const ImgstatMeasure *measure;
    const ImgstatMethod *method;     /* it is measured for a transfer, and mapped by that */
    const ImgstatTransfer *transfer; /* it is mapped by this one */
    uint64_t memory;                 /* of transforms: that of the batch; 0: its default */
} CostTask;

/* All that is to be done. Zeros: nothing. */
typedef struct CostWork {
    double images;       /* pages */
    double narrow_bytes; /* of decoded samples of at most 16 bits, as often as they are read */
    double wide_bytes;   /* of wider samples, each counted as often as it is read ... */
    double slow_bytes;   /* ... for results that take the processors long; not among wide_bytes */
    double again_bytes;  /* what processors read again as their memory holds too few keys to sort */
    double reads;        /* of pages of wider samples */
    double sorted_bytes; /* of 64-bit samples whose mode is wanted: the processors sort them */
    double mapped_bytes; /* into and out of a transfer */
    double mapping;      /* seconds of one processor for that, which processors share ... */
    double alone;        /* ... and which one has of each page */
    double ranks;        /* of one processor for all ranks of wide samples, which they share */
    double ranked;       /* pages whose ranks are wanted */
    double at_once;      /* pages that memory lets in at the same time; 0: any number */
} CostWork;

/* Adds `times` such pages. */
void cost_add(CostWork *work, const ImgstatPage *page, const CostTask *task, double times);

/* Seconds beyond opening, decoding and encoding the files, which the processors do for every
 * device, so that it has no part in the choice. threads: processors that share the work. */
double cost_cpu(const CostWork *work, unsigned threads);
double cost_cuda(const CostWork *work, unsigned threads);

#endif
