/* SPDX-License-Identifier: MIT */
/* device_choice.h: the rule behind `--device auto`. */
#ifndef IMGSTAT_BATCH_DEVICE_CHOICE_H
#define IMGSTAT_BATCH_DEVICE_CHOICE_H

#include "imgstat.h"

/* Work beyond opening, decoding and encoding, which the processors do for every device, and
 * decoding that a GPU may do. */
typedef struct WorkSum {
    double pages;
    double cpu_ns;      /* time of one thread */
    double moved_bytes; /* samples that a GPU reads and writes through its bus */
    double fed_pages;   /* that a GPU can decode, and then counts (batch/feeding.h), */
    double fed_bytes;   /* and their samples */
} WorkSum;

/* Adds `times` pages like this one. */
void work_add(WorkSum *sum, const ImgstatPage *page, const ImgstatWork *work, double times);

/* Adds that a GPU can decode `times` pages like this one. */
void work_add_fed(WorkSum *sum, const ImgstatPage *page, double times);

/* Expected seconds of `threads` threads alone, and of those threads with a GPU. */
double work_seconds_cpu(const WorkSum *sum, unsigned threads);
double work_seconds_cuda(const WorkSum *sum, unsigned threads);

#endif
