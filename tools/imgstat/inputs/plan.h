/* SPDX-License-Identifier: MIT */
/* plan.h: which device does the work. */
#ifndef IMGSTAT_TOOLS_INPUTS_PLAN_H
#define IMGSTAT_TOOLS_INPUTS_PLAN_H

#include "inputs/inputs.h"

typedef struct PlanDevice {
    const char *name; /* argument of imgstat_device_open; never "auto" */
    bool chosen;      /* chosen by auto: the CPU takes over if it fails */
} PlanDevice;

/* Returns the named device or, for "auto", the one expected to finish first. --verbose reports
 * why. */
PlanDevice plan_device(const Options *options, const ImgstatJob *jobs, size_t n,
                       const ImgstatWork *work);
/* Does so for all inputs. window: the first of them, which stand for the others. */
PlanDevice plan_inputs(const Options *options, const InputStream *inputs, const InputList *window,
                       const ImgstatWork *work);
/* Reports, with --verbose, why the CPU takes over. */
void plan_report_fall_back(const Options *options, const char *why);

#endif
