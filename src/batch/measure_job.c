/* SPDX-License-Identifier: MIT */
/* measure_job.c: the pages of a file are measured one after another, and reported. */
#include "batch/measure_job.h"

#include "batch/measure_batch.h"
#include "codec/page_group.h"
#include "measure/measure.h"

#include <stdlib.h>
#include <string.h>

/* A job at work. */
typedef struct Measuring {
    MeasureRun *run;
    MeasureWorker *worker;
    size_t job;
    const ImgstatJob *what;
    const FedPages *counted;
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

/* What is missing in the data set would be missing in silence: the batch ends. */
static void check_part(MeasureRun *run, ImgstatResult result, const ImgstatError *error)
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
static void fail(Measuring *m, const uint32_t *number, ImgstatError *error)
{
    (void)!error_add_file(error, error->code, m->what->input);
    if (m->outcome->result == IMGSTAT_OK) {
        m->outcome->result = error->code;
        m->outcome->error = *error;
    }
    m->outcome->cut |= error->code == IMGSTAT_ERR_CANCELLED && measure_cancelled(m->run->batch);
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
           job_is_readable_again(m->what);
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
static bool measure_group(Measuring *m, ImgstatGrouping by, const uint32_t *numbers, uint32_t n)
{
    const ImgstatMeasureBatch *const batch = m->run->batch;
    const uint32_t pages = imgstat_file_pages(m->file);
    ImgstatPage *page = NULL;
    ImgstatRecord *record = NULL;
    ImgstatError error = {0};
    bool go_on = false;
    const double start = job_clock();
    Record *counted = NULL;
    ImgstatResult res = describe(m->file, numbers, n, &page, &error);
    if (res == IMGSTAT_OK && m->counted && n == 1)
        res = fed_page_record(m->counted, page, m->worker->device->cache, &counted, &error);
    if (res == IMGSTAT_OK)
        res = measure_pages(m->worker->device, m->file, numbers, n, batch->how, counted, &record,
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
                                          .seconds = job_clock() - start +
                                                     (m->counted ? m->counted->seconds : 0)};
        m->good++;
        go_on = !batch->page || batch->page(batch->context, &measured);
        if (m->run->into)
            add_to_dataset(m, *numbers, record);
        else
            imgstat_record_destroy(record);
        m->outcome->cut |= !go_on;
        if (!go_on && m->outcome->result == IMGSTAT_OK)
            m->outcome->result = cancel_report(&m->outcome->error);
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

static void measure_groups(Measuring *m, ImgstatError *error)
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
        go_on = measure_group(m, page_group_key(by, list, *pages).by, pages,
                              page_group_pages(&groups, g));
    }
    page_groups_release(&groups);
}

static void on_warning(void *context, const char *sentence)
{
    const Measuring *const m = context;
    const ImgstatMeasureBatch *const batch = m->run->batch;
    if (batch->warned)
        batch->warned(batch->context, m->job, sentence);
}

/* Measures the pages of a job. False: the device failed, and another is to do all of it again. */
static bool measure_job(MeasureRun *run, MeasureWorker *worker, size_t job, const FedPages *counted,
                        Outcome *outcome)
{
    const ImgstatJob *const what = job_queue_at(run->jobs, job);
    Measuring m = {.run = run,
                   .worker = worker,
                   .job = job,
                   .what = what,
                   .counted = counted,
                   .outcome = outcome};
    ImgstatOpen open = measure_open(run->batch);
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
        measure_groups(&m, &error);
    release_held(&m, false);
    outcome->lost_rows = imgstat_file_lost_rows(m.file);
    imgstat_file_close(m.file);
    return !m.again;
}

/* ---- Workers ----------------------------------------------------------------------------------
 */

static void close_device(MeasureWorker *worker)
{
    imgstat_device_close(worker->device);
    worker->device = NULL;
}

void measure_close_worker(MeasureRun *run, MeasureWorker *worker)
{
    ImgstatError error;
    close_device(worker);
    check_part(run, part_flush(&worker->part, &error), &error);
    part_release(&worker->part);
}

ImgstatResult measure_open_worker(MeasureRun *run, MeasureWorker *worker, ImgstatError *err)
{
    IMGSTAT_TRY(
        device_list_open(&run->devices, run->share.threads, &worker->name, &worker->device, err));
    imgstat_device_cancel(worker->device, run->batch->cancelled, run->batch->context);
    imgstat_device_describe(worker->device, &worker->info);
    return IMGSTAT_OK;
}

/* The worker's device may have failed in this or another worker's hands. */
static ImgstatResult ensure_worker(MeasureRun *run, MeasureWorker *worker, ImgstatError *err)
{
    if (worker->device && device_list_replaces(&run->devices, worker->name))
        close_device(worker);
    return worker->device ? IMGSTAT_OK : measure_open_worker(run, worker, err);
}

static void begin_part(MeasureRun *run, MeasureWorker *worker, const ImgstatJob *job)
{
    worker->part.dataset = run->into;
    if (run->into)
        part_begin(&worker->part, job);
}

static void end_part(MeasureRun *run, MeasureWorker *worker, const ImgstatJob *job)
{
    ImgstatError error;
    if (run->into)
        check_part(run, part_end(&worker->part, job->input, &error), &error);
}

/* Reports a job that no device can do. */
static void fail_job(MeasureRun *run, MeasureWorker *worker, size_t job, ImgstatError *error,
                     Outcome *outcome)
{
    const ImgstatJob *const what = job_queue_at(run->jobs, job);
    Measuring none = {.run = run, .worker = worker, .job = job, .what = what, .outcome = outcome};
    fail(&none, NULL, error);
}

void measure_fail(MeasureRun *run, MeasureWorker *worker, size_t job, const ImgstatError *why,
                  Outcome *outcome)
{
    const ImgstatJob *const what = job_queue_at(run->jobs, job);
    ImgstatError error = *why;
    begin_part(run, worker, what);
    fail_job(run, worker, job, &error, outcome);
    end_part(run, worker, what);
}

void measure_work(MeasureRun *run, MeasureWorker *worker, size_t job, const FedPages *counted,
                  Outcome *outcome)
{
    const double start = job_clock();
    const ImgstatJob *const what = job_queue_at(run->jobs, job);
    /* what is taken when this one is done, about */
    const ImgstatJob *const next = job_queue_at(run->jobs, job + run->share.workers);
    if (next && !counted)
        (void)job_prefetch(next, PREFETCH_BYTES);
    for (bool done = false; !done;) {
        begin_part(run, worker, what);
        ImgstatError error = {0};
        if (ensure_worker(run, worker, &error) != IMGSTAT_OK) {
            fail_job(run, worker, job, &error, outcome);
            break;
        }
        *outcome = (Outcome){0};
        done = measure_job(run, worker, job, counted, outcome);
        if (!done && run->batch->restarted)
            run->batch->restarted(run->batch->context, job);
    }
    if (!outcome->cut)
        end_part(run, worker, what);
    outcome->seconds = job_clock() - start;
}
