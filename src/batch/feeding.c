/* SPDX-License-Identifier: MIT */
/* feeding.c: which batches a device decodes for, and how jobs are shared between it and the
 * processor. */
#include "batch/feeding.h"

#include "base/sample.h"
#include "batch/job.h"
#include "batch/seats.h"

#include <stdatomic.h>
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
    FedJobs jobs;
    Ring *own_ring, **ring; /* where the batch has its ring */
    Seats seats;
    bool always;         /* IMGSTAT_DECODE=threads: the device decodes all that it can */
    ImgstatPage like;    /* of a sample */
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
    uint64_t bytes;  /* of pixels, of the decodable */
    uint64_t stream; /* of these, in the largest strip, tile or image that is one stream */
    bool threads;
} Sampled;

/* Opens a file whose only page the device may decode, and count if that is asked for. */
static bool open_page(const FedJobs *jobs, size_t job, ImgstatFile **file)
{
    bool unusual = false;
    *file = NULL;
    return jobs->open(jobs->context, job, &unusual, file) && !unusual &&
           imgstat_file_pages(*file) == 1 &&
           (!jobs->counts || sample_is_narrow((*file)->decoder->page.sample));
}

static void note_unusual(void *context, const char *sentence)
{
    (void)sentence;
    *(bool *)context = true;
}

bool feeding_open_job(const ImgstatJob *job, const ImgstatOpen *how, const Cancel *cancel,
                      bool *unusual, ImgstatFile **file)
{
    ImgstatOpen open = *how;
    open.warn = note_unusual;
    open.warn_context = unusual;
    return job_is_readable_again(job) && job_open(job, &open, cancel, file, NULL) == IMGSTAT_OK &&
           file_choose(*file, job->pages, 0, NULL) == IMGSTAT_OK &&
           imgstat_file_page(*file, 0, NULL, NULL) == IMGSTAT_OK;
}

/* Uncompressed tiles gain nothing. */
static bool has_coded_tiles(Decoder *decoder)
{
    TiledPage page;
    CodedTile *tiles = NULL;
    const bool has = decoder->codec->coded_tiles(decoder, &page, &tiles);
    free(tiles);
    return has && (page.coding != TILE_PLAIN || decoder->mode == DECODE_THREADS);
}

bool feeding_decodes(Decoder *decoder)
{
    return decoder->page.pages == 1 && decoder->mode != DECODE_PLAIN && !page_is_masked(decoder) &&
           (decoder->codec->deflated || (decoder->codec->coded_tiles && has_coded_tiles(decoder)));
}

bool feeding_is_worthwhile(double pages, double fed, double bytes)
{
    return 2 * fed >= pages && fed >= LEAST_FILES && bytes >= LEAST_BYTES;
}

static void sample_job(const FedJobs *jobs, size_t job, Sampled *sum, ImgstatPage *like)
{
    ImgstatFile *file;
    sum->files++;
    if (open_page(jobs, job, &file) && feeding_decodes(file->decoder)) {
        const ImgstatPage *const page = &file->decoder->page;
        const uint64_t bytes = (uint64_t)page->width * page->height * page->channels *
                               imgstat_sample_bytes(page->sample);
        const uint64_t tile = file->decoder->caps.tile_bytes, stream = tile ? tile : bytes;
        sum->decodable++;
        sum->bytes += bytes;
        sum->stream = stream > sum->stream ? stream : sum->stream;
        sum->threads = file->decoder->mode == DECODE_THREADS;
        *like = *page;
    }
    imgstat_file_close(file);
}

/* Whether the batch gains by a device. */
static bool is_worthwhile(const FedJobs *jobs, bool *always, ImgstatPage *like, double *stream)
{
    const size_t looked_at = jobs->n < SAMPLES ? jobs->n : SAMPLES;
    Sampled sum = {0};
    if (device_list_is_cpu(jobs->devices) || jobs->devices->n > 1)
        return false;
    for (size_t i = 0; i < looked_at; i++)
        sample_job(jobs, i * jobs->n / looked_at, &sum, like);
    if (sum.decodable == 0)
        return false;
    const double stands_for = jobs->more ? LEAST_BYTES : (double)jobs->n / (double)looked_at;
    *always = sum.threads;
    *stream = (double)sum.stream;
    return *always || feeding_is_worthwhile(stands_for * sum.files, stands_for * sum.decodable,
                                            stands_for * (double)sum.bytes);
}

/* ---- The device -------------------------------------------------------------------------------
 */

/* Opens the device and prepares it. *shared stays NULL if the processor takes its place. */
static ImgstatResult open_shared(Feeding *f, SharedDevice **shared, ImgstatError *err)
{
    const FedJobs *const jobs = &f->jobs;
    const char *name;
    ImgstatDevice *device;
    IMGSTAT_TRY(device_list_open(jobs->devices, 1, &name, &device, err));
    if (device->ops->fetches) {
        imgstat_device_close(device);
        return IMGSTAT_OK;
    }
    snprintf(f->name, sizeof f->name, "%s", name);
    ImgstatDeviceInfo info;
    imgstat_device_describe(device, &info);
    const uint64_t bytes = info.memory_bytes / memory_share / FEEDERS;
    f->batch_bytes = bytes < batch_bytes_most ? (size_t)bytes : batch_bytes_most;
    ImgstatResult res = shared_device_create(device, jobs->share.workers, true, shared, err);
    if (res != IMGSTAT_OK) {
        imgstat_device_close(device);
        return res;
    }
    return shared_device_warm(*shared, &f->like, jobs->parts, err);
}

static void *opener_main(void *context)
{
    Feeding *const f = context;
    SharedDevice *shared = NULL;
    ImgstatError error = {0};
    const bool seated =
        f->jobs.share.workers > 1; /* among busy threads opening takes twice as long */
    if (seated)
        seat_acquire(&f->seats, true);
    ImgstatResult res = open_shared(f, &shared, &error);
    if (seated)
        seat_release(&f->seats);
    if (res != IMGSTAT_OK && shared && device_list_fail(f->jobs.devices, f->name, res, &error))
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

ImgstatResult feeding_create(const FedJobs *jobs, Feeding **out, ImgstatError *err)
{
    bool always;
    double stream;
    ImgstatPage like;
    *out = NULL;
    if (!is_worthwhile(jobs, &always, &like, &stream))
        return IMGSTAT_OK;
    Feeding *const f = calloc(1, sizeof *f);
    if (!f)
        return error_memory(err, sizeof *f, "a batch");
    f->jobs = *jobs;
    f->always = always;
    f->like = like;
    f->latency = stream / 45e6;
    show_name(jobs->devices->device[0].name, f->shown);
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

const char *feeding_device_name(const Feeding *f)
{
    return f->shown;
}

void feeding_open_worker(Feeding *f, Feeder *feeder, bool first)
{
    feeder->feeds = f->always || (!first && atomic_fetch_add(&f->workers, 1) < FEEDERS);
    if (feeder->feeds && !first)
        (void)(feeding_opened(f, NULL) == IMGSTAT_OK);
}

bool feeding_takes(Feeding *f, const Feeder *feeder, size_t left)
{
    if (!feeder->feeds || f->always)
        return true;
    pthread_mutex_lock(&f->lock);
    /* What the others will have done by the time that one more batch is done stays theirs. */
    const double rate =
        f->alone_jobs ? (double)f->alone_jobs * f->jobs.share.workers / f->alone_seconds : 0;
    const bool takes = f->shared && !f->lost && (double)left > rate * f->latency;
    pthread_mutex_unlock(&f->lock);
    return takes;
}

static void work_alone(Feeding *f, const Feeder *feeder, void *worker, size_t job, void *outcome)
{
    if (f->jobs.idle && !seat_try(&f->seats, feeder->feeds)) {
        f->jobs.idle(f->jobs.context, worker);
        seat_acquire(&f->seats, feeder->feeds);
    } else if (!f->jobs.idle) {
        seat_acquire(&f->seats, feeder->feeds);
    }
    const double seconds = f->jobs.work(f->jobs.context, worker, job, NULL, outcome);
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
    size_t first;            /* whose outcome goes to its caller, */
    void *outcome, *other;   /* and room for that of another */
    size_t job[BATCH_PAGES]; /* n of them are in the batch */
    size_t n;
    size_t next;  /* waits for the next batch, */
    bool carried; /* if there is one */
} Fed;

/* Does a job, and hands over what became of it. why: NULL, or the device's failure. */
static void finish(Fed *fed, size_t job, const FedPage *page, const ImgstatError *why)
{
    Feeding *const f = fed->feeding;
    void *const outcome = job == fed->first ? fed->outcome : fed->other;
    if (job != fed->first)
        memset(outcome, 0, f->jobs.outcome_bytes);
    if (why)
        f->jobs.fail(f->jobs.context, fed->worker, job, why, outcome);
    else
        (void)f->jobs.work(f->jobs.context, fed->worker, job, page, outcome);
    if (job != fed->first)
        in_order_done(*f->ring, job, outcome);
}

static ImgstatResult add_job(Fed *fed, size_t job, PageAdded *added, ImgstatError *err)
{
    ImgstatFile *file;
    ImgstatResult res = IMGSTAT_OK;
    *added = PAGE_REFUSED;
    if (open_page(&fed->feeding->jobs, job, &file))
        res = page_batch_add(fed->feeder->pages, file->decoder, added, err);
    imgstat_file_close(file);
    return res;
}

/* Fills the batch, with fed->next first. */
static ImgstatResult fill(Fed *fed, ImgstatError *err)
{
    Feeding *const f = fed->feeding;
    page_batch_begin(fed->feeder->pages);
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
        fed->carried = in_order_more(*f->ring, fed->worker, &fed->next);
    } while (fed->carried);
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

/* Fills a batch, waits for it, and does what is left of its jobs. */
static void feed(Fed *fed)
{
    Feeding *const f = fed->feeding;
    ImgstatError error = {0};
    ImgstatResult res = fill(fed, &error);
    const double start = job_clock();
    if (res == IMGSTAT_OK)
        res = page_batch_send(fed->feeder->pages, &error);
    if (res == IMGSTAT_OK && fed->n > 0) {
        if (f->jobs.idle)
            f->jobs.idle(f->jobs.context, fed->worker);
        seat_release(&f->seats);
        res = f->jobs.counts ? page_batch_count(fed->feeder->pages, f->jobs.parts, &error)
                             : page_batch_wait(fed->feeder->pages, &error);
        seat_acquire(&f->seats, true);
    }
    const double seconds = job_clock() - start;
    if (res != IMGSTAT_OK) {
        finish_failed(fed, res, &error);
        return;
    }
    for (size_t i = 0; i < fed->n; i++) {
        const FedPage page = {
            .batch = fed->feeder->pages, .number = i, .seconds = seconds / (double)fed->n};
        finish(fed, fed->job[i], fed->feeder->pages ? &page : NULL, NULL);
    }
    pthread_mutex_lock(&f->lock);
    if (fed->n > 0)
        f->latency = (f->latency + seconds) / 2;
    pthread_mutex_unlock(&f->lock);
}

/* Feeds until the worker takes no more jobs. A seat is held. */
static void feed_all(Fed *fed)
{
    Feeding *const f = fed->feeding;
    Feeder *const feeder = fed->feeder;
    ImgstatError error = {0};
    ImgstatResult res = IMGSTAT_OK;
    if (!feeder->shared)
        feeder->shared = f->shared;
    if (!feeder->pages)
        res = page_batch_create(feeder->shared, f->batch_bytes, &feeder->pages, &error);
    if (res != IMGSTAT_OK)
        finish_failed(fed, res, &error);
    while (fed->carried && feeder->feeds && feeder->pages && has_device(f))
        feed(fed);
    if (fed->carried)
        finish(fed, fed->next, NULL, NULL);
}

void feeding_work(Feeding *f, Feeder *feeder, void *worker, size_t job, void *outcome)
{
    void *const other = feeder->feeds ? malloc(f->jobs.outcome_bytes) : NULL;
    if (!other || feeding_opened(f, NULL) != IMGSTAT_OK || !has_device(f) ||
        (f->jobs.alone && !feeder->shared)) {
        work_alone(f, feeder, worker, job, outcome);
    } else {
        Fed fed = {.feeding = f,
                   .feeder = feeder,
                   .worker = worker,
                   .first = job,
                   .outcome = outcome,
                   .other = other,
                   .next = job,
                   .carried = true};
        seat_acquire(&f->seats, true);
        feed_all(&fed);
        seat_release(&f->seats);
    }
    free(other);
}

void feeding_order(Feeding *f, InOrder *order, size_t ahead)
{
    const unsigned feeders = order->n < FEEDERS ? (unsigned)order->n : FEEDERS;
    order->workers = f->always ? feeders : f->jobs.share.workers + feeders;
    f->ring = order->ring ? order->ring : &f->own_ring;
    order->ring = f->ring;
    order->ahead = ahead;
}
