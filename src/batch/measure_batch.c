/* SPDX-License-Identifier: MIT */
/* measure_batch.c: many files are measured, each by one of several workers. */
#include "batch/measure_batch.h"

#include "batch/dataset_part.h"
#include "batch/device_list.h"
#include "batch/in_order.h"
#include "batch/job.h"
#include "codec/page_group.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A GPU takes about 0.3 s to open; meanwhile the disk reads so much, of no more files than that is
 * worth while for. */
enum { AHEAD_BYTES = 1 << 30, AHEAD_FILES = 1024 };

enum { FILES_A_WORKER = 3 }; /* descriptors: input, a second decoder; a reserve */

typedef struct Run {
    const ImgstatMeasureBatch *batch;
    JobQueue *jobs;
    ImgstatDataset *into; /* NULL: records go to the program */
    ThreadShare share;
    DeviceList devices;
    bool stopped;       /* progress has returned false */
    atomic_bool broken; /* the data set lacks something: memory ran out */
    pthread_mutex_t lock;
    ImgstatError why; /* broken; guarded by the lock */
} Run;

/* What a thread has. */
typedef struct Worker {
    ImgstatDevice *device; /* NULL: none is open yet */
    const char *name;      /* that it was opened by */
    ImgstatDeviceInfo info;
    DatasetPart part;
} Worker;

/* What became of a job. */
typedef struct Outcome {
    ImgstatResult result;
    ImgstatError error;
    double seconds;
} Outcome;

/* A job at work. */
typedef struct Measuring {
    Run *run;
    Worker *worker;
    size_t job;
    const ImgstatJob *what;
    ImgstatFile *file;
    Outcome *outcome;
    bool again;    /* another device is to do all of it again */
    uint32_t good; /* pages measured */
    uint32_t failed;
    struct Held *held; /* failures that are reported if a page turns out good */
} Measuring;

typedef struct Held {
    struct Held *next;
    uint32_t number;
    ImgstatError error;
} Held;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- Pages ------------------------------------------------------------------------------------
 */

/* What is missing in the data set would be missing in silence: the batch ends. */
static void check_part(Run *run, ImgstatResult result, const ImgstatError *error)
{
    if (result == IMGSTAT_OK)
        return;
    pthread_mutex_lock(&run->lock);
    if (!atomic_exchange(&run->broken, true))
        run->why = *error;
    pthread_mutex_unlock(&run->lock);
}

static void report_failure(const Measuring *m, const uint32_t *number, const ImgstatError *error)
{
    const ImgstatMeasureBatch *const batch = m->run->batch;
    ImgstatError no_memory;
    if (m->run->into)
        check_part(m->run, part_fail(&m->worker->part, error, &no_memory), &no_memory);
    if (!batch->page)
        return;
    const ImgstatMeasured measured = {.job = m->job,
                                      .result = error->code,
                                      .message = error->message,
                                      .has_number = number != NULL,
                                      .number = number ? *number : 0};
    (void)batch->page(batch->context, &measured);
}

/* A file without a good page is one failure with one cause, the first: what is wrong with its other
 * pages waits for a good one. */
static void fail(Measuring *m, const uint32_t *number, const ImgstatError *error)
{
    if (m->outcome->result == IMGSTAT_OK) {
        m->outcome->result = error->code;
        m->outcome->error = *error;
    }
    m->failed++;
    if (m->good > 0 || m->failed == 1) {
        report_failure(m, number, error);
        return;
    }
    Held **end = &m->held;
    while (*end)
        end = &(*end)->next;
    Held *const held = number ? malloc(sizeof *held) : NULL;
    if (held) {
        *held = (Held){.number = *number, .error = *error};
        *end = held;
    }
}

static void release_held(Measuring *m, bool report)
{
    while (m->held) {
        Held *const held = m->held;
        m->held = held->next;
        if (report)
            report_failure(m, &held->number, &held->error);
        free(held);
    }
}

/* Whether other pages of the file may be good. */
static bool is_of_page(ImgstatResult result)
{
    return result == IMGSTAT_ERR_FORMAT || result == IMGSTAT_ERR_TRUNCATED ||
           result == IMGSTAT_ERR_UNSUPPORTED || result == IMGSTAT_ERR_LIMIT;
}

/* After a failure: whether another device may do all of the job again. */
static bool may_be_redone(const Measuring *m, ImgstatResult result, const ImgstatError *why)
{
    return device_list_fail(&m->run->devices, m->worker->name, result, why) &&
           !job_reads_standard_input(m->what); /* which is gone */
}

/* Describes pages; the first one is selected on return. */
static ImgstatResult describe(ImgstatFile *file, const uint32_t *numbers, uint32_t n,
                              ImgstatPage **out, ImgstatError *err)
{
    *out = malloc(n * sizeof **out);
    if (!*out)
        return error_memory(err, n * sizeof **out, "the pages of a file");
    for (uint32_t i = n; i-- > 0;) {
        const ImgstatResult res = imgstat_file_page(file, numbers[i], &(*out)[i], err);
        if (res != IMGSTAT_OK)
            return n > 1 ? decoder_add_page(file->decoder, numbers[i], res, err) : res;
    }
    return IMGSTAT_OK;
}

/* Adds the record of a page to the data set. */
static void add_to_dataset(Measuring *m, uint32_t page, ImgstatRecord *record)
{
    char *group = NULL;
    ImgstatError error;
    ImgstatResult res = measure_group_name(m->run->batch->by, m->what, &m->file->decoder->list,
                                           page, &group, &error);
    if (res == IMGSTAT_OK)
        res = part_add(&m->worker->part, group ? group : m->what->group, record, &error);
    else
        imgstat_record_destroy(record);
    free(group);
    check_part(m->run, res, &error);
}

/* Measures n pages as one. False: nothing after them can be measured, or is wanted. */
static bool measure_pages(Measuring *m, ImgstatGrouping by, const uint32_t *numbers, uint32_t n)
{
    const ImgstatMeasureBatch *const batch = m->run->batch;
    const uint32_t pages = imgstat_file_pages(m->file);
    ImgstatPage *page = NULL;
    ImgstatRecord *record = NULL;
    ImgstatError error = {0};
    bool go_on = false;
    const double start = now();
    ImgstatResult res = describe(m->file, numbers, n, &page, &error);
    if (res == IMGSTAT_OK)
        res = imgstat_measure_pages(m->worker->device, m->file, numbers, n, batch->how, &record,
                                    &error);
    if (res == IMGSTAT_OK) {
        release_held(m, true);
        const ImgstatMeasured measured = {.job = m->job,
                                          .message = "",
                                          .has_number = true,
                                          .number = *numbers,
                                          .first = m->good == 0,
                                          .file = m->file,
                                          .page = page,
                                          .by = by,
                                          .pages = page,
                                          .n_pages = n,
                                          .record = record,
                                          .device = m->worker->info.name,
                                          .seconds = now() - start};
        m->good++;
        go_on = !batch->page || batch->page(batch->context, &measured);
        if (m->run->into)
            add_to_dataset(m, *numbers, record);
        else
            imgstat_record_destroy(record);
        if (!go_on && m->outcome->result == IMGSTAT_OK)
            m->outcome->result = IMGSTAT_ERR_CANCELLED;
    } else {
        m->again = may_be_redone(m, res, &error);
        if (m->again)
            m->outcome->error = error;
        const bool of_page = pages > 1 && *numbers < pages;
        if (of_page && n == 1)
            res = decoder_add_page(m->file->decoder, *numbers, res, &error);
        if (!m->again)
            fail(m, !of_page ? NULL : error.has_page ? &error.page : numbers, &error);
        go_on = !m->again && (is_of_page(res) || (n > 1 && res == IMGSTAT_ERR_ARG));
    }
    free(page);
    return go_on;
}

static bool measure_groups(Measuring *m, ImgstatError *error)
{
    const PageList *const list = &m->file->decoder->list;
    const ImgstatGrouping by = m->run->into ? IMGSTAT_BY_PAGE : m->run->batch->by;
    PageGroups groups;
    bool go_on = page_groups_make(by, list, m->file->chosen, m->file->n_chosen, &groups, error) ==
                 IMGSTAT_OK;
    if (!go_on)
        fail(m, NULL, error);
    for (uint32_t g = 0; go_on && g < groups.n; g++) {
        const uint32_t *const pages = groups.page + groups.first[g];
        go_on = measure_pages(m, page_group_key(by, list, *pages).by, pages,
                              page_group_pages(&groups, g));
    }
    page_groups_release(&groups);
    return go_on;
}

static void on_warning(void *context, const char *sentence)
{
    const Measuring *const m = context;
    const ImgstatMeasureBatch *const batch = m->run->batch;
    if (batch->warned)
        batch->warned(batch->context, m->job, sentence);
}

/* Measures the pages of a job. False: the device failed, and another is to do all of it again. */
static bool measure_job(Run *run, Worker *worker, size_t job, Outcome *outcome)
{
    const ImgstatJob *const what = job_queue_at(run->jobs, job);
    Measuring m = {.run = run, .worker = worker, .job = job, .what = what, .outcome = outcome};
    ImgstatOpen open = run->batch->open;
    open.warn = on_warning;
    open.warn_context = &m;
    ImgstatError error = {0};
    if (job_open(what, &open, NULL, &m.file, &error) != IMGSTAT_OK) {
        fail(&m, NULL, &error);
        return true;
    }
    if (file_choose(m.file, what->pages, run->batch->levels ? WITH_LEVELS : 0, &error) !=
        IMGSTAT_OK)
        fail(&m, NULL, &error);
    else
        (void)measure_groups(&m, &error);
    release_held(&m, false);
    imgstat_file_close(m.file);
    return !m.again;
}

/* ---- Workers ----------------------------------------------------------------------------------
 */

static void close_device(Worker *worker)
{
    imgstat_device_close(worker->device);
    worker->device = NULL;
}

static void close_worker(void *context, void *own)
{
    Run *const run = context;
    Worker *const worker = own;
    ImgstatError error;
    close_device(worker);
    check_part(run, part_flush(&worker->part, &error), &error);
    part_release(&worker->part);
}

/* err is not NULL. */
static ImgstatResult open_worker(Run *run, Worker *worker, ImgstatError *err)
{
    IMGSTAT_TRY(
        device_list_open(&run->devices, run->share.threads, &worker->name, &worker->device, err));
    imgstat_device_describe(worker->device, &worker->info);
    return IMGSTAT_OK;
}

/* The worker's device may have failed in this or another worker's hands. */
static ImgstatResult ensure_worker(Run *run, Worker *worker, ImgstatError *err)
{
    if (worker->device && device_list_replaces(&run->devices, worker->name))
        close_device(worker);
    return worker->device ? IMGSTAT_OK : open_worker(run, worker, err);
}

static void work(void *context, void *own, size_t job, void *result)
{
    Run *const run = context;
    Worker *const worker = own;
    Outcome *const outcome = result;
    const double start = now();
    const ImgstatJob *const what = job_queue_at(run->jobs, job);
    /* what is taken when this one is done, about */
    const ImgstatJob *const next = job_queue_at(run->jobs, job + run->share.workers);
    if (next)
        (void)job_prefetch(next, PREFETCH_BYTES);
    worker->part.dataset = run->into;
    for (bool done = false; !done;) {
        if (run->into)
            part_begin(&worker->part, what);
        ImgstatError error = {0};
        const ImgstatResult res = ensure_worker(run, worker, &error);
        if (res != IMGSTAT_OK) {
            Measuring none = {.run = run, .worker = worker, .job = job, .outcome = outcome};
            (void)!error_add_file(&error, res, what->input);
            fail(&none, NULL, &error);
            break;
        }
        *outcome = (Outcome){0};
        done = measure_job(run, worker, job, outcome);
        if (!done && run->batch->restarted)
            run->batch->restarted(run->batch->context, job);
    }
    if (run->into) {
        ImgstatError error;
        check_part(run, part_end(&worker->part, what->input, &error), &error);
    }
    outcome->seconds = now() - start;
}

static bool begin_job(void *context, size_t job)
{
    Run *const run = context;
    job_queue_fill(run->jobs, job + 1 + run->share.workers);
    return job_queue_at(run->jobs, job) != NULL;
}

static bool is_broken(void *context)
{
    Run *const run = context;
    return atomic_load(&run->broken);
}

static bool report(void *context, size_t job, void *result)
{
    Run *const run = context;
    const Outcome *const outcome = result;
    const ImgstatMeasureBatch *const batch = run->batch;
    const ImgstatDone done = {.job = job,
                              .result = outcome->result,
                              .message = outcome->error.message,
                              .seconds = outcome->seconds};
    device_list_report(&run->devices);
    if (!run->stopped && batch->progress)
        run->stopped = !batch->progress(batch->context, &done);
    return !run->stopped;
}

/* ---- The batch --------------------------------------------------------------------------------
 */

/* The first worker's device, opened on a thread of its own. */
typedef struct Opening {
    Run *run;
    Worker worker;
    ImgstatResult result;
    ImgstatError error;
} Opening;

static void *open_first(void *context)
{
    Opening *const opening = context;
    opening->result = open_worker(opening->run, &opening->worker, &opening->error);
    return NULL;
}

static void read_ahead(const Run *run)
{
    int64_t left = AHEAD_BYTES;
    const ImgstatJob *job;
    for (size_t i = 0; i < AHEAD_FILES && left > 0 && (job = job_queue_at(run->jobs, i)); i++)
        left -= (int64_t)job_prefetch(job, (uint64_t)left);
}

static ImgstatResult open_reading_ahead(Run *run, Worker *worker, ImgstatError *err)
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

ThreadShare measure_share(size_t n, unsigned threads)
{
    return thread_share(n, threads, FILES_A_WORKER);
}

ImgstatResult measure_queue(const ImgstatMeasureBatch *batch, JobQueue *jobs, ThreadShare share,
                            ImgstatDataset *into, ImgstatError *err)
{
    Run run = {.batch = batch, .jobs = jobs, .into = into, .share = share};
    IMGSTAT_TRY(
        device_list_init(&run.devices, batch->device, batch->fallen_back, batch->context, err));
    atomic_init(&run.broken, false);
    pthread_mutex_init(&run.lock, NULL);
    Worker first;
    ImgstatResult res = open_reading_ahead(&run, &first, err);
    device_list_report(&run.devices);
    const InOrder order = {.n = jobs->stream ? SIZE_MAX : atomic_load(&jobs->n),
                           .workers = share.workers,
                           .context = &run,
                           .worker_bytes = sizeof(Worker),
                           .outcome_bytes = sizeof(Outcome),
                           .begin = jobs->stream ? begin_job : NULL,
                           .work = work,
                           .close = close_worker,
                           .report = report,
                           .stopped = is_broken};
    if (res == IMGSTAT_OK)
        res = in_order_run(&order, &first, err);
    device_list_report(&run.devices);
    device_list_release(&run.devices);
    pthread_mutex_destroy(&run.lock);
    if (res == IMGSTAT_OK && atomic_load(&run.broken)) {
        if (err)
            *err = run.why;
        res = run.why.code;
    }
    if (res == IMGSTAT_OK && into && run.stopped)
        res = error_set(err, IMGSTAT_ERR_CANCELLED, "interrupted");
    return res;
}

ImgstatResult imgstat_batch_measure(const ImgstatMeasureBatch *batch, const ImgstatJob *jobs,
                                    size_t n, ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(batch && batch->page && (jobs || n == 0), __func__, err));
    if ((unsigned)batch->by > IMGSTAT_BY_FILE)
        return error_set(err, IMGSTAT_ERR_ARG, "files are measured by page, channel or file");
    for (size_t i = 0; i < n; i++)
        if (!job_is_complete(&jobs[i], false))
            return error_set(err, IMGSTAT_ERR_ARG, "job %zu has no input", i);
    JobQueue queue;
    job_queue_of_array(jobs, n, &queue);
    return measure_queue(batch, &queue, measure_share(n, batch->threads), NULL, err);
}
