/* SPDX-License-Identifier: MIT */
/* test_feeding.c: batches that a device decodes for (a stand-in, stand_in.c), and what becomes of
 * them if it is lost and the processor may take over. */
#include "batch/feeding.h"

#include "imgstat.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { JOBS = 40 };

static const char *const names[] = {"good-rgb.png", "good-gray16.png", "good-palette.png",
                                    "good-interlaced.png", "bad-crc.png"};
enum { NAMES = sizeof names / sizeof *names };
static char path[NAMES][512];

static void begin(void)
{
    const char *const module = getenv("IMGSTAT_STAND_IN"), *folder = getenv("IMGSTAT_TESTDATA");
    if (!module)
        cr_skip_test("IMGSTAT_STAND_IN names no module");
    setenv("IMGSTAT_CUDA_MODULE", module, 1);
    setenv("IMGSTAT_STAND_IN_GPUS", "1", 1);
    setenv("IMGSTAT_DECODE", "threads", 1);
    for (size_t i = 0; i < NAMES; i++)
        snprintf(path[i], sizeof path[i], "%s/%s", folder ? folder : "testdata", names[i]);
}

TestSuite(feeding, .init = begin);

typedef struct Told {
    size_t reports, good, bad, out_of_order, device;
    double mean[JOBS];
} Told;

static void on_fallen(void *context, const char *why)
{
    Told *const told = context;
    cr_expect_str_eq(why, "cuda:0: it was unplugged");
    told->reports++;
}

static bool on_page(void *context, const ImgstatMeasured *measured)
{
    Told *const told = context;
    ImgstatStats stats;
    if (measured->record) {
        imgstat_record_stats(measured->record, 0, &stats);
        told->mean[measured->job] = stats.mean;
    }
    return true;
}

static bool on_done(void *context, const ImgstatDone *done)
{
    Told *const told = context;
    told->out_of_order += done->job != told->good + told->bad;
    told->good += done->result == IMGSTAT_OK;
    told->bad += done->result != IMGSTAT_OK;
    told->device += done->result == IMGSTAT_ERR_DEVICE;
    return true;
}

static bool next_job(void *context, ImgstatJob *job)
{
    size_t *const at = context;
    *job = (ImgstatJob){.input = path[*at % NAMES]};
    return (*at)++ < JOBS;
}

/* Of an array, or of a stream. */
static ImgstatResult measure_jobs(const char *device, const char *fault, bool reports, bool streams,
                                  Told *told)
{
    ImgstatJob jobs[JOBS];
    ImgstatError error;
    size_t at = 0;
    const ImgstatJobStream stream = {.next = next_job, .context = &at};
    *told = (Told){0};
    setenv("IMGSTAT_STAND_IN_FAULT", fault, 1);
    for (size_t i = 0; i < JOBS; i++)
        jobs[i] = (ImgstatJob){.input = path[i % NAMES]};
    const ImgstatMeasureBatch batch = {.device = device,
                                       .threads = 2,
                                       .fallen_back = reports ? on_fallen : NULL,
                                       .page = on_page,
                                       .progress = on_done,
                                       .context = told};
    const ImgstatResult res = streams ? imgstat_batch_measure_stream(&batch, &stream, &error)
                                      : imgstat_batch_measure(&batch, jobs, JOBS, &error);
    cr_expect_eq(told->out_of_order, 0);
    return res;
}

static ImgstatResult measure(const char *device, const char *fault, bool reports, Told *told)
{
    return measure_jobs(device, fault, reports, false, told);
}

Test(feeding, the_processor_takes_over)
{
    Told cpu, told;
    cr_assert_eq(measure("cpu", "", true, &cpu), IMGSTAT_OK);
    cr_assert_eq(cpu.bad, JOBS / NAMES);
    static const char *const faults[] = {"", "0:0", "0:1", "0:2", "0:3", "0:4"};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        cr_assert_eq(measure("cuda", faults[i], true, &told), IMGSTAT_OK);
        cr_expect_eq(told.reports, i > 0, "%s: %zu reports", faults[i], told.reports);
        cr_expect(told.good == cpu.good && told.bad == cpu.bad, "%s: %zu failed", faults[i],
                  told.bad);
        cr_expect_eq(memcmp(told.mean, cpu.mean, sizeof cpu.mean), 0, "%s", faults[i]);
        cr_assert_eq(measure_jobs("cuda", faults[i], true, true, &told), IMGSTAT_OK);
        cr_expect(told.reports == (i > 0) && told.good == cpu.good && told.bad == cpu.bad,
                  "%s: a stream", faults[i]);
        cr_expect_eq(memcmp(told.mean, cpu.mean, sizeof cpu.mean), 0, "%s: a stream", faults[i]);
    }
}

Test(feeding, a_named_device_that_is_lost_fails_its_jobs)
{
    Told told;
    for (int opened = 0; opened < 3; opened++) { /* two calls prepare it */
        const char fault[] = {'0', ':', (char)('0' + opened), '\0'};
        cr_expect_eq(measure("cuda", fault, false, &told), IMGSTAT_ERR_DEVICE);
        cr_expect_eq(told.good + told.bad, 0);
    }
    cr_assert_eq(measure("cuda", "0:3", false, &told), IMGSTAT_OK);
    cr_expect(told.device > 0 && told.good + told.bad == JOBS, "%zu of them", told.device);
}

/* 16 threads that take 50 ms for a job do 64 in the 0.2 s of a batch; feeders that do 200 a second
 * do 10 while one of these is done. */
Test(feeding_choice, who_does_the_last_jobs)
{
    FeedingPace pace = {.alone_seconds = 0.05, .alone_workers = 16, .latency = 0.2};
    cr_expect_eq(feeding_rest(&pace, true, 63), REST_ALONE);
    cr_expect_eq(feeding_rest(&pace, true, 65), REST_OPEN);
    cr_expect_eq(feeding_rest(&pace, false, 1), REST_OPEN);
    pace.fed_a_second = 200;
    cr_expect_eq(feeding_rest(&pace, false, 9), REST_FED);
    cr_expect_eq(feeding_rest(&pace, false, 11), REST_OPEN);
}
