/* SPDX-License-Identifier: MIT */
/* scheduler.c: workers that decode, measure, map and encode one file at a time, so that these steps
 * overlap across files. A single worker has all threads for its file. */
#include "batch/scheduler.h"

#include "batch/job.h"
#include "codec/work.h"

#include <stdlib.h>
#include <string.h>

/* What became of one job. */
typedef struct Outcome {
    ImgstatDone done;
    ImgstatError error;
    JobNotes notes;
    MappedPages mapped;
    AtomicFile *output; /* NULL, or lacks its name */
    size_t number;      /* of that output */
} Outcome;

bool jobs_cancelled(void *context)
{
    const Jobs *const jobs = context;
    return atomic_load(&jobs->stop) ||
           (jobs->batch->cancelled && jobs->batch->cancelled(jobs->batch->context));
}

/* ---- Workers and their device ---------------------------------------------------------------- */

ImgstatResult jobs_open_worker(Jobs *jobs, TransformWorker *out, ImgstatError *err)
{
    Device *device;
    const char *name;
    *out = (TransformWorker){0};
    IMGSTAT_TRY(device_list_open(&jobs->devices, jobs->share.threads, &name, &device, err));
    return worker_open(device, name, jobs->share.threads, jobs->cancel, out, err);
}

/* Keeps why a device could not be opened: it is not opened again where there are others, so that
 * nobody would ask once more. */
static void note_unopened(Jobs *jobs, const ImgstatError *error)
{
    pthread_mutex_lock(&jobs->lock);
    if (!device_list_is_cpu(&jobs->devices))
        jobs->unopened = *error;
    pthread_mutex_unlock(&jobs->lock);
}

ImgstatResult jobs_take_unopened(Jobs *jobs, ImgstatError *err)
{
    pthread_mutex_lock(&jobs->lock);
    const ImgstatResult res = jobs->unopened.code;
    if (res != IMGSTAT_OK)
        *err = jobs->unopened;
    jobs->unopened = (ImgstatError){0};
    pthread_mutex_unlock(&jobs->lock);
    return res;
}

/* Gives a worker of a failed device another one; false if none can be opened. */
static bool replace(Jobs *jobs, TransformWorker *worker)
{
    TransformWorker spare;
    if (jobs_open_worker(jobs, &spare, NULL) != IMGSTAT_OK)
        return false;
    spare.reserved = worker->reserved;
    worker_close(worker);
    *worker = spare;
    return true;
}

bool jobs_fall_back(Jobs *jobs, TransformWorker *worker, ImgstatResult result,
                    const ImgstatError *why)
{
    return device_list_fail(&jobs->devices, worker->name, result, why) && replace(jobs, worker);
}

/* Before a job: the worker's device may have failed in this or another worker's hands. */
static void leave_failed_device(Jobs *jobs, TransformWorker *worker)
{
    if (device_list_replaces(&jobs->devices, worker->name))
        (void)replace(jobs, worker);
}

/* ---- One job --------------------------------------------------------------------------------- */

ImgstatResult jobs_open(const Jobs *jobs, size_t index, ImgstatWarn warn, void *warn_context,
                        ImgstatFile **out, ImgstatError *err)
{
    ImgstatOpen how = jobs->open;
    how.warn = warn;
    how.warn_context = warn_context;
    const ImgstatJob *const job = &jobs->job[index];
    if (jobs->n - index > jobs->share.workers) /* it begins about when this one ends */
        (void)job_prefetch(&jobs->job[index + jobs->share.workers], PREFETCH_BYTES);
    IMGSTAT_TRY(job_open(job, &how, &jobs->cancel, out, err));
    const DecodeOptions options = {
        .threads = jobs->share.threads,
        .work = jobs->method.transform == IMGSTAT_CLAHE && !jobs->pipeline.transfer ? WORK_CLAHE
                                                                                    : WORK_MAP};
    ImgstatResult res = file_choose(*out, job->pages,
                                    WITH_MASKS | (jobs->batch->drop_levels ? 0 : WITH_LEVELS), err);
    if (res == IMGSTAT_OK)
        res = file_select(*out, (*out)->chosen->page, &options, err);
    if (res != IMGSTAT_OK) {
        imgstat_file_close(*out);
        *out = NULL;
    }
    return error_add_file(err, res, job->input);
}

void jobs_report_reference(Jobs *jobs)
{
    pthread_mutex_lock(&jobs->lock);
    JobNotes notes = jobs->of_reference;
    jobs->of_reference = (JobNotes){0};
    pthread_mutex_unlock(&jobs->lock);
    kept_warnings_report(&notes.warnings, jobs->batch->open.warn, jobs->batch->open.warn_context);
    job_notes_clear(&notes);
}

/* A file that is not read again is reported with the notes of its measurement. */
static void take_notes(Jobs *jobs, size_t index, Outcome *outcome)
{
    if (!jobs->notes)
        return;
    outcome->notes = jobs->notes[index];
    jobs->notes[index] = (JobNotes){0};
}

/* Whether a job failed as another process has made its output, which is skipped then. */
static bool is_made_meanwhile(const Jobs *jobs, size_t index, Outcome *outcome)
{
    bool whole = false;
    outcome->done.skipped =
        jobs->batch->skip_existing && atomic_file_is_taken(&outcome->error) &&
        codec_check_whole(jobs->job[index].output, &whole, NULL) == IMGSTAT_OK && whole;
    return outcome->done.skipped;
}

static ImgstatResult run_job(Jobs *jobs, TransformWorker *worker, size_t index, Outcome *outcome)
{
    const ImgstatJob *const job = &jobs->job[index];
    ImgstatError *const err = &outcome->error;
    const bool exists = jobs->batch->skip_existing && job_output_exists(job);
    if (exists)
        IMGSTAT_TRY(codec_check_whole(job->output, &outcome->done.skipped, err));
    if (outcome->done.skipped) {
        take_notes(jobs, index, outcome);
        return IMGSTAT_OK;
    }
    worker->redoes = exists;
    worker->output =
        jobs->n > 1 && synced_outputs_have_room(&jobs->outputs) ? &outcome->output : NULL;
    if (jobs->failed && jobs->failed[index]) {
        memcpy(err, jobs->failed[index], error_bytes(jobs->failed[index]));
        return err->code;
    }
    if (!job->output) { /* it was measured */
        take_notes(jobs, index, outcome);
        return IMGSTAT_OK;
    }
    IMGSTAT_TRY(cancel_check(&worker->device->cancel, err));
    worker->mapped = jobs->batch->describe ? &outcome->mapped : NULL;
    ImgstatFile *file = NULL;
    if (!job_is_readable_again(job)) /* another job may write what this pipe reads */
        jobs_return_memory(jobs, worker);
    ImgstatResult res = jobs_open(jobs, index, job_notes_warn, &outcome->notes, &file, err);
    if (res == IMGSTAT_OK)
        res = jobs_reserve_memory(jobs, worker, index, file, err);
    if (res == IMGSTAT_OK)
        res = pipeline_run(&jobs->pipeline, worker, file, job, jobs->n == 1 ? &jobs->made : NULL,
                           err);
    outcome->notes.lost_rows = file ? imgstat_file_lost_rows(file) : 0;
    imgstat_file_close(file);
    jobs_yield_memory(jobs, worker);
    if (outcome->output)
        outcome->number = synced_outputs_add(&jobs->outputs);
    if (res == IMGSTAT_ERR_IO && is_made_meanwhile(jobs, index, outcome))
        return IMGSTAT_OK;
    const bool nameless = res == IMGSTAT_ERR_MEMORY || res == IMGSTAT_ERR_DEVICE;
    return nameless ? error_add_file(err, res, job->input) : res;
}

/* A job that failed has left no output, so that it can run again. Standard input and pipes cannot.
 */
static ImgstatResult run_with_fallback(Jobs *jobs, TransformWorker *worker, size_t index,
                                       Outcome *outcome)
{
    leave_failed_device(jobs, worker);
    ImgstatResult res = run_job(jobs, worker, index, outcome);
    while (res != IMGSTAT_OK && jobs_fall_back(jobs, worker, res, &outcome->error) &&
           job_is_readable_again(&jobs->job[index])) {
        job_notes_clear(&outcome->notes);
        mapped_pages_release(&outcome->mapped);
        res = run_job(jobs, worker, index, outcome);
    }
    return res;
}

/* ---- All jobs, without a report -------------------------------------------------------------- */

typedef struct ForEach {
    Jobs *jobs;
    void (*work)(Jobs *jobs, TransformWorker *worker, size_t index);
} ForEach;

static void take_jobs(const ForEach *each, TransformWorker *worker)
{
    Jobs *const jobs = each->jobs;
    pthread_mutex_lock(&jobs->lock);
    while (jobs->next < jobs->n && !jobs_cancelled(jobs)) {
        const size_t index = jobs->next++;
        pthread_mutex_unlock(&jobs->lock);
        leave_failed_device(jobs, worker);
        each->work(jobs, worker, index);
        pthread_mutex_lock(&jobs->lock);
    }
    pthread_mutex_unlock(&jobs->lock);
    jobs_return_memory(jobs, worker);
}

static void *for_each_main(void *context)
{
    const ForEach *const each = context;
    Jobs *const jobs = each->jobs;
    TransformWorker worker;
    ImgstatError error = {0};
    if (jobs_open_worker(jobs, &worker, &error) != IMGSTAT_OK) {
        note_unopened(jobs, &error);
        return NULL; /* the calling thread has a worker */
    }
    take_jobs(each, &worker);
    worker_close(&worker);
    return NULL;
}

void jobs_for_each(Jobs *jobs, TransformWorker *worker,
                   void (*work)(Jobs *jobs, TransformWorker *worker, size_t index))
{
    ForEach each = {.jobs = jobs, .work = work};
    const unsigned workers = jobs->share.workers;
    pthread_t *const thread = calloc(workers, sizeof *thread);
    unsigned started = 0;
    jobs->next = 0;
    while (thread && started + 1 < workers &&
           pthread_create(&thread[started], NULL, for_each_main, &each) == 0)
        started++;
    take_jobs(&each, worker);
    for (unsigned i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    free(thread);
}

/* ---- All jobs, reported in order ------------------------------------------------------------- */

/* Leaves the worker without a device on failure: its first job reports why. */
static void open_worker(void *context, void *worker)
{
    Jobs *const jobs = context;
    ImgstatError error = {0};
    if ((jobs->feeding ? jobs_open_fed(jobs, worker, false, &error)
                       : jobs_open_worker(jobs, worker, &error)) != IMGSTAT_OK)
        note_unopened(jobs, &error);
}

double jobs_work(Jobs *jobs, TransformWorker *worker, size_t index, void *result)
{
    Outcome *const outcome = result;
    const double start = job_clock();
    outcome->done.job = index;
    if (!worker->device)
        outcome->done.result = jobs_take_unopened(jobs, &outcome->error);
    if (outcome->done.result == IMGSTAT_OK && !worker->device)
        outcome->done.result = jobs_open_worker(jobs, worker, &outcome->error);
    (void)!error_add_file(&outcome->error, outcome->done.result, jobs->job[index].input);
    if (outcome->done.result == IMGSTAT_OK)
        outcome->done.result = run_with_fallback(jobs, worker, index, outcome);
    outcome->done.seconds = job_clock() - start;
    return outcome->done.seconds;
}

void jobs_fail(Jobs *jobs, size_t index, const ImgstatError *why, void *result)
{
    Outcome *const outcome = result;
    outcome->done.job = index;
    outcome->error = *why;
    outcome->done.result = error_add_file(&outcome->error, why->code, jobs->job[index].input);
}

size_t jobs_outcome_bytes(void)
{
    return sizeof(Outcome);
}

static void work(void *context, void *worker, size_t index, void *outcome)
{
    Jobs *const jobs = context;
    if (jobs->feeding)
        feeding_work(jobs->feeding, &((TransformWorker *)worker)->feeder, worker, index, outcome);
    else
        (void)jobs_work(jobs, worker, index, outcome);
}

static bool takes(void *context, void *worker, size_t left)
{
    const Jobs *const jobs = context;
    return feeding_takes(jobs->feeding, &((TransformWorker *)worker)->feeder, left);
}

/* The job that is reported next may need the memory. */
static void before_wait(void *context, void *worker)
{
    jobs_yield_memory(context, worker);
}

static void close_worker(void *context, void *worker)
{
    const Jobs *const jobs = context;
    jobs_return_memory(context, worker);
    if (jobs->feeding)
        feeding_end_worker(jobs->feeding, &((TransformWorker *)worker)->feeder);
    worker_close(worker);
}

static void name_output(Jobs *jobs, size_t index, Outcome *outcome)
{
    const ImgstatResult res = synced_outputs_commit(
        &jobs->outputs, outcome->number, index + 1 == jobs->n, outcome->output, &outcome->error);
    if (res != IMGSTAT_OK && !is_made_meanwhile(jobs, index, outcome))
        outcome->done.result = res;
}

static bool report(void *context, size_t index, void *result)
{
    Jobs *const jobs = context;
    Outcome *const outcome = result;
    const ImgstatBatch *const batch = jobs->batch;
    if (outcome->output)
        name_output(jobs, index, outcome);
    if (jobs->feeding && feeding_opened(jobs->feeding, NULL) != IMGSTAT_OK)
        atomic_store(&jobs->stop, true);
    device_list_report(&jobs->devices);
    jobs_report_reference(jobs);
    kept_warnings_report(&outcome->notes.warnings, batch->open.warn, batch->open.warn_context);
    outcome->done.lost_rows = outcome->notes.lost_rows;
    if (!outcome->done.skipped)
        outcome->done.lost_rows += reference_lost_rows(jobs->pipeline.reference);
    job_notes_clear(&outcome->notes);
    outcome->done.mapped = outcome->mapped.items;
    outcome->done.n_mapped = outcome->done.result == IMGSTAT_OK ? outcome->mapped.n : 0;
    outcome->done.error = outcome->done.result == IMGSTAT_OK ? NULL : &outcome->error;
    outcome->done.message = outcome->done.error ? outcome->error.message : "";
    if (outcome->done.result != IMGSTAT_ERR_CANCELLED && batch->progress &&
        !batch->progress(batch->context, &outcome->done))
        atomic_store(&jobs->stop, true);
    mapped_pages_release(&outcome->mapped);
    return !atomic_load(&jobs->stop);
}

ImgstatResult jobs_run(Jobs *jobs, TransformWorker *worker, ImgstatError *err)
{
    const size_t usual = in_order_capacity(jobs->share.workers);
    InOrder order = {.n = jobs->n,
                     .ahead = usual > SYNCED_MOST ? usual : SYNCED_MOST,
                     .workers = jobs->share.workers,
                     .beside = jobs->n > 1,
                     .worker_bytes = sizeof(TransformWorker),
                     .outcome_bytes = sizeof(Outcome),
                     .context = jobs,
                     .open = open_worker,
                     .work = work,
                     .wait = before_wait,
                     .close = close_worker,
                     .report = report,
                     .stopped = jobs_cancelled,
                     .ring = &jobs->ring};
    if (jobs->feeding) {
        order.takes = takes;
        feeding_order(jobs->feeding, &order, jobs->n);
        jobs->at_once = order.workers;
    }
    const ImgstatResult res = in_order_run(&order, worker, err);
    *worker = (TransformWorker){0};
    if (res == IMGSTAT_OK && jobs->feeding)
        IMGSTAT_TRY(feeding_opened(jobs->feeding, err));
    if (res == IMGSTAT_OK && jobs_cancelled(jobs))
        return cancel_report(err);
    return res;
}
