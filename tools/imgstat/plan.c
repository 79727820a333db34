/* SPDX-License-Identifier: MIT */
/* plan.c: the device that is asked for, or that the library chooses. */
#include "plan.h"

#include <stdio.h>
#include <string.h>

PlanDevice plan_device(const Options *options, const ImgstatJob *jobs, size_t n,
                       const ImgstatWork *work)
{
    PlanDevice plan = {.name = options->device};
    char why[200] = "asked for";
    if (strcmp(options->device, "auto") == 0) {
        const ImgstatOpen open = options_open(options);
        plan.name = imgstat_device_choose(jobs, n, work, &open, options->jobs, why, sizeof why);
        plan.chosen = strcmp(plan.name, "cpu") != 0;
    }
    if (options->verbose)
        fprintf(stderr, "%s: device %s: %s\n", options->command, plan.name, why);
    return plan;
}

void plan_report_fall_back(const Options *options, const char *why)
{
    if (options->verbose)
        fprintf(stderr, "%s: %s; the CPU takes over\n", options->command, why);
}
