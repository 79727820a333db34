/* SPDX-License-Identifier: MIT */
/* plan.h: which device, and how many threads for what. */
#ifndef IMGSTAT_TOOLS_PLAN_H
#define IMGSTAT_TOOLS_PLAN_H

#include "inputs.h"

/* The device that imgstat_device_open is to open: the one named, or for "auto" the one expected
 * to finish first. Decides from the inputs alone, before any device is touched. */
const char *plan_device(const Options *options, const InputList *inputs);

typedef struct PlanThreads {
    size_t workers; /* files measured at the same time, each by a device handle */
    unsigned threads_a_worker;
} PlanThreads;

PlanThreads plan_threads(const Options *options, const InputList *inputs);

#endif
