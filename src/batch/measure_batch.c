/* SPDX-License-Identifier: MIT */
/* measure_batch.c: many files are measured, each by one of several workers. */
#include "batch/fall_back.h"
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
    const ImgstatJob *jobs;
    size_t n;
    ThreadShare share;
    FallBack fall_back;
    bool stopped; /* progress has returned false */
} Run;

/* What a thread has. */
typedef struct Worker {
    ImgstatDevice *device; /* NULL: none is open yet */
    const char *name;      /* that it was opened by */
    ImgstatDeviceInfo info;
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
    const Worker *worker;
    size_t job;
    ImgstatFile *file;
    Outcome *outcome;
    bool again;    /* the CPU is to do all of it again */
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

static void report_failure(const Measuring *m, const uint32_t *number, const ImgstatError *error)
{
    const ImgstatMeasured measured = {.job = m->job,
                                      .result = error->code,
                                      .message = error->message,
                                      .has_number = number != NULL,
                                      .number = number ? *number : 0};
    (void)m->run->batch->page(m->run->batch->context, &measured);
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

static bool may_be_redone(const Measuring *m, ImgstatResult result)
{
    return !job_reads_standard_input(&m->run->jobs[m->job]) && /* which is gone */
           fall_back_allowed(&m->run->fall_back, m->worker->name, result);
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
        go_on = batch->page(batch->context, &measured);
        imgstat_record_destroy(record);
        if (!go_on && m->outcome->result == IMGSTAT_OK)
            m->outcome->result = IMGSTAT_ERR_CANCELLED;
    } else {
        m->again = may_be_redone(m, res);
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
    const ImgstatGrouping by = m->run->batch->by;
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

/* Measures the pages of a job. False: the device failed, for the reason in the outcome, and the CPU
 * is to do all of it again. */
static bool measure_job(Run *run, const Worker *worker, size_t job, Outcome *outcome)
{
    const ImgstatJob *const what = &run->jobs[job];
    Measuring m = {.run = run, .worker = worker, .job = job, .outcome = outcome};
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

static void close_worker(void *context, void *own)
{
    (void)context;
    Worker *const worker = own;
    imgstat_device_close(worker->device);
    worker->device = NULL;
}

/* Opens a worker's device, or the CPU in its place. err is not NULL. */
static ImgstatResult open_worker(Run *run, Worker *worker, ImgstatError *err)
{
    const unsigned threads = run->share.threads;
    worker->name = fall_back_device(&run->fall_back);
    ImgstatResult res = imgstat_device_open(worker->name, threads, &worker->device, err);
    if (res != IMGSTAT_OK && fall_back_allowed(&run->fall_back, worker->name, res)) {
        fall_back_to_cpu(&run->fall_back, err);
        worker->name = "cpu";
        res = imgstat_device_open(worker->name, threads, &worker->device, err);
    }
    if (res == IMGSTAT_OK)
        imgstat_device_describe(worker->device, &worker->info);
    return res;
}

/* Another worker's device may have failed. */
static ImgstatResult ensure_worker(Run *run, Worker *worker, ImgstatError *err)
{
    if (worker->device && strcmp(fall_back_device(&run->fall_back), "cpu") == 0 &&
        strcmp(worker->name, "cpu") != 0)
        close_worker(run, worker);
    return worker->device ? IMGSTAT_OK : open_worker(run, worker, err);
}

static void work(void *context, void *own, size_t job, void *result)
{
    Run *const run = context;
    Worker *const worker = own;
    Outcome *const outcome = result;
    const double start = now();
    if (run->n - job > run->share.workers) /* what is taken when this one is done, about */
        (void)job_prefetch(&run->jobs[job + run->share.workers], PREFETCH_BYTES);
    for (bool done = false; !done;) {
        ImgstatError error = {0};
        const ImgstatResult res = ensure_worker(run, worker, &error);
        if (res != IMGSTAT_OK) {
            Measuring none = {.run = run, .job = job, .outcome = outcome};
            (void)!error_add_file(&error, res, run->jobs[job].input);
            fail(&none, NULL, &error);
            break;
        }
        *outcome = (Outcome){0};
        done = measure_job(run, worker, job, outcome);
        if (!done) {
            fall_back_to_cpu(&run->fall_back, &outcome->error);
            if (run->batch->restarted)
                run->batch->restarted(run->batch->context, job);
        }
    }
    outcome->seconds = now() - start;
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
    fall_back_report(&run->fall_back);
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
    for (size_t i = 0; i < run->n && i < AHEAD_FILES && left > 0; i++)
        left -= (int64_t)job_prefetch(&run->jobs[i], (uint64_t)left);
}

static ImgstatResult open_reading_ahead(Run *run, Worker *worker, ImgstatError *err)
{
    Opening opening = {.run = run};
    pthread_t thread;
    if (strcmp(run->fall_back.device, "cpu") != 0 &&
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

ImgstatResult imgstat_batch_measure(const ImgstatMeasureBatch *batch, const ImgstatJob *jobs,
                                    size_t n, ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(batch && batch->page && (jobs || n == 0), __func__, err));
    if ((unsigned)batch->by > IMGSTAT_BY_FILE)
        return error_set(err, IMGSTAT_ERR_ARG, "files are measured by page, channel or file");
    for (size_t i = 0; i < n; i++)
        if (!job_is_complete(&jobs[i], false))
            return error_set(err, IMGSTAT_ERR_ARG, "job %zu has no input", i);
    Run run = {.batch = batch,
               .jobs = jobs,
               .n = n,
               .share = thread_share(n, batch->threads, FILES_A_WORKER)};
    fall_back_init(&run.fall_back, batch->device ? batch->device : "cpu", batch->fallen_back,
                   batch->context);
    Worker first;
    ImgstatResult res = open_reading_ahead(&run, &first, err);
    fall_back_report(&run.fall_back);
    const InOrder order = {.n = n,
                           .workers = run.share.workers,
                           .context = &run,
                           .worker_bytes = sizeof(Worker),
                           .outcome_bytes = sizeof(Outcome),
                           .work = work,
                           .close = close_worker,
                           .report = report};
    if (res == IMGSTAT_OK)
        res = in_order_run(&order, &first, err);
    fall_back_report(&run.fall_back);
    fall_back_release(&run.fall_back);
    return res;
}
