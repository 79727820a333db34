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

enum {
    AHEAD_A_WORKER = 4 /* outcomes wait for an earlier job at most so many jobs a worker */
};

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

static bool may_fall_back(const Jobs *jobs, ImgstatResult result)
{
    return jobs->batch->fallen_back &&
           (result == IMGSTAT_ERR_DEVICE || result == IMGSTAT_ERR_MEMORY);
}

/* The first failure is what is told. */
static void fall(Jobs *jobs, const ImgstatError *why)
{
    pthread_mutex_lock(&jobs->lock);
    if (!atomic_exchange(&jobs->fallen, true))
        jobs->why = *why;
    pthread_mutex_unlock(&jobs->lock);
}

ImgstatResult jobs_worker(Jobs *jobs, TransformWorker *out, ImgstatError *err)
{
    const char *const device = jobs->batch->device ? jobs->batch->device : "cpu";
    ImgstatError why = {0};
    if (atomic_load(&jobs->fallen))
        return open_worker(jobs, "cpu", out, err);
    const ImgstatResult res = open_worker(jobs, device, out, &why);
    if (res == IMGSTAT_OK || strcmp(device, "cpu") == 0 || !may_fall_back(jobs, res))
        return res == IMGSTAT_OK ? res : error_set(err, res, "%s", why.message);
    fall(jobs, &why);
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
    return worker->device->ops == &cpu_device_ops;
}

bool jobs_fall_back(Jobs *jobs, TransformWorker *worker, ImgstatResult result,
                    const ImgstatError *why)
{
    if (is_cpu(worker) || !may_fall_back(jobs, result))
        return false;
    fall(jobs, why);
    return replace(jobs, worker);
}

/* The device may have failed in the hands of another worker. */
static void follow(Jobs *jobs, TransformWorker *worker)
{
    if (atomic_load(&jobs->fallen) && !is_cpu(worker))
        (void)replace(jobs, worker);
}

void jobs_tell_fallen(Jobs *jobs)
{
    pthread_mutex_lock(&jobs->lock);
    const bool tell = atomic_load(&jobs->fallen) && !jobs->fallen_told;
    jobs->fallen_told |= tell;
    pthread_mutex_unlock(&jobs->lock);
    if (tell)
        jobs->batch->fallen_back(jobs->batch->context, jobs->why.message);
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
        pthread_mutex_lock(&jobs->lock); /* those without a job give theirs */
        pthread_cond_broadcast(&jobs->room);
        pthread_mutex_unlock(&jobs->lock);
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

/* A job whose turn it is; false when there is none any more. With the lock held. */
static bool take(Jobs *jobs, TransformWorker *worker, size_t *index)
{
    while (jobs->next < jobs->n && !jobs_cancelled(jobs)) {
        if (jobs->next - jobs->told < jobs->capacity) {
            *index = jobs->next++;
            return true;
        }
        jobs_leave(jobs, worker); /* the job that is to be told next may wait for it */
        pthread_cond_wait(&jobs->room, &jobs->lock);
    }
    return false;
}

static void run_and_keep(Jobs *jobs, TransformWorker *worker, size_t index, ImgstatError *no_worker)
{
    Outcome outcome = {.told = {.job = index}};
    const double start = now();
    if (no_worker) {
        outcome.error = *no_worker;
        outcome.told.result = no_worker->code;
    } else {
        outcome.told.result = run_somehow(jobs, worker, index, &outcome);
    }
    outcome.told.seconds = now() - start;
    outcome.done = true;
    pthread_mutex_lock(&jobs->lock);
    jobs->outcome[index % jobs->capacity] = outcome;
    if (index == jobs->told) /* nobody waits for the others */
        pthread_cond_signal(&jobs->arrived);
    pthread_mutex_unlock(&jobs->lock);
}

static void *worker_main(void *context)
{
    Jobs *const jobs = context;
    TransformWorker worker = {0};
    ImgstatError error;
    const bool opened = jobs_worker(jobs, &worker, &error) == IMGSTAT_OK;
    size_t index;
    pthread_mutex_lock(&jobs->lock);
    while (take(jobs, &worker, &index)) {
        pthread_mutex_unlock(&jobs->lock);
        run_and_keep(jobs, &worker, index, opened ? NULL : &error);
        pthread_mutex_lock(&jobs->lock);
    }
    pthread_cond_signal(&jobs->arrived); /* after a stop nobody will take what is left */
    pthread_mutex_unlock(&jobs->lock);
    if (opened) {
        jobs_give_share(jobs, &worker);
        worker_close(&worker);
    }
    return NULL;
}

/* ---- Telling --------------------------------------------------------------------------------- */

static void tell(Jobs *jobs, Outcome *outcome)
{
    const ImgstatBatch *const batch = jobs->batch;
    jobs_tell_fallen(jobs);
    for (size_t at = 0; at < outcome->warnings_bytes; at += strlen(outcome->warnings + at) + 1)
        if (batch->open.warn)
            batch->open.warn(batch->open.warn_context, outcome->warnings + at);
    drop_warnings(outcome);
    outcome->told.message = outcome->told.result == IMGSTAT_OK ? "" : outcome->error.message;
    if (outcome->told.result == IMGSTAT_ERR_CANCELLED || !batch->progress)
        return;
    if (!batch->progress(batch->context, &outcome->told))
        atomic_store(&jobs->stop, true);
}

/* Tells of all jobs that were taken, in order. */
static void collect(Jobs *jobs)
{
    pthread_mutex_lock(&jobs->lock);
    for (size_t i = 0; i < jobs->n; i++) {
        Outcome *const place = &jobs->outcome[i % jobs->capacity];
        while (!place->done && !(i >= jobs->next && jobs_cancelled(jobs)))
            pthread_cond_wait(&jobs->arrived, &jobs->lock);
        if (!place->done)
            break;
        Outcome outcome = *place;
        *place = (Outcome){0};
        jobs->told = i + 1;
        pthread_cond_signal(&jobs->room);
        pthread_mutex_unlock(&jobs->lock);
        tell(jobs, &outcome);
        pthread_mutex_lock(&jobs->lock);
    }
    pthread_cond_broadcast(&jobs->room);
    pthread_mutex_unlock(&jobs->lock);
}

static void run_serially(Jobs *jobs, TransformWorker *worker)
{
    for (size_t i = 0; i < jobs->n && !jobs_cancelled(jobs); i++) {
        run_and_keep(jobs, worker, i, NULL);
        Outcome outcome = jobs->outcome[i % jobs->capacity];
        tell(jobs, &outcome);
    }
}

ImgstatResult jobs_run(Jobs *jobs, TransformWorker *worker, ImgstatError *err)
{
    jobs->capacity = (size_t)AHEAD_A_WORKER * jobs->n_workers;
    jobs->outcome = calloc(jobs->capacity, sizeof *jobs->outcome);
    pthread_t *const thread = calloc(jobs->n_workers, sizeof *thread);
    if (!jobs->outcome || !thread) {
        free(thread);
        return error_memory(err, jobs->capacity * sizeof *jobs->outcome, "a batch");
    }
    unsigned started = 0;
    if (jobs->n_workers > 1)
        while (started < jobs->n_workers &&
               pthread_create(&thread[started], NULL, worker_main, jobs) == 0)
            started++;
    if (started > 0)
        collect(jobs);
    else
        run_serially(jobs, worker);
    for (unsigned i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    free(thread);
    return jobs_cancelled(jobs) ? error_set(err, IMGSTAT_ERR_CANCELLED, "interrupted") : IMGSTAT_OK;
}
