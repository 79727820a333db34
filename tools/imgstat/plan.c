/* SPDX-License-Identifier: MIT */
/* plan.c: shares the machine between files and the parts of one file, and chooses the device. */
#define _GNU_SOURCE
#include "plan.h"

#include "codec/codec.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Each worker holds the bands and bins of a file; beyond this the disk is the limit. */
enum { WORKERS_MAX = 256 };

/* Of many files the headers of this many, evenly spread, stand for all: opening one takes about
 * 50 us. */
enum { HEADERS_MAX = 16 };

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

static bool built_with_cuda(void)
{
    return strstr(imgstat_devices_built(), "cuda") != NULL;
}

/* Whether a driver is loaded, without loading its library, which alone takes milliseconds. The last
 * is Windows' under Linux. */
static bool driver_is_there(void)
{
    return access("/dev/nvidiactl", F_OK) == 0 ||
           access("/proc/driver/nvidia/version", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
}

/* Adds one input that stands for as many, as far as its header can be read; what is wrong with it
 * is told later. */
static void add_input(const Options *options, const Input *input, const CostTask *task,
                      double stands_for, CostWork *work)
{
    const ImgstatOpen open = {.limits = options->limits, .indices = options->indices};
    ImgstatFile *file = NULL;
    ImgstatPage page;
    const uint32_t number = input->has_page ? input->page : 0;
    uint64_t bytes;
    if (input->problem != NULL || !source_is_file(input->path, &bytes))
        return; /* standard input and pipes can be read only once */
    if (imgstat_file_open(input->path, &open, &file, NULL) == IMGSTAT_OK &&
        imgstat_file_page(file, number, &page, NULL) == IMGSTAT_OK)
        cost_add(work, &page, task, stands_for * (input->has_page ? 1 : imgstat_file_pages(file)));
    imgstat_file_close(file);
}

static CostWork add_up(const Options *options, const InputList *inputs, const CostTask *task)
{
    CostWork work = {0};
    const size_t looked_at = inputs->n < HEADERS_MAX ? inputs->n : HEADERS_MAX;
    for (size_t i = 0; i < looked_at; i++)
        add_input(options, &inputs->items[i * inputs->n / looked_at], task,
                  (double)inputs->n / (double)looked_at, &work);
    return work;
}

static void choose(PlanDevice *plan, const Options *options, const InputList *inputs,
                   const CostTask *task)
{
    const unsigned threads = threads_in_all(options);
    const bool transform = task->measure == NULL;
    const CostWork work = add_up(options, inputs, task);
    const double cpu = cost_cpu(&work, threads), cuda = cost_cuda(&work, threads);
    plan->name = cuda < cpu ? "cuda" : "cpu";
    plan->chosen = true;
    snprintf(
        plan->why, sizeof plan->why,
        "beyond decoding%s, %.0f page%s with %.4g MB of samples to read%s should take %.2g s on "
        "cpu with %u thread%s, %.2g s on cuda",
        transform ? " and encoding" : "", work.images, work.images == 1 ? "" : "s",
        1e-6 * (work.narrow_bytes + work.wide_bytes + work.mapped_bytes),
        transform ? " and map" : "", cpu, threads, threads == 1 ? "" : "s", cuda);
}

PlanDevice plan_device(const Options *options, const InputList *inputs, const CostTask *task)
{
    PlanDevice plan = {.name = "cpu"};
    if (strcmp(options->device, "auto") != 0) {
        plan.name = options->device;
        snprintf(plan.why, sizeof plan.why, "asked for");
    } else if (!built_with_cuda()) {
        snprintf(plan.why, sizeof plan.why, "this build knows no other");
    } else if (!driver_is_there()) {
        snprintf(plan.why, sizeof plan.why, "no NVIDIA driver is loaded");
    } else {
        choose(&plan, options, inputs, task);
    }
    return plan;
}
