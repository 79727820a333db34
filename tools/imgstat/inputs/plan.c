/* SPDX-License-Identifier: MIT */
/* plan.c: the device that is asked for, or that the library chooses. */
#include "inputs/plan.h"
#include "text/text.h"

#include <stdio.h>
#include <stdlib.h>
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

PlanDevice plan_inputs(const Options *options, const InputStream *inputs, const InputList *window,
                       const ImgstatWork *work)
{
    /* Where the number is not known, so many times the first window is guessed. */
    enum { MORE = 4 };
    ImgstatJob *const jobs = text_alloc(window->n * sizeof *jobs);
    ImgstatWork all = *work;
    size_t n = 0;
    for (size_t i = 0; i < window->n; i++)
        if (window->items[i].problem == NULL)
            jobs[n++] = input_job(&window->items[i]);
    if (!inputs_count(inputs, &all.jobs))
        all.jobs = MORE * window->n;
    const PlanDevice device = plan_device(options, jobs, n, &all);
    free(jobs);
    return device;
}

void plan_report_fall_back(const Options *options, const char *why)
{
    if (options->verbose)
        fprintf(stderr, "%s: %s; the CPU takes over\n", options->command, why);
}
