/* SPDX-License-Identifier: MIT */
/* scheduler.c: a bounded pipeline of files. Each worker decodes, measures, maps and encodes one
 * file at a time, so that these overlap across files; a lone worker has all threads for its file.
 */
#include "batch/scheduler.h"

#include "codec/prefetch.h"
#include "transform/memory_estimate.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool jobs_cancelled(void *context)
{
    const Jobs *const jobs = context;
    return atomic_load(&jobs->stop) ||
           (jobs->batch->cancelled && jobs->batch->cancelled(jobs->batch->context));
}

/* ---- Workers and their device ---------------------------------------------------------------- */

static ImgstatResult open_worker(Jobs *jobs, const char *device, TransformWorker *out,
                                 ImgstatError *err)
{
    return worker_open(device, jobs->threads, jobs->cancel, out, err);
}

ImgstatResult jobs_worker(Jobs *jobs, TransformWorker *out, ImgstatError *err)
{
    const char *const device = fall_back_device(&jobs->fall_back);
    ImgstatError why = {0};
    const ImgstatResult res = open_worker(jobs, device, out, &why);
    if (res == IMGSTAT_OK || !fall_back_allowed(&jobs->fall_back, device, res))
        return res == IMGSTAT_OK ? res : error_set(err, res, "%s", why.message);
    fall_back_to_cpu(&jobs->fall_back, &why);
    return open_worker(jobs, "cpu", out, err);
}

/* A worker of the failed device becomes one of the CPU; false: there is no memory for that. */
static bool replace(Jobs *jobs, TransformWorker *worker)
{
    TransformWorker spare;
    if (open_worker(jobs, "cpu", &spare, NULL) != IMGSTAT_OK)
        return false;
    spare.reserved = worker->reserved;
    worker_close(worker);
    *worker = spare;
    return true;
}

static bool is_cpu(const TransformWorker *worker)
{
    return worker->device->ops->fetches;
}

bool jobs_fall_back(Jobs *jobs, TransformWorker *worker, ImgstatResult result,
                    const ImgstatError *why)
{
    if (is_cpu(worker) || !fall_back_allowed(&jobs->fall_back, jobs->fall_back.device, result))
        return false;
    fall_back_to_cpu(&jobs->fall_back, why);
    return replace(jobs, worker);
}

/* The device may have failed in the hands of another worker. */
static void follow(Jobs *jobs, TransformWorker *worker)
{
    if (atomic_load(&jobs->fall_back.fallen) && !is_cpu(worker))
        (void)replace(jobs, worker);
}

/* ---- One job --------------------------------------------------------------------------------- */

static void keep_warning(void *context, const char *sentence)
{
    Outcome *const outcome = context;
    const size_t bytes = strlen(sentence) + 1;
    char *const grown = realloc(outcome->warnings, outcome->warnings_bytes + bytes);
    if (!grown)
        return;
    memcpy(grown + outcome->warnings_bytes, sentence, bytes);
    outcome->warnings = grown;
    outcome->warnings_bytes += bytes;
}

ImgstatResult jobs_open(const Jobs *jobs, size_t index, Outcome *outcome, ImgstatFile **out,
                        ImgstatError *err)
{
    ImgstatOpen how = jobs->open;
    how.warn = outcome ? keep_warning : NULL;
    how.warn_context = outcome;
    const ImgstatJob *const job = &jobs->job[index];
    if (jobs->n - index > jobs->n_workers) /* what is taken when this one is done, about */
        (void)advise_soon(jobs->job[index + jobs->n_workers].input, ADVISE_BYTES);
    IMGSTAT_TRY(file_open(job->input, &how, &jobs->cancel, out, err));
    const DecodeOptions options = {.threads = jobs->threads};
    const ImgstatResult res = file_select(*out, job->has_page ? job->page : 0, &options, err);
    if (res != IMGSTAT_OK) {
        imgstat_file_close(*out);
        *out = NULL;
    }
    return res;
}

void jobs_give_share(Jobs *jobs, TransformWorker *worker)
{
    if (worker->reserved == 0)
        return;
    worker_trim(worker, 0);
    memory_budget_leave(&jobs->budget, worker->reserved);
    worker->reserved = 0;
}

void jobs_leave(Jobs *jobs, TransformWorker *worker)
{
    if (memory_budget_waited_for(&jobs->budget))
        jobs_give_share(jobs, worker);
}

static void take_share(Jobs *jobs, TransformWorker *worker, uint64_t needed)
{
    /* Blocks of the file before may be of no use for this one: they fit beside what it takes. */
    const uint64_t even = jobs->budget.total / jobs->n_workers;
    const uint64_t share = needed > even ? needed : even;
    if (memory_budget_try(&jobs->budget, worker->reserved, share)) {
        worker_trim(worker, share - needed);
    } else {
        jobs_give_share(jobs, worker); /* it may be what others wait for */
        memory_budget_want(&jobs->budget);
        in_order_wake(jobs->order); /* workers without a job give theirs */
        memory_budget_enter(&jobs->budget, share);
    }
    worker->reserved = share;
}

/* The page that takes most. */
static ImgstatResult file_memory(const Pipeline *pipeline, const ImgstatJob *job, ImgstatFile *file,
                                 uint64_t *bytes, ImgstatError *err)
{
    const uint32_t pages = imgstat_file_pages(file), first = job->has_page ? job->page : 0;
    const uint32_t end = job->has_page ? first + 1 : pages;
    *bytes = 0;
    for (uint32_t page = first; page < end; page++) {
        if (file->decoder->page.page != page)
            IMGSTAT_TRY(imgstat_file_page(file, page, NULL, err));
        const uint64_t needed = page_memory(pipeline, file->decoder).bytes;
        *bytes = needed > *bytes ? needed : *bytes;
    }
    return IMGSTAT_OK;
}

/* More memory sorts more at once, so the estimate for the whole amount is what counts. */
static ImgstatResult does_not_fit(const Jobs *jobs, const ImgstatJob *job, ImgstatFile *file,
                                  uint64_t needed, ImgstatError *err)
{
    Pipeline pipeline = jobs->pipeline;
    while (needed > pipeline.memory) {
        pipeline.memory = needed;
        IMGSTAT_TRY(file_memory(&pipeline, job, file, &needed, err));
    }
    return error_set(err, IMGSTAT_ERR_LIMIT,
                     "%s: needs about %llu MiB of memory, and %llu are allowed", job->input,
                     (unsigned long long)((pipeline.memory >> 20) + 1),
                     (unsigned long long)(jobs->pipeline.memory >> 20));
}

ImgstatResult jobs_enter(Jobs *jobs, TransformWorker *worker, size_t index, ImgstatFile *file,
                         ImgstatError *err)
{
    const ImgstatJob *const job = &jobs->job[index];
    Decoder *const decoder = file->decoder;
    uint64_t needed;
    IMGSTAT_TRY(file_memory(&jobs->pipeline, job, file, &needed, err));
    while (needed > jobs->pipeline.memory && decoder->options.threads > 1) {
        const DecodeOptions fewer = {.threads = decoder->options.threads / 2};
        IMGSTAT_TRY(file_select(file, decoder->page.page, &fewer, err));
        IMGSTAT_TRY(file_memory(&jobs->pipeline, job, file, &needed, err));
    }
    if (needed > jobs->pipeline.memory)
        return does_not_fit(jobs, job, file, needed, err);
    take_share(jobs, worker, needed);
    worker_use_threads(worker, decoder->options.threads);
    return IMGSTAT_OK;
}

static void drop_warnings(Outcome *outcome)
{
    free(outcome->warnings);
    outcome->warnings = NULL;
    outcome->warnings_bytes = 0;
}

static ImgstatResult run_job(Jobs *jobs, TransformWorker *worker, size_t index, Outcome *outcome)
{
    const ImgstatJob *const job = &jobs->job[index];
    ImgstatError *const err = &outcome->error;
    if (jobs->batch->skip_existing && atomic_file_exists(job->output)) {
        outcome->told.skipped = true;
        return IMGSTAT_OK;
    }
    if (jobs->failed && jobs->failed[index]) {
        *err = *jobs->failed[index];
        return err->code;
    }
    IMGSTAT_TRY(cancel_check(&worker->cancel, err));
    ImgstatFile *file = NULL;
    uint64_t size;
    if (!source_is_file(job->input, &size)) /* what fills a pipe may wait for another file */
        jobs_give_share(jobs, worker);
    ImgstatResult res = jobs_open(jobs, index, outcome, &file, err);
    if (res == IMGSTAT_OK)
        res = jobs_enter(jobs, worker, index, file, err);
    if (res == IMGSTAT_OK)
        res = pipeline_run(&jobs->pipeline, worker, file, job, jobs->n == 1 ? &jobs->made : NULL,
                           err);
    imgstat_file_close(file);
    jobs_leave(jobs, worker);
    const bool nameless = res == IMGSTAT_ERR_MEMORY || res == IMGSTAT_ERR_DEVICE;
    return nameless ? error_name(err, res, job->input) : res;
}

/* Nothing is left of an output that failed. */
static ImgstatResult run_somehow(Jobs *jobs, TransformWorker *worker, size_t index,
                                 Outcome *outcome)
{
    follow(jobs, worker);
    const ImgstatResult res = run_job(jobs, worker, index, outcome);
    if (res == IMGSTAT_OK || !jobs_fall_back(jobs, worker, res, &outcome->error) ||
        strcmp(jobs->job[index].input, "-") == 0)
        return res;
    drop_warnings(outcome);
    return run_job(jobs, worker, index, outcome);
}

/* ---- Threads --------------------------------------------------------------------------------- */

typedef struct Share {
    Jobs *jobs;
    void (*work)(Jobs *jobs, TransformWorker *worker, size_t index);
} Share;

static void share_all(const Share *share, TransformWorker *worker)
{
    Jobs *const jobs = share->jobs;
    pthread_mutex_lock(&jobs->lock);
    while (jobs->next < jobs->n && !jobs_cancelled(jobs)) {
        const size_t index = jobs->next++;
        pthread_mutex_unlock(&jobs->lock);
        follow(jobs, worker);
        share->work(jobs, worker, index);
        pthread_mutex_lock(&jobs->lock);
    }
    pthread_mutex_unlock(&jobs->lock);
    jobs_give_share(jobs, worker);
}

static void *share_main(void *context)
{
    const Share *const share = context;
    TransformWorker worker;
    if (jobs_worker(share->jobs, &worker, NULL) != IMGSTAT_OK)
        return NULL; /* the calling thread has one */
    share_all(share, &worker);
    worker_close(&worker);
    return NULL;
}

void jobs_share(Jobs *jobs, TransformWorker *worker,
                void (*work)(Jobs *jobs, TransformWorker *worker, size_t index))
{
    Share share = {.jobs = jobs, .work = work};
    pthread_t *const thread = calloc(jobs->n_workers, sizeof *thread);
    unsigned started = 0;
    jobs->next = 0;
    while (thread && started + 1 < jobs->n_workers &&
           pthread_create(&thread[started], NULL, share_main, &share) == 0)
        started++;
    share_all(&share, worker);
    for (unsigned i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    free(thread);
    jobs->next = 0;
}

/* ---- In order ---------------------------------------------------------------------------------
 */

/* A thread of jobs_run. */
typedef struct OrderedWorker {
    TransformWorker own;
    bool opened;
    ImgstatError error; /* where it could not be opened */
} OrderedWorker;

static void open_ordered(void *context, void *ordered)
{
    OrderedWorker *const worker = ordered;
    worker->opened = jobs_worker(context, &worker->own, &worker->error) == IMGSTAT_OK;
}

static void close_ordered(void *context, void *ordered)
{
    OrderedWorker *const worker = ordered;
    if (!worker->opened)
        return;
    jobs_give_share(context, &worker->own);
    worker_close(&worker->own);
}

/* The job that is reported next may wait for the memory of a worker that has none. */
static void idle_ordered(void *context, void *ordered)
{
    OrderedWorker *const worker = ordered;
    if (worker->opened)
        jobs_leave(context, &worker->own);
}

static void work_ordered(void *context, void *ordered, size_t index, void *result)
{
    Jobs *const jobs = context;
    OrderedWorker *const worker = ordered;
    Outcome *const outcome = result;
    const double start = now();
    outcome->told.job = index;
    if (!worker->opened) {
        outcome->error = worker->error;
        outcome->told.result = worker->error.code;
    } else {
        outcome->told.result = run_somehow(jobs, &worker->own, index, outcome);
    }
    outcome->told.seconds = now() - start;
}

static bool report_ordered(void *context, size_t index, void *result)
{
    Jobs *const jobs = context;
    Outcome *const outcome = result;
    const ImgstatBatch *const batch = jobs->batch;
    (void)index;
    fall_back_report(&jobs->fall_back);
    for (size_t at = 0; at < outcome->warnings_bytes; at += strlen(outcome->warnings + at) + 1)
        if (batch->open.warn)
            batch->open.warn(batch->open.warn_context, outcome->warnings + at);
    drop_warnings(outcome);
    outcome->told.message = outcome->told.result == IMGSTAT_OK ? "" : outcome->error.message;
    if (outcome->told.result != IMGSTAT_ERR_CANCELLED && batch->progress &&
        !batch->progress(batch->context, &outcome->told))
        atomic_store(&jobs->stop, true);
    return true;
}

ImgstatResult jobs_run(Jobs *jobs, TransformWorker *worker, ImgstatError *err)
{
    InOrder order = {.n = jobs->n,
                     .workers = jobs->n_workers,
                     .context = jobs,
                     .worker_bytes = sizeof(OrderedWorker),
                     .outcome_bytes = sizeof(Outcome),
                     .open = open_ordered,
                     .work = work_ordered,
                     .close = close_ordered,
                     .idle = idle_ordered,
                     .stopped = jobs_cancelled,
                     .report = report_ordered};
    OrderedWorker first = {.own = *worker, .opened = true};
    *worker = (TransformWorker){.device = NULL};
    jobs->order = &order;
    const ImgstatResult res = in_order_run(&order, &first, err);
    jobs->order = NULL;
    fall_back_report(&jobs->fall_back); /* a worker that found no job left may have failed */
    if (res != IMGSTAT_OK)
        return res;
    return jobs_cancelled(jobs) ? error_set(err, IMGSTAT_ERR_CANCELLED, "interrupted") : IMGSTAT_OK;
}
