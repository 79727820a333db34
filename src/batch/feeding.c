/* SPDX-License-Identifier: MIT */
/* feeding.c: which batches a device decodes for, and how jobs are shared between it and the
 * processor. */
#include "batch/feeding.h"

#include "batch/job.h"
#include "batch/seats.h"
#include "measure/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One stream keeps a warp busy at 45 MB/s. 1,024 streams fill a large GPU and leave room for the
 * kernels that unfilter and count. */
enum { FEEDERS = 12 };

/* A batch takes about 0.2 s after 0.3 s for the device: fewer files are done before. */
enum { LEAST_FILES = 32, LEAST_BYTES = 256 << 20 };

/* Of the device's memory half is used at most. A gigabyte holds 50 photographs of 3 megapixels. */
static const size_t batch_bytes_most = (size_t)2 << 30, memory_share = 2;

enum { SAMPLES = 16 }; /* headers that are read, evenly spread */

struct Feeding {
    MeasureRun *run;
    Ring *ring;
    Seats seats;
    bool always;      /* IMGSTAT_DECODE=threads: the device decodes all that it can */
    ImgstatPage like; /* of a sample */
    unsigned parts;
    atomic_uint workers; /* that were opened; the first of them feed */
    pthread_t opener;
    bool started;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    bool opened;
    ImgstatResult result; /* of opening */
    ImgstatError error;
    SharedDevice *shared; /* NULL: there is no device, or none any more */
    char name[DEVICE_NAME_BYTES], shown[DEVICE_NAME_BYTES];
    size_t batch_bytes;
    bool lost;
    double alone_seconds; /* of jobs that workers did which do not feed, */
    uint64_t alone_jobs;  /* and how many these were */
    double latency;       /* seconds from a full batch to its counts, about */
};

/* ---- Whether ----------------------------------------------------------------------------------
 */

typedef struct Sampled {
    unsigned files, decodable;
    uint64_t bytes; /* of pixels, of the decodable */
    bool threads;
} Sampled;

static void note_unusual(void *context, const char *sentence)
{
    (void)sentence;
    *(bool *)context = true;
}

/* Opens a file whose only page is measured, and selects that page. False: it is no such file, or
 * there is anything to say about it: its worker will. */
static bool open_page(const MeasureRun *run, const ImgstatJob *job, ImgstatFile **file)
{
    bool unusual = false;
    ImgstatPage page;
    ImgstatOpen open = run->batch->open;
    open.warn = note_unusual;
    open.warn_context = &unusual;
    *file = NULL;
    return job_is_readable_again(job) && job_open(job, &open, NULL, file, NULL) == IMGSTAT_OK &&
           imgstat_file_pages(*file) == 1 &&
           file_choose(*file, job->pages, 0, NULL) == IMGSTAT_OK && (*file)->n_chosen == 1 &&
           imgstat_file_page(*file, 0, &page, NULL) == IMGSTAT_OK && !unusual;
}

bool feeding_decodes(const Decoder *decoder)
{
    return decoder->codec->deflated && decoder->page.pages == 1 && decoder->mode != DECODE_PLAIN &&
           !page_is_masked(decoder);
}

bool feeding_is_worthwhile(double pages, double fed, double bytes)
{
    return 2 * fed >= pages && fed >= LEAST_FILES && bytes >= LEAST_BYTES;
}

static void sample_job(const MeasureRun *run, const ImgstatJob *job, Sampled *sum,
                       ImgstatPage *like)
{
    ImgstatFile *file;
    sum->files++;
    if (open_page(run, job, &file) && feeding_decodes(file->decoder)) {
        const ImgstatPage *const page = &file->decoder->page;
        sum->decodable++;
        sum->bytes += (uint64_t)page->width * page->height * page->channels *
                      imgstat_sample_bytes(page->sample);
        sum->threads = file->decoder->mode == DECODE_THREADS;
        *like = *page;
    }
    imgstat_file_close(file);
}

/* Whether a device is of use for the batch. */
static bool is_worthwhile(const MeasureRun *run, bool *always, ImgstatPage *like, double *each)
{
    const ImgstatMeasureBatch *const batch = run->batch;
    const size_t n = atomic_load(&run->jobs->n);
    const bool more = run->jobs->stream && !run->jobs->ended; /* nobody knows how many */
    const size_t looked_at = n < SAMPLES ? n : SAMPLES;
    Sampled sum = {0};
    if (device_list_is_cpu(&run->devices) || run->devices.n > 1 || batch->open.salvage ||
        batch->levels || (batch->how && batch->how->region.width > 0))
        return false;
    for (size_t i = 0; i < looked_at; i++)
        sample_job(run, job_queue_at(run->jobs, i * n / looked_at), &sum, like);
    if (sum.decodable == 0)
        return false;
    const double stands_for = more ? LEAST_BYTES : (double)n / (double)looked_at;
    *always = sum.threads;
    *each = (double)sum.bytes / sum.decodable;
    return *always || feeding_is_worthwhile(stands_for * sum.files, stands_for * sum.decodable,
                                            stands_for * (double)sum.bytes);
}

/* ---- The device -------------------------------------------------------------------------------
 */

/* Opens the device and prepares it. *shared stays NULL if the processor takes its place. */
static ImgstatResult open_shared(Feeding *f, SharedDevice **shared, ImgstatError *err)
{
    MeasureRun *const run = f->run;
    const char *name;
    ImgstatDevice *device;
    IMGSTAT_TRY(device_list_open(&run->devices, 1, &name, &device, err));
    if (device->ops->fetches) {
        imgstat_device_close(device);
        return IMGSTAT_OK;
    }
    snprintf(f->name, sizeof f->name, "%s", name);
    ImgstatDeviceInfo info;
    imgstat_device_describe(device, &info);
    const uint64_t bytes = info.memory_bytes / memory_share / FEEDERS;
    f->batch_bytes = bytes < batch_bytes_most ? (size_t)bytes : batch_bytes_most;
    ImgstatResult res = shared_device_create(device, run->share.workers, shared, err);
    if (res != IMGSTAT_OK) {
        imgstat_device_close(device);
        return res;
    }
    return shared_device_warm(*shared, &f->like, f->parts, err);
}

static void *opener_main(void *context)
{
    Feeding *const f = context;
    SharedDevice *shared = NULL;
    ImgstatError error = {0};
    const bool seated =
        f->run->share.workers > 1; /* among busy threads opening takes twice as long */
    if (seated)
        seat_acquire(&f->seats, true);
    ImgstatResult res = open_shared(f, &shared, &error);
    if (seated)
        seat_release(&f->seats);
    if (res != IMGSTAT_OK && shared && device_list_fail(&f->run->devices, f->name, res, &error))
        res = IMGSTAT_OK; /* the processor goes on */
    pthread_mutex_lock(&f->lock);
    f->opened = true;
    f->result = res;
    f->error = error;
    f->shared = shared;
    f->lost = error.code != IMGSTAT_OK;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

/* The device of this name as it describes itself. */
static void show_name(const char *name, char shown[DEVICE_NAME_BYTES])
{
    snprintf(shown, DEVICE_NAME_BYTES, "%.*s%s", DEVICE_NAME_BYTES - 3, name,
             strchr(name, ':') ? "" : ":0");
}

ImgstatResult feeding_create(MeasureRun *run, Feeding **out, ImgstatError *err)
{
    bool always;
    double each;
    ImgstatPage like;
    *out = NULL;
    if (!is_worthwhile(run, &always, &like, &each))
        return IMGSTAT_OK;
    Feeding *const f = calloc(1, sizeof *f);
    if (!f)
        return error_memory(err, sizeof *f, "a batch");
    f->run = run;
    f->always = always;
    f->like = like;
    f->parts = measure_parts(run->batch->how);
    f->latency = each / 45e6;
    show_name(run->devices.device[0].name, f->shown);
    seats_init(&f->seats, run->share.workers);
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
    shared_device_destroy(f->shared);
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
    const bool has = f->shared && !f->lost;
    pthread_mutex_unlock(&f->lock);
    return has;
}

/* ---- Workers ----------------------------------------------------------------------------------
 */

ImgstatResult feeding_open_first(Feeding *f, MeasureWorker *worker, ImgstatError *err)
{
    worker->name = "cpu";
    worker->feeds = f->always;
    snprintf(worker->info.name, sizeof worker->info.name, "%s", f->shown);
    return imgstat_device_open("cpu", f->run->share.threads, &worker->device, err);
}

void feeding_open_worker(Feeding *f, MeasureWorker *worker)
{
    /* A device that could not be opened is missing when a job needs it, which reports why. */
    (void)(feeding_open_first(f, worker, NULL) == IMGSTAT_OK);
    worker->feeds = f->always || atomic_fetch_add(&f->workers, 1) < FEEDERS;
    if (worker->feeds)
        (void)(feeding_opened(f, NULL) == IMGSTAT_OK);
}

void feeding_close_worker(Feeding *f, MeasureWorker *worker)
{
    if (f)
        page_batch_destroy(worker->pages);
    worker->pages = NULL;
}

bool feeding_takes(Feeding *f, const MeasureWorker *worker, size_t left)
{
    if (!worker->feeds || f->always)
        return true;
    pthread_mutex_lock(&f->lock);
    /* What the others will have done by the time that one more batch is done stays theirs. */
    const double rate =
        f->alone_jobs ? (double)f->alone_jobs * f->run->share.workers / f->alone_seconds : 0;
    const bool takes = f->shared && !f->lost && (double)left > rate * f->latency;
    pthread_mutex_unlock(&f->lock);
    return takes;
}

static void work_alone(Feeding *f, MeasureWorker *worker, size_t job, Outcome *outcome)
{
    seat_acquire(&f->seats, worker->feeds);
    measure_work(f->run, worker, job, NULL, outcome);
    seat_release(&f->seats);
    pthread_mutex_lock(&f->lock);
    f->alone_seconds += outcome->seconds;
    f->alone_jobs++;
    pthread_mutex_unlock(&f->lock);
}

/* ---- Batches ----------------------------------------------------------------------------------
 */

/* A worker's jobs. */
typedef struct Fed {
    Feeding *feeding;
    MeasureWorker *worker;
    size_t first; /* whose outcome goes to its caller, */
    Outcome *outcome;
    size_t job[BATCH_PAGES]; /* n of them are in the batch */
    size_t n;
    size_t next;  /* waits for the next batch, */
    bool carried; /* if there is one */
} Fed;

/* Does a job, and hands over what became of it. why: NULL, or the device's failure. */
static void finish(Fed *fed, size_t job, const CountedPage *counted, const ImgstatError *why)
{
    Feeding *const f = fed->feeding;
    Outcome outcome = {0};
    if (why)
        measure_fail(f->run, fed->worker, job, why, &outcome);
    else
        measure_work(f->run, fed->worker, job, counted, &outcome);
    if (job == fed->first)
        *fed->outcome = outcome;
    else
        in_order_done(f->ring, job, &outcome);
}

static ImgstatResult add_job(Fed *fed, size_t job, PageAdded *added, ImgstatError *err)
{
    const MeasureRun *const run = fed->feeding->run;
    ImgstatFile *file;
    ImgstatResult res = IMGSTAT_OK;
    *added = PAGE_REFUSED;
    if (open_page(run, job_queue_at(run->jobs, job), &file))
        res = page_batch_add(fed->worker->pages, file->decoder, added, err);
    imgstat_file_close(file);
    return res;
}

/* Fills the batch, with fed->next first. */
static ImgstatResult fill(Fed *fed, ImgstatError *err)
{
    Feeding *const f = fed->feeding;
    page_batch_begin(fed->worker->pages);
    fed->n = 0;
    do {
        PageAdded added;
        const ImgstatResult res = add_job(fed, fed->next, &added, err);
        if (res != IMGSTAT_OK || added == PAGE_FULL)
            return res; /* it is carried */
        if (added == PAGE_ADDED)
            fed->job[fed->n++] = fed->next;
        else
            finish(fed, fed->next, NULL, NULL);
        fed->carried = in_order_more(f->ring, fed->worker, &fed->next);
    } while (fed->carried);
    return IMGSTAT_OK;
}

/* The device has failed in a batch: its jobs fail, or are the processor's. */
static void finish_failed(Fed *fed, ImgstatResult res, const ImgstatError *why)
{
    Feeding *const f = fed->feeding;
    const bool memory = res == IMGSTAT_ERR_MEMORY; /* others may have enough */
    const bool again = memory || device_list_fail(&f->run->devices, f->name, res, why);
    page_batch_destroy(fed->worker->pages);
    fed->worker->pages = NULL;
    fed->worker->feeds = !memory;
    pthread_mutex_lock(&f->lock);
    f->lost = f->lost || !memory;
    pthread_mutex_unlock(&f->lock);
    for (size_t i = 0; i < fed->n; i++)
        finish(fed, fed->job[i], NULL, again ? NULL : why);
    if (fed->carried)
        finish(fed, fed->next, NULL, again ? NULL : why);
    fed->carried = false;
}

/* Fills a batch, waits for it, and does what is left of its jobs. */
static void feed(Fed *fed)
{
    Feeding *const f = fed->feeding;
    ImgstatError error = {0};
    ImgstatResult res = fill(fed, &error);
    const double start = measure_now();
    if (res == IMGSTAT_OK)
        res = page_batch_send(fed->worker->pages, &error);
    if (res == IMGSTAT_OK && fed->n > 0) {
        seat_release(&f->seats);
        res = page_batch_count(fed->worker->pages, f->parts, &error);
        seat_acquire(&f->seats, true);
    }
    const double seconds = measure_now() - start;
    if (res != IMGSTAT_OK) {
        finish_failed(fed, res, &error);
        return;
    }
    for (size_t i = 0; i < fed->n; i++) {
        const CountedPage counted = {
            .batch = fed->worker->pages, .number = i, .seconds = seconds / (double)fed->n};
        finish(fed, fed->job[i], &counted, NULL);
    }
    pthread_mutex_lock(&f->lock);
    if (fed->n > 0)
        f->latency = (f->latency + seconds) / 2;
    pthread_mutex_unlock(&f->lock);
}

void feeding_work(Feeding *f, MeasureWorker *worker, size_t job, Outcome *outcome)
{
    ImgstatError error;
    if (!worker->feeds || feeding_opened(f, NULL) != IMGSTAT_OK || !has_device(f)) {
        work_alone(f, worker, job, outcome);
        return;
    }
    Fed fed = {.feeding = f, .worker = worker, .first = job, .outcome = outcome, .next = job};
    seat_acquire(&f->seats, true);
    fed.carried = true;
    ImgstatResult res = IMGSTAT_OK;
    if (!worker->pages)
        res = page_batch_create(f->shared, f->batch_bytes, &worker->pages, &error);
    if (res != IMGSTAT_OK)
        finish_failed(&fed, res, &error);
    while (fed.carried && worker->feeds && has_device(f))
        feed(&fed);
    if (fed.carried)
        finish(&fed, fed.next, NULL, NULL);
    seat_release(&f->seats);
}

void feeding_order(Feeding *f, InOrder *order, size_t ahead)
{
    const unsigned feeders = order->n < FEEDERS ? (unsigned)order->n : FEEDERS;
    order->workers = f->always ? feeders : f->run->share.workers + feeders;
    order->ring = &f->ring;
    order->ahead = ahead;
}
