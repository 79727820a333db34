/* SPDX-License-Identifier: MIT */
/* test_job_memory.c: workers reserve what their files need, wait for one another, have fewer
 * threads where memory is short, and are refused what is never free. */
#include "batch/scheduler.h"
#include "codec/codec.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

enum { MIB = 1 << 20 };

/* A worker with a small file, which needs 9 MiB, 5 MiB a thread, and less than one for its pixels.
 */
typedef struct Worker {
    Jobs *jobs;
    TransformWorker own;
    ImgstatFile *file;
    ImgstatResult result;
    ImgstatError err;
} Worker;

static const ImgstatMethod stretch = {.transform = IMGSTAT_STRETCH};
static char path[1024];
static ImgstatJob job;

static void begin(Jobs *jobs, uint64_t bytes, unsigned at_once)
{
    snprintf(path, sizeof path, "%s/good-rgb.png", getenv("IMGSTAT_TESTDATA"));
    job = (ImgstatJob){.input = path};
    *jobs = (Jobs){
        .job = &job, .n = 1, .at_once = at_once, .pipeline = {.method = &stretch, .memory = bytes}};
    memory_budget_init(&jobs->budget, bytes);
}

static void open_worker(Worker *worker, Jobs *jobs, unsigned threads)
{
    ImgstatDevice *device;
    *worker = (Worker){.jobs = jobs};
    cr_assert_eq(imgstat_device_open("cpu", threads, &device, NULL), IMGSTAT_OK);
    cr_assert_eq(worker_open(device, "cpu", threads, (Cancel){NULL, NULL}, &worker->own, NULL),
                 IMGSTAT_OK);
    cr_assert_eq(imgstat_file_open(path, NULL, &worker->file, NULL), IMGSTAT_OK);
    cr_assert_eq(file_choose(worker->file, NULL, 0, NULL), IMGSTAT_OK);
    const DecodeOptions options = {.threads = threads};
    cr_assert_eq(file_select(worker->file, 0, &options, NULL), IMGSTAT_OK);
}

static void close_worker(Worker *worker)
{
    imgstat_file_close(worker->file);
    worker_close(&worker->own);
}

static void *reserve(void *context)
{
    Worker *const worker = context;
    worker->result = jobs_reserve_memory(worker->jobs, &worker->own, 0, worker->file, &worker->err);
    return NULL;
}

static unsigned waiting(Jobs *jobs)
{
    pthread_mutex_lock(&jobs->budget.lock);
    const unsigned n = jobs->budget.waiting;
    pthread_mutex_unlock(&jobs->budget.lock);
    return n;
}

Test(job_memory, a_worker_waits_until_another_returns_its_memory)
{
    Jobs jobs;
    Worker first, second;
    pthread_t thread;
    begin(&jobs, 20 * MIB, 2);
    open_worker(&first, &jobs, 1);
    open_worker(&second, &jobs, 1);
    (void)reserve(&first);
    cr_assert_eq(first.result, IMGSTAT_OK);
    const uint64_t bytes = first.own.reserved;
    cr_expect(bytes > 14 * MIB && bytes < 15 * MIB, "%llu", (unsigned long long)bytes);
    cr_expect_eq(jobs.budget.used, bytes);
    (void)reserve(&first);
    cr_expect_eq(jobs.budget.used, bytes, "what it has is exchanged");
    jobs_yield_memory(&jobs, &first.own);
    cr_expect_eq(jobs.budget.used, bytes, "nobody waits for it");
    cr_assert_eq(pthread_create(&thread, NULL, reserve, &second), 0);
    while (waiting(&jobs) == 0)
        sched_yield();
    cr_expect_eq(second.own.reserved, 0);
    jobs_yield_memory(&jobs, &first.own);
    pthread_join(thread, NULL);
    cr_assert_eq(second.result, IMGSTAT_OK);
    cr_expect_eq(first.own.reserved, 0);
    cr_expect_eq(second.own.reserved, bytes);
    cr_expect_eq(jobs.budget.used, bytes);
    cr_expect_eq(waiting(&jobs), 0);
    jobs_return_memory(&jobs, &second.own);
    cr_expect_eq(jobs.budget.used, 0);
    close_worker(&first);
    close_worker(&second);
    memory_budget_release(&jobs.budget);
}

/* Each may have an even share, so that buffers stay. */
Test(job_memory, an_even_share_is_reserved)
{
    Jobs jobs;
    Worker worker;
    begin(&jobs, 60 * MIB, 3);
    open_worker(&worker, &jobs, 1);
    (void)reserve(&worker);
    cr_assert_eq(worker.result, IMGSTAT_OK);
    cr_expect_eq(worker.own.reserved, 20 * MIB);
    jobs_return_memory(&jobs, &worker.own);
    close_worker(&worker);
    memory_budget_release(&jobs.budget);
}

/* 29 MiB and 19 MiB of 20 and of 19. */
Test(job_memory, fewer_threads_take_less)
{
    static const unsigned left[] = {2, 1};
    for (unsigned i = 0; i < 2; i++) {
        Jobs jobs;
        Worker worker;
        begin(&jobs, (20 - i) * (uint64_t)MIB, 1);
        open_worker(&worker, &jobs, 4);
        (void)reserve(&worker);
        cr_assert_eq(worker.result, IMGSTAT_OK);
        cr_expect_eq(worker.file->decoder->options.threads, left[i]);
        cr_expect_eq(worker.own.device->threads, left[i]);
        jobs_return_memory(&jobs, &worker.own);
        close_worker(&worker);
        memory_budget_release(&jobs.budget);
    }
}

Test(job_memory, what_is_never_free_is_refused)
{
    Jobs jobs;
    Worker worker;
    char expected[1200];
    begin(&jobs, 14 * MIB, 1);
    open_worker(&worker, &jobs, 4);
    (void)reserve(&worker);
    cr_assert_eq(worker.result, IMGSTAT_ERR_LIMIT);
    snprintf(expected, sizeof expected, "%s: needs about 15 MiB of memory, and 14 are allowed",
             path);
    cr_expect_str_eq(worker.err.message, expected);
    cr_expect_eq(worker.own.reserved, 0);
    cr_expect_eq(jobs.budget.used, 0);
    close_worker(&worker);
    memory_budget_release(&jobs.budget);
}
