/* SPDX-License-Identifier: MIT */
/* measure_batch.c: many files are measured, each by one of several workers. */
#include "batch/measure_batch.h"

#include "batch/job.h"
#include "batch/measure_job.h"
#include "measure/measure.h"

#include <stdio.h>

/* A GPU takes about 0.3 s to open; meanwhile the disk reads so much, of no more files than that is
 * worth while for. */
enum { AHEAD_BYTES = 1 << 30, AHEAD_FILES = 1024 };

enum { FILES_A_WORKER = 3 }; /* descriptors: input, a second decoder; a reserve */

bool measure_cancelled(const ImgstatMeasureBatch *batch)
{
    return batch->cancelled && batch->cancelled(batch->context);
}

typedef struct Run {
    MeasureRun measure;
    Feeding *feeding; /* NULL: each worker opens a device */
    size_t ahead;     /* jobs of a stream that are known before they begin */
    bool stopped;     /* progress has returned false */
    ImgstatError why; /* the device of the feeding could not be opened */
} Run;

/* ---- Workers ----------------------------------------------------------------------------------
 */

static void close_worker(void *context, void *own)
{
    Run *const run = context;
    MeasureWorker *const worker = own;
    if (run->feeding)
        feeding_end_worker(run->feeding, &worker->feeder);
    feeder_release(&worker->feeder);
    measure_close_worker(&run->measure, worker);
}

static void work(void *context, void *own, size_t job, void *result)
{
    Run *const run = context;
    MeasureWorker *const worker = own;
    if (run->feeding)
        feeding_work(run->feeding, &worker->feeder, worker, job, result);
    else
        measure_work(&run->measure, worker, job, NULL, result);
}

/* ---- Where a device decodes ---- */

static ImgstatResult open_alone(Run *run, MeasureWorker *worker, ImgstatError *err)
{
    worker->name = "cpu";
    snprintf(worker->info.name, sizeof worker->info.name, "%s", feeding_device_name(run->feeding));
    IMGSTAT_TRY(
        imgstat_device_open(worker->name, run->measure.share.threads, &worker->device, err));
    imgstat_device_cancel(worker->device, run->measure.batch->cancelled,
                          run->measure.batch->context);
    return IMGSTAT_OK;
}

/* A device that could not be opened is missing when a job needs it, which reports why. */
static void open_worker(void *context, void *own)
{
    Run *const run = context;
    MeasureWorker *const worker = own;
    (void)(open_alone(run, worker, NULL) == IMGSTAT_OK);
    feeding_open_worker(run->feeding, &worker->feeder, false);
}

static bool takes(void *context, void *own, size_t left)
{
    const Run *const run = context;
    const JobQueue *const jobs = run->measure.jobs;
    if (jobs->stream && jobs->ended)
        left -= SIZE_MAX - atomic_load(&jobs->n);
    return feeding_takes(run->feeding, &((MeasureWorker *)own)->feeder, left);
}

static bool open_fed(void *context, size_t job, bool *unusual, ImgstatFile **file)
{
    const MeasureRun *const run = &((Run *)context)->measure;
    const ImgstatJob *const what = job_queue_at(run->jobs, job);
    const ImgstatOpen open = measure_open(run->batch);
    return feeding_open_job(what, &open, run->batch->levels, NULL, unusual, file);
}

static double work_fed(void *context, void *worker, size_t job, const FedPages *page, void *result)
{
    Run *const run = context;
    Outcome *const outcome = result;
    measure_work(&run->measure, worker, job, page, outcome);
    return outcome->seconds;
}

static void fail_fed(void *context, void *worker, size_t job, const ImgstatError *why,
                     void *outcome)
{
    measure_fail(&((Run *)context)->measure, worker, job, why, outcome);
}

/* Begins to open a device that decodes, if that is worthwhile. */
static ImgstatResult begin_feeding(Run *run, ImgstatError *err)
{
    MeasureRun *const measure = &run->measure;
    const ImgstatMeasureBatch *const batch = measure->batch;
    const ImgstatMeasure *const how = batch->how;
    const FedJobs jobs = {.context = run,
                          .devices = &measure->devices,
                          .share = measure->share,
                          .n = atomic_load(&measure->jobs->n),
                          .more = measure->jobs->stream && !measure->jobs->ended,
                          .outcome_bytes = sizeof(Outcome),
                          .one_page =
                              batch->by == IMGSTAT_BY_CHANNEL || batch->by == IMGSTAT_BY_FILE,
                          .counts = true,
                          .count = {.parts = measure_parts(batch->how),
                                    .region = how ? how->region : (ImgstatRegion){0, 0, 0, 0}},
                          .open = open_fed,
                          .work = work_fed,
                          .fail = fail_fed};
    if (batch->open.salvage || (how && (how->hash || how->preview > 0)))
        return IMGSTAT_OK;
    return feeding_create(&jobs, &run->feeding, err);
}

/* ---- In order ---- */

static bool begin_job(void *context, size_t job)
{
    const Run *const run = context;
    JobQueue *const jobs = run->measure.jobs;
    job_queue_fill(jobs, job + 1 + run->ahead);
    return job_queue_at(jobs, job) != NULL;
}

static bool is_over(void *context)
{
    const Run *const run = context;
    return atomic_load(&run->measure.broken) || measure_cancelled(run->measure.batch);
}

static bool report(void *context, size_t job, void *result)
{
    Run *const run = context;
    const Outcome *const outcome = result;
    const ImgstatMeasureBatch *const batch = run->measure.batch;
    const ImgstatDone done = {.job = job,
                              .result = outcome->result,
                              .message = outcome->error.message,
                              .lost_rows = outcome->lost_rows,
                              .seconds = outcome->seconds,
                              .error = outcome->result == IMGSTAT_OK ? NULL : &outcome->error};
    if (run->feeding && !run->stopped)
        run->stopped = feeding_opened(run->feeding, &run->why) != IMGSTAT_OK;
    device_list_report(&run->measure.devices);
    if (!run->stopped && batch->progress)
        run->stopped = !batch->progress(batch->context, &done);
    return !run->stopped;
}

/* ---- The batch --------------------------------------------------------------------------------
 */

/* The first worker's device, opened on a thread of its own. */
typedef struct Opening {
    MeasureRun *run;
    MeasureWorker worker;
    ImgstatResult result;
    ImgstatError error;
} Opening;

static void *open_first(void *context)
{
    Opening *const opening = context;
    opening->result = measure_open_worker(opening->run, &opening->worker, &opening->error);
    return NULL;
}

static void read_ahead(const MeasureRun *run)
{
    int64_t left = AHEAD_BYTES;
    const ImgstatJob *job;
    for (size_t i = 0; i < AHEAD_FILES && left > 0 && (job = job_queue_at(run->jobs, i)); i++)
        left -= (int64_t)job_prefetch(job, (uint64_t)left);
}

static ImgstatResult open_reading_ahead(MeasureRun *run, MeasureWorker *worker, ImgstatError *err)
{
    Opening opening = {.run = run};
    pthread_t thread;
    if (!device_list_is_cpu(&run->devices) &&
        pthread_create(&thread, NULL, open_first, &opening) == 0) {
        read_ahead(run);
        pthread_join(thread, NULL);
    } else {
        (void)open_first(&opening);
    }
    *worker = opening.worker;
    if (opening.result != IMGSTAT_OK && err)
        *err = opening.error;
    return opening.result;
}

/* Opens the first worker. */
static ImgstatResult begin(Run *run, InOrder *order, MeasureWorker *first, ImgstatError *err)
{
    *first = (MeasureWorker){0};
    run->ahead = device_list_is_cpu(&run->measure.devices) ? run->measure.share.workers : FED_AHEAD;
    job_queue_fill(run->measure.jobs, run->ahead);
    IMGSTAT_TRY(begin_feeding(run, err));
    if (!run->feeding)
        return open_reading_ahead(&run->measure, first, err);
    order->open = open_worker;
    order->takes = takes;
    feeding_order(run->feeding, order, FED_AHEAD);
    feeding_open_worker(run->feeding, &first->feeder, true);
    return open_alone(run, first, err);
}

/* At least one, and no more than most. */
static size_t at_most(size_t n, size_t most)
{
    return n == 0 ? 1 : n < most ? n : most;
}

ThreadShare measure_share(const ImgstatMeasureBatch *batch, size_t n)
{
    enum {
        WORKER_BYTES = 160 << 20, /* a page that is kept, keys that are sorted, counters */
        THREAD_BYTES = 8 << 20    /* counters, a tile, its decoder */
    };
    const ThreadShare share = thread_share(n, batch->threads, FILES_A_WORKER);
    const size_t threads = (size_t)share.workers * share.threads;
    if (batch->memory == 0)
        return share;
    return thread_share(at_most(batch->memory / WORKER_BYTES, share.workers),
                        (unsigned)at_most(batch->memory / THREAD_BYTES, threads), FILES_A_WORKER);
}

ImgstatOpen measure_open(const ImgstatMeasureBatch *batch)
{
    ImgstatOpen open = batch->open;
    if (batch->memory)
        limits_lower_tile(&open.limits, batch->memory / 4);
    return open;
}

ImgstatResult measure_queue(const ImgstatMeasureBatch *batch, JobQueue *jobs, ThreadShare share,
                            ImgstatDataset *into, ImgstatError *err)
{
    Run run = {.measure = {.batch = batch, .jobs = jobs, .into = into, .share = share}};
    MeasureRun *const measure = &run.measure;
    IMGSTAT_TRY(device_list_init(&measure->devices, batch->device, batch->fallen_back,
                                 batch->context, err));
    atomic_init(&measure->broken, false);
    pthread_mutex_init(&measure->lock, NULL);
    MeasureWorker first;
    InOrder order = {.n = jobs->stream ? SIZE_MAX : atomic_load(&jobs->n),
                     .workers = share.workers,
                     .context = &run,
                     .worker_bytes = sizeof(MeasureWorker),
                     .outcome_bytes = sizeof(Outcome),
                     .begin = jobs->stream ? begin_job : NULL,
                     .work = work,
                     .close = close_worker,
                     .report = report,
                     .stopped = is_over};
    ImgstatResult res = begin(&run, &order, &first, err);
    device_list_report(&measure->devices);
    if (res == IMGSTAT_OK)
        res = in_order_run(&order, &first, err);
    feeding_destroy(run.feeding);
    device_list_report(&measure->devices);
    device_list_release(&measure->devices);
    pthread_mutex_destroy(&measure->lock);
    const ImgstatError *const why = run.why.code != IMGSTAT_OK      ? &run.why
                                    : atomic_load(&measure->broken) ? &measure->why
                                                                    : NULL;
    if (res == IMGSTAT_OK && why) {
        if (err)
            *err = *why;
        res = why->code;
    }
    if (res == IMGSTAT_OK && ((into && run.stopped) || measure_cancelled(batch)))
        res = cancel_report(err);
    return res;
}

ImgstatResult measure_open_stream(const ImgstatJobStream *stream, const ImgstatMeasureBatch *batch,
                                  size_t held, JobQueue *queue, ThreadShare *share,
                                  ImgstatError *err)
{
    const unsigned most = measure_share(batch, SIZE_MAX).workers;
    const size_t capacity = held ? held : in_order_capacity(most);
    IMGSTAT_TRY(job_queue_open(stream, capacity + most + 1, queue, err));
    job_queue_fill(queue, most); /* fewer than threads: then there are no more */
    *share = measure_share(batch, queue->ended ? atomic_load(&queue->n) : SIZE_MAX);
    return IMGSTAT_OK;
}

ImgstatResult measure_stream(const ImgstatMeasureBatch *batch, const ImgstatJobStream *stream,
                             ImgstatDataset *into, ImgstatError *err)
{
    JobQueue queue;
    ThreadShare share;
    IMGSTAT_TRY(measure_open_stream(stream, batch, 2 * FED_AHEAD, &queue, &share, err));
    ImgstatResult res = measure_queue(batch, &queue, share, into, err);
    if (res == IMGSTAT_OK && queue.error.code != IMGSTAT_OK) {
        if (err)
            *err = queue.error;
        res = queue.error.code;
    }
    job_queue_close(&queue);
    return res;
}

static ImgstatResult check_batch(const ImgstatMeasureBatch *batch, ImgstatError *err)
{
    if ((unsigned)batch->by > IMGSTAT_BY_FILE)
        return error_set(err, IMGSTAT_ERR_ARG, "files are measured by page, channel or file");
    return job_check_memory(batch->memory, err);
}

ImgstatResult imgstat_batch_measure(const ImgstatMeasureBatch *batch, const ImgstatJob *jobs,
                                    size_t n, ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(batch && batch->page && (jobs || n == 0), __func__, err));
    IMGSTAT_TRY(check_batch(batch, err));
    for (size_t i = 0; i < n; i++)
        if (!job_is_complete(&jobs[i], false))
            return error_set(err, IMGSTAT_ERR_ARG, "job %zu has no input", i);
    JobQueue queue;
    job_queue_of_array(jobs, n, &queue);
    return measure_queue(batch, &queue, measure_share(batch, n), NULL, err);
}

ImgstatResult imgstat_batch_measure_stream(const ImgstatMeasureBatch *batch,
                                           const ImgstatJobStream *jobs, ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(batch && batch->page && jobs && jobs->next, __func__, err));
    IMGSTAT_TRY(check_batch(batch, err));
    return measure_stream(batch, jobs, NULL, err);
}
