/* SPDX-License-Identifier: MIT */
/* plan.c: shares the machine between files and the parts of one file, and chooses the device. */
#define _GNU_SOURCE
#include "plan.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* Each worker holds the bands and bins of a file; beyond this the disk is the limit. */
enum { WORKERS_MAX = 256 };

static unsigned processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    return (unsigned)CPU_COUNT(&set);
}

static unsigned threads_in_all(const Options *options)
{
    return options->jobs > 0 ? options->jobs : processors();
}

PlanThreads plan_threads(const Options *options, const InputList *inputs)
{
    const unsigned total = threads_in_all(options);
    size_t workers = inputs->n < total ? inputs->n : total;
    if (workers > WORKERS_MAX)
        workers = WORKERS_MAX;
    if (workers == 0)
        workers = 1;
    const unsigned share = total / (unsigned)workers;
    return (PlanThreads){.workers = workers, .threads_a_worker = share > 0 ? share : 1};
}

/* ---- The device ------------------------------------------------------------------------------ */

/* Standard input and inputs that could not be listed count nothing. */
static ImgstatJob *jobs_of(const InputList *inputs)
{
    ImgstatJob *const jobs = calloc(inputs->n ? inputs->n : 1, sizeof *jobs);
    for (size_t i = 0; jobs && i < inputs->n; i++) {
        const Input *const input = &inputs->items[i];
        jobs[i] = (ImgstatJob){.input = input->problem ? "-" : input->path,
                               .has_page = input->has_page,
                               .page = input->page};
    }
    return jobs;
}

PlanDevice plan_device(const Options *options, const InputList *inputs, const ImgstatWork *work)
{
    PlanDevice plan = {.name = options->device, .why = "asked for"};
    if (strcmp(options->device, "auto") != 0)
        return plan;
    const ImgstatOpen open = {.limits = options->limits, .indices = options->indices};
    ImgstatJob *const jobs = jobs_of(inputs);
    plan.name = imgstat_device_choose(jobs, jobs ? inputs->n : 0, work, &open,
                                      threads_in_all(options), plan.why, sizeof plan.why);
    plan.chosen = strcmp(plan.name, "cuda") == 0;
    free(jobs);
    return plan;
}
