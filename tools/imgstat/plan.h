/* SPDX-License-Identifier: MIT */
/* plan.h: which device, and how many threads for what. */
#ifndef IMGSTAT_TOOLS_PLAN_H
#define IMGSTAT_TOOLS_PLAN_H

#include "inputs.h"

typedef struct PlanThreads {
    size_t workers; /* files measured at the same time, each by a device handle */
    unsigned threads_a_worker;
} PlanThreads;

PlanThreads plan_threads(const Options *options, const InputList *inputs);

typedef struct PlanDevice {
    const char *name; /* for imgstat_device_open; never "auto" */
    bool chosen;      /* not named by the user: the CPU takes over where it fails */
    char why[200];
} PlanDevice;

/* The device named, or for "auto" the one expected to finish first: decided from the headers of the
 * files (of some of many), before any device is touched. work: on every page. */
PlanDevice plan_device(const Options *options, const InputList *inputs, const ImgstatWork *work);

#endif
