/* SPDX-License-Identifier: MIT */
/* plan.c: shares the machine between files and the parts of one file. */
#define _GNU_SOURCE
#include "plan.h"

#include <sched.h>
#include <string.h>

/* Each worker holds the bands and bins of a file; beyond this the disk is the limit. */
enum { WORKERS_MAX = 256 };

const char *plan_device(const Options *options, const InputList *inputs)
{
    (void)inputs;
    if (strcmp(options->device, "auto") != 0)
        return options->device;
    return "cpu";
}

static unsigned processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    return (unsigned)CPU_COUNT(&set);
}

PlanThreads plan_threads(const Options *options, const InputList *inputs)
{
    const unsigned total = options->jobs > 0 ? options->jobs : processors();
    size_t workers = inputs->n < total ? inputs->n : total;
    if (workers > WORKERS_MAX)
        workers = WORKERS_MAX;
    if (workers == 0)
        workers = 1;
    const unsigned share = total / (unsigned)workers;
    return (PlanThreads){.workers = workers, .threads_a_worker = share > 0 ? share : 1};
}
