/* SPDX-License-Identifier: MIT */
/* feeding.c: how jobs are shared between a device that decodes and the processor. */
#include "batch/feeding.h"

#include "batch/job.h"
#include "batch/seats.h"
#include "encode/rows.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One stream keeps a warp busy at 45 MB/s. 1,024 streams fill a large GPU and leave room for the
 * kernels that unfilter and count. */
enum { FEEDERS = 12 };

/* About what the first batch takes, for which memory is allocated. */
static const double first_batch_seconds = 0.2;

/* A batch has so many pages before it ends with its share of the jobs, if a feeder also does what
 * follows: compressing takes so much longer than decoding that the last batches must not be long.
 */
enum { SHARED_PAGES = 8 };

/* Of the device's memory half is used at most. A gigabyte holds 50 photographs of 3 megapixels. */
static const size_t batch_bytes_most = (size_t)2 << 30, batch_bytes_least = (size_t)1 << 28,
                    memory_share = 2;

/* What a page takes in bytes of its pixels: these, filtered rows, the stream, words of its parts.
 */
enum { PAGE_TIMES = 5 };

struct Feeding {
    FedJobs jobs;
    Ring *own_ring, **ring; /* where the batch has its ring */
    Seats seats;            /* of those who measure, or else of those who fill batches */
    bool always;            /* IMGSTAT_DECODE=threads: the device decodes all that it can */
    ImgstatPage like;       /* of a sample */
    atomic_uint workers;    /* that were opened; the first of them feed */
    pthread_t opener;
    bool started;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    bool opened;
    ImgstatResult result; /* of opening */
    ImgstatError error;
    Device *device; /* NULL: there is none, or none any more; feeders have others of the same GPU */
    char name[DEVICE_NAME_BYTES], shown[DEVICE_NAME_BYTES];
    size_t batch_bytes;
    bool lost;
    size_t left;          /* jobs that have not begun, when a feeder took one last */
    double alone_seconds; /* of jobs that workers did which do not feed, */
    uint64_t alone_jobs;  /* and how many these were */
    double latency;       /* seconds from a full batch to its pixels, about */
    double fed_start;     /* when the first batch was begun, */
    uint64_t fed_jobs;    /* and jobs that feeders have done since */
    unsigned at_work;     /* feeders */
    FeedingRest rest;
};

/* ---- The device -------------------------------------------------------------------------------
 */

/* Opens the device. *out becomes NULL if the processor takes its place. */
static ImgstatResult open_device(Feeding *f, const char **name, Device **out, ImgstatError *err)
{
    IMGSTAT_TRY(device_list_open(f->jobs.devices, 1, name, out, err));
    if ((*out)->ops->fetches) {
        imgstat_device_close(*out);
        *out = NULL;
    }
    return IMGSTAT_OK;
}

/* Opens the device and prepares it. *out becomes NULL if the processor takes its place. */
static ImgstatResult prepare_device(Feeding *f, Device **out, ImgstatError *err)
{
    const FedJobs *const jobs = &f->jobs;
    const char *name;
    IMGSTAT_TRY(open_device(f, &name, out, err));
    Device *const device = *out;
    if (!device)
        return IMGSTAT_OK;
    snprintf(f->name, sizeof f->name, "%s", name);
    ImgstatDeviceInfo info;
    imgstat_device_describe(device, &info);
    const uint64_t bytes = info.memory_bytes / memory_share / FEEDERS;
    f->batch_bytes = bytes < f->batch_bytes ? (size_t)bytes : f->batch_bytes;
    if (jobs->whole_jobs)
        IMGSTAT_TRY(row_encoder_load(device, err));
    return page_batch_warm(device, &f->like, jobs->count.parts, err);
}

static void *opener_main(void *context)
{
    Feeding *const f = context;
    Device *device = NULL;
    ImgstatError error = {0};
    ImgstatResult res = prepare_device(f, &device, &error);
    if (res != IMGSTAT_OK && device && device_list_fail(f->jobs.devices, f->name, res, &error))
        res = IMGSTAT_OK; /* the processor goes on */
    pthread_mutex_lock(&f->lock);
    f->opened = true;
    f->result = res;
    f->error = error;
    f->device = device;
    f->lost = error.code != IMGSTAT_OK;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

/* Returns what batches hold of so many pages, with so many bytes each. */
static size_t bytes_of_batch(double pages, double bytes)
{
    const double share = pages / FEEDERS;
    const double n = share < SHARED_PAGES  ? SHARED_PAGES
                     : share < BATCH_PAGES ? share
                                           : BATCH_PAGES;
    const double wanted = PAGE_TIMES * n * bytes;
    return wanted < (double)batch_bytes_least  ? batch_bytes_least
           : wanted < (double)batch_bytes_most ? (size_t)wanted
                                               : batch_bytes_most;
}

ImgstatResult feeding_create(const FedJobs *jobs, Feeding **out, ImgstatError *err)
{
    bool always;
    double pages, bytes;
    ImgstatPage like;
    *out = NULL;
    if (!feeding_choose(jobs, &always, &like, &pages, &bytes))
        return IMGSTAT_OK;
    Feeding *const f = calloc(1, sizeof *f);
    if (!f)
        return error_memory(err, sizeof *f, "a batch");
    f->jobs = *jobs;
    f->always = always;
    f->like = like;
    f->batch_bytes = always ? batch_bytes_most : bytes_of_batch(pages, bytes);
    f->latency = first_batch_seconds;
    const char *const name = jobs->devices->device[0].name;
    snprintf(f->shown, sizeof f->shown, "%.*s%s", DEVICE_NAME_BYTES - 3, name,
             strchr(name, ':') ? "" : ":0"); /* as the device describes itself */
    seats_init(&f->seats, jobs->share.workers);
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->changed, NULL);
    f->started = pthread_create(&f->opener, NULL, opener_main, f) == 0;
    if (!f->started)
        (void)opener_main(f);
    *out = f;
    return IMGSTAT_OK;
}

void feeding_destroy(Feeding *f)
{
    if (!f)
        return;
    if (f->started)
        pthread_join(f->opener, NULL);
    imgstat_device_close(f->device);
    pthread_cond_destroy(&f->changed);
    pthread_mutex_destroy(&f->lock);
    seats_release(&f->seats);
    free(f);
}

ImgstatResult feeding_opened(Feeding *f, ImgstatError *err)
{
    pthread_mutex_lock(&f->lock);
    while (!f->opened)
        pthread_cond_wait(&f->changed, &f->lock);
    pthread_mutex_unlock(&f->lock);
    if (f->result != IMGSTAT_OK && err)
        *err = f->error;
    return f->result;
}

/* Whether there is a device that has not failed. */
static bool has_device(Feeding *f)
{
    pthread_mutex_lock(&f->lock);
    const bool has = f->device && !f->lost;
    pthread_mutex_unlock(&f->lock);
    return has;
}

/* ---- Workers ----------------------------------------------------------------------------------
 */

const char *feeding_device_name(const Feeding *f)
{
    return f->shown;
}

void feeding_open_worker(Feeding *f, Feeder *feeder, bool first)
{
    const unsigned before = first ? 0 : atomic_fetch_add(&f->workers, 1);
    feeder->feeds = f->always || (!first && before < FEEDERS);
    /* Feeders wait for the device, and so does one more: among busy threads it opens in twice the
     * time. */
    if (!first && before <= FEEDERS)
        (void)(feeding_opened(f, NULL) == IMGSTAT_OK);
}

/* Decides who does the jobs that are left, for good. The lock is held. */
static void divide_rest(Feeding *f, bool feeds, size_t left)
{
    if (f->rest != REST_OPEN || f->alone_jobs == 0)
        return;
    const FeedingPace pace = {.alone_seconds = f->alone_seconds / (double)f->alone_jobs,
                              .alone_workers = f->jobs.share.workers,
                              .latency = f->latency,
                              .fed_a_second =
                                  f->at_work > 0 && f->fed_jobs > 0
                                      ? (double)f->fed_jobs / (job_clock() - f->fed_start)
                                      : 0};
    f->rest = feeding_rest(&pace, feeds, left);
}

bool feeding_takes(Feeding *f, const Feeder *feeder, size_t left)
{
    if (f->always)
        return true;
    pthread_mutex_lock(&f->lock);
    const bool device = f->device && !f->lost, feeds = feeder->feeds && device;
    if (device)
        divide_rest(f, feeder->feeds, left);
    const bool takes = f->rest == REST_OPEN ? feeds || !feeder->feeds
                       : f->rest == REST_ALONE
                           ? !feeder->feeds
                           : feeds || f->at_work == 0; /* the others have gone */
    f->left = left;
    pthread_mutex_unlock(&f->lock);
    return takes;
}

static void work_alone(Feeding *f, bool feeds, void *worker, size_t job, void *outcome)
{
    if (!f->jobs.whole_jobs)
        seat_acquire(&f->seats, feeds);
    const double seconds = f->jobs.work(f->jobs.context, worker, job, NULL, outcome);
    if (!f->jobs.whole_jobs)
        seat_release(&f->seats);
    pthread_mutex_lock(&f->lock);
    f->alone_seconds += seconds;
    f->alone_jobs++;
    pthread_mutex_unlock(&f->lock);
}

/* ---- Batches ----------------------------------------------------------------------------------
 */

/* A worker's jobs. */
typedef struct Fed {
    Feeding *feeding;
    Feeder *feeder;
    void *worker;
    size_t first;                /* whose outcome goes to its caller, */
    void *outcome, *other;       /* and room for that of another */
    size_t job[BATCH_PAGES];     /* n of them are in the batch, */
    FedPages pages[BATCH_PAGES]; /* with these pages */
    size_t n;
    size_t next;  /* waits for the next batch, */
    bool carried; /* if there is one */
} Fed;

/* Does a job, and hands over what became of it. why: NULL, or the device's failure. */
static void finish(Fed *fed, size_t job, const FedPages *pages, const ImgstatError *why)
{
    Feeding *const f = fed->feeding;
    void *const outcome = job == fed->first ? fed->outcome : fed->other;
    if (job != fed->first)
        memset(outcome, 0, f->jobs.outcome_bytes);
    if (why)
        f->jobs.fail(f->jobs.context, fed->worker, job, why, outcome);
    else
        (void)f->jobs.work(f->jobs.context, fed->worker, job, pages, outcome);
    if (job != fed->first)
        in_order_done(*f->ring, job, outcome);
}

static ImgstatResult add_job(Fed *fed, size_t job, PageAdded *added, ImgstatError *err)
{
    const FedJobs *const jobs = &fed->feeding->jobs;
    ImgstatFile *file;
    bool unusual;
    ImgstatResult res = IMGSTAT_OK;
    *added = PAGE_REFUSED;
    if (feeding_open_pages(jobs, job, &unusual, &file))
        res = page_batch_add(fed->feeder->pages, file, jobs->counts ? &jobs->count : NULL, &unusual,
                             added, &fed->pages[fed->n], err);
    imgstat_file_close(file);
    return res;
}

/* Returns how many jobs a batch has about: every feeder is to have a share of those left. */
static size_t share_of(Feeding *f)
{
    if (f->always)
        return BATCH_PAGES;
    pthread_mutex_lock(&f->lock);
    const size_t share = f->left / FEEDERS;
    pthread_mutex_unlock(&f->lock);
    return share;
}

/* Fills the batch, with fed->next first. */
static ImgstatResult fill(Fed *fed, ImgstatError *err)
{
    Feeding *const f = fed->feeding;
    const size_t share = share_of(f);
    size_t pages = 0;
    page_batch_begin(fed->feeder->pages);
    fed->n = 0;
    do { /* a worker whose device fails in a job of the processor's has no pages any more */
        PageAdded added;
        const ImgstatResult res = add_job(fed, fed->next, &added, err);
        if (res != IMGSTAT_OK || added == PAGE_FULL)
            return res; /* it is carried */
        if (added == PAGE_ADDED) {
            pages += fed->pages[fed->n].n;
            fed->job[fed->n++] = fed->next;
        } else {
            finish(fed, fed->next, NULL, NULL);
        }
        fed->carried = in_order_more(*f->ring, fed->worker, &fed->next);
    } while (fed->carried && fed->feeder->pages && (fed->n < share || pages < SHARED_PAGES) &&
             pages < BATCH_PAGES);
    return IMGSTAT_OK;
}

/* The device has failed in a batch: its jobs fail, or are the processor's. */
static void finish_failed(Fed *fed, ImgstatResult res, const ImgstatError *why)
{
    Feeding *const f = fed->feeding;
    const bool memory = res == IMGSTAT_ERR_MEMORY; /* others may have enough */
    const bool again = memory || device_list_fail(f->jobs.devices, f->name, res, why);
    page_batch_destroy(fed->feeder->pages);
    fed->feeder->pages = NULL;
    fed->feeder->feeds = !memory;
    pthread_mutex_lock(&f->lock);
    f->lost = f->lost || !memory;
    pthread_mutex_unlock(&f->lock);
    for (size_t i = 0; i < fed->n; i++)
        finish(fed, fed->job[i], NULL, again ? NULL : why);
    if (fed->carried)
        finish(fed, fed->next, NULL, again ? NULL : why);
    fed->carried = false;
}

/* Before a worker waits for others, or for the device. */
static void idle(const Fed *fed)
{
    const FedJobs *const jobs = &fed->feeding->jobs;
    if (jobs->idle)
        jobs->idle(jobs->context, fed->worker);
}

static ImgstatResult wait_for_pages(const Fed *fed, ImgstatError *err)
{
    const FedJobs *const jobs = &fed->feeding->jobs;
    PageBatch *const pages = fed->feeder->pages;
    if (!pages)
        return IMGSTAT_OK;
    return jobs->counts ? page_batch_count(pages, &jobs->count, err) : page_batch_wait(pages, err);
}

/* Waits for a batch that is sent, and does what is left of its jobs: most of that is waiting for
 * the device. */
static ImgstatResult finish_batch(Fed *fed, ImgstatError *err)
{
    Feeding *const f = fed->feeding;
    const double start = job_clock();
    idle(fed);
    IMGSTAT_TRY(wait_for_pages(fed, err));
    const double seconds = job_clock() - start;
    pthread_mutex_lock(&f->lock);
    f->latency = (f->latency + seconds) / 2;
    pthread_mutex_unlock(&f->lock);
    if (!f->jobs.whole_jobs)
        seat_acquire(&f->seats, true);
    for (size_t i = 0; i < fed->n; i++) {
        fed->pages[i].seconds = seconds / (double)fed->n;
        finish(fed, fed->job[i], fed->feeder->pages ? &fed->pages[i] : NULL, NULL);
        pthread_mutex_lock(&f->lock);
        f->fed_jobs++;
        pthread_mutex_unlock(&f->lock);
    }
    if (!f->jobs.whole_jobs)
        seat_release(&f->seats);
    return IMGSTAT_OK;
}

/* Fills a batch and does its jobs. Who has the seat may wait for memory, in a job of the
 * processor's, so nobody keeps any who waits for a seat. */
static void feed(Fed *fed)
{
    Feeding *const f = fed->feeding;
    ImgstatError error = {0};
    idle(fed);
    seat_acquire(&f->seats, true);
    ImgstatResult res = fill(fed, &error);
    if (res == IMGSTAT_OK && fed->feeder->pages)
        res = page_batch_send(fed->feeder->pages, &error);
    seat_release(&f->seats);
    if (res == IMGSTAT_OK && fed->n > 0)
        res = finish_batch(fed, &error);
    if (res != IMGSTAT_OK)
        finish_failed(fed, res, &error);
}

/* Gives a worker a batch, and a device that it lacks. It has no batch if the processor takes the
 * place of the device. */
static ImgstatResult begin_feeding(Feeding *f, Feeder *feeder, ImgstatError *err)
{
    const char *name;
    if (!feeder->device) {
        IMGSTAT_TRY(open_device(f, &name, &feeder->device, err));
        feeder->owned = feeder->device != NULL;
    }
    return feeder->device ? page_batch_create(feeder->device, f->batch_bytes, &feeder->pages, err)
                          : IMGSTAT_OK;
}

/* Feeds until the worker takes no more jobs. */
static void feed_all(Fed *fed)
{
    Feeding *const f = fed->feeding;
    Feeder *const feeder = fed->feeder;
    ImgstatError error = {0};
    ImgstatResult res = IMGSTAT_OK;
    if (!feeder->pages)
        res = begin_feeding(f, feeder, &error);
    if (res != IMGSTAT_OK)
        finish_failed(fed, res, &error);
    while (fed->carried && feeder->feeds && feeder->pages && has_device(f))
        feed(fed);
    if (fed->carried)
        finish(fed, fed->next, NULL, NULL);
}

/* by: 1 or -1 */
static void note_work(Feeding *f, int by)
{
    pthread_mutex_lock(&f->lock);
    f->at_work += (unsigned)by;
    if (f->fed_start == 0)
        f->fed_start = job_clock();
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

void feeding_work(Feeding *f, Feeder *feeder, void *worker, size_t job, void *outcome)
{
    void *const other = feeder->feeds ? malloc(f->jobs.outcome_bytes) : NULL;
    if (!other || feeding_opened(f, NULL) != IMGSTAT_OK || !has_device(f) ||
        (f->jobs.whole_jobs && !feeder->device)) {
        work_alone(f, feeder->feeds, worker, job, outcome);
    } else {
        Fed fed = {.feeding = f,
                   .feeder = feeder,
                   .worker = worker,
                   .first = job,
                   .outcome = outcome,
                   .other = other,
                   .next = job,
                   .carried = true};
        note_work(f, 1);
        feed_all(&fed);
        note_work(f, -1);
    }
    free(other);
}

void feeding_end_worker(Feeding *f, const Feeder *feeder)
{
    pthread_mutex_lock(&f->lock);
    while (feeder->feeds && f->at_work > 0)
        pthread_cond_wait(&f->changed, &f->lock);
    pthread_mutex_unlock(&f->lock);
}

void feeding_order(Feeding *f, InOrder *order, size_t ahead)
{
    const unsigned feeders = order->n < FEEDERS ? (unsigned)order->n : FEEDERS;
    order->workers = f->always ? feeders : f->jobs.share.workers + feeders;
    f->ring = order->ring ? order->ring : &f->own_ring;
    order->ring = f->ring;
    order->ahead = ahead;
}
