/* SPDX-License-Identifier: MIT */
/* dataset_rounds.c: statistics of wider types that need the pixels again. The statistics of each
 * record are computed by a thread of its own, which waits where it asks for a read; when all of
 * them wait, all files are read once for all requests. */
#include "batch/dataset_rounds.h"

#include "batch/dataset_part.h"
#include "batch/job.h"
#include "batch/measure_batch.h"
#include "batch/peers.h"
#include "batch/request_copy.h"
#include "codec/page_group.h"
#include "measure/measure.h"
#include "measure/result.h"
#include "record/dataset.h"
#include "record/kind.h"

#include <stdlib.h>
#include <unistd.h>

enum {
    RECORDS = 64,          /* that are computed at a time */
    COPY_BYTES = 256 << 20 /* of the counters that all workers have for one record */
};

/* What one round after another finds of a record. */
typedef struct Computation {
    struct Rounds *rounds;
    ImgstatRecord *record;
    pthread_t thread;
    const ReadRequest *request; /* NULL: it waits for none */
    pthread_mutex_t lock;       /* of what the request adds to */
    atomic_uint_fast64_t pages; /* that were read in this round */
    ImgstatResult read, result; /* of the round; of the whole */
    ImgstatError error;
} Computation;

typedef struct Rounds {
    ImgstatDataset *dataset;
    const ImgstatMeasureBatch *batch;
    const ImgstatMeasure *how;
    const ImgstatJobStream *stream;
    DeviceList *devices;
    atomic_bool again;              /* a device has failed, and another may do all of it again */
    const ImgstatFailure *failures; /* of the first read, in order of names */
    size_t n_failures;
    bool more_failures; /* that are not listed */
    Computation item[RECORDS];
    size_t n;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t live, waiting; /* computations */
    /* Of the round at hand: */
    JobQueue *jobs;
    ThreadShare share;
    Digest states; /* guarded by the lock */
    uint64_t n_states;
    Latest latest;
    ImgstatError error; /* of the first file that failed */
} Rounds;

/* ---- Workers --------------------------------------------------------------------------------- */

typedef struct Worker {
    ImgstatDevice *device;
    const char *name; /* of the device */
    BandMemory memory;
    Digest states;
    uint64_t n_states;
    Latest latest;
    RequestCopy copy[RECORDS]; /* of computations, until the end of the round */
} Worker;

typedef struct Outcome {
    ImgstatResult result;
    ImgstatError error;
} Outcome;

static void close_worker(void *context, void *own)
{
    Rounds *const rounds = context;
    Worker *const worker = own;
    for (size_t i = 0; i < rounds->n; i++) {
        Computation *const item = &rounds->item[i];
        pthread_mutex_lock(&item->lock);
        request_copy_add(&worker->copy[i], item->request, item->record->kind->channels);
        pthread_mutex_unlock(&item->lock);
        request_copy_release(&worker->copy[i]);
    }
    pthread_mutex_lock(&rounds->lock);
    digest_add(&rounds->states, &worker->states);
    rounds->n_states += worker->n_states;
    if (worker->latest.name)
        latest_add(&rounds->latest, worker->latest.name, worker->latest.at);
    free(worker->latest.name);
    pthread_mutex_unlock(&rounds->lock);
    if (worker->device) {
        band_memory_release(worker->device, &worker->memory);
        imgstat_device_close(worker->device);
    }
    *worker = (Worker){0};
}

/* ---- One file -------------------------------------------------------------------------------- */

static int compare_names(const void *name, const void *failure)
{
    return strcmp(name, ((const ImgstatFailure *)failure)->name);
}

/* The computation that wants a page of the kind and group; NULL: none does. */
static Computation *find_item(Rounds *rounds, const ImgstatKind *kind, const char *group)
{
    for (size_t i = 0; i < rounds->n; i++) {
        Computation *const item = &rounds->item[i];
        if (item->request && kind_compare(item->record->kind, kind) == 0 &&
            strcmp(shared_text_of(item->record->group), group) == 0)
            return item;
    }
    return NULL;
}

static ImgstatResult read_for(Rounds *rounds, Worker *worker, Computation *item, ImgstatFile *file,
                              uint32_t page, ImgstatError *err)
{
    RequestCopy *const copy = &worker->copy[item - rounds->item];
    const ImgstatRegion *const region = &item->record->kind->region;
    if (!copy->made)
        IMGSTAT_TRY(request_copy_make(item->request, item->record->kind->channels,
                                      COPY_BYTES / rounds->share.workers, copy, err));
    if (copy->shared)
        pthread_mutex_lock(&item->lock);
    const ImgstatResult res =
        page_read_again(worker->device, file, page, region,
                        copy->shared ? item->request : &copy->request, &worker->memory, err);
    if (copy->shared)
        pthread_mutex_unlock(&item->lock);
    if (res == IMGSTAT_OK)
        atomic_fetch_add(&item->pages, 1);
    return res;
}

/* Reads a page for the record that it belongs to. failed: some of its file may have failed in the
 * first read. If that is this page, it is left out, before anything of it is counted. */
static ImgstatResult read_page(Rounds *rounds, Worker *worker, const ImgstatJob *job,
                               ImgstatFile *file, uint32_t page, bool failed, ImgstatError *err)
{
    const ImgstatMeasure count = {.mergeable = true, .region = rounds->how->region};
    ImgstatRecord *again = NULL;
    if (failed &&
        imgstat_measure_file(worker->device, file, page, &count, &again, NULL) != IMGSTAT_OK)
        return IMGSTAT_OK;
    imgstat_record_destroy(again);
    IMGSTAT_TRY(imgstat_file_page(file, page, NULL, err));
    const ImgstatKind plain = page_kind(file->decoder, &rounds->how->region);
    ImgstatKind *const kind = kind_copy(&plain);
    char *group = NULL;
    if (!kind)
        return error_memory(err, sizeof *kind, "a kind");
    ImgstatResult res =
        measure_group_name(rounds->batch->by, job, &file->decoder->list, page, &group, err);
    Computation *item = NULL;
    if (res == IMGSTAT_OK)
        item = find_item(rounds, kind, group ? group : job->group ? job->group : "");
    if (item)
        res = read_for(rounds, worker, item, file, page, err);
    free(group);
    free(kind);
    return res;
}

/* Whether a file may have failed in the first read. */
static bool has_failed(const Rounds *rounds, const char *name)
{
    return rounds->more_failures ||
           (rounds->n_failures > 0 && bsearch(name, rounds->failures, rounds->n_failures,
                                              sizeof *rounds->failures, compare_names));
}

static ImgstatResult read_file(Rounds *rounds, Worker *worker, const ImgstatJob *job,
                               ImgstatError *err)
{
    const bool failed = has_failed(rounds, job->input);
    struct timespec changed;
    if (job_add_state(job, &worker->states, &changed)) {
        worker->n_states++;
        latest_add(&worker->latest, job->input, changed);
    }
    const bool exists = job_reads_standard_input(job) || access(job->input, F_OK) == 0;
    if (exists && !job_is_readable_again(job)) /* opening what is not there gives the cause */
        return failed ? IMGSTAT_OK
                      : error_file(err, IMGSTAT_ERR_ARG, job->input,
                                   "cannot be read a second time, as exact statistics of the wider "
                                   "types among these images need");
    ImgstatOpen open = rounds->batch->open;
    open.warn = NULL; /* the first read has warned */
    ImgstatFile *file = NULL;
    ImgstatResult res = job_open(job, &open, NULL, &file, err);
    if (res == IMGSTAT_OK)
        res = file_choose(file, job->pages, rounds->batch->levels ? WITH_LEVELS : 0, err);
    if (res != IMGSTAT_OK && failed)
        res = IMGSTAT_OK;
    else
        for (uint32_t i = 0; res == IMGSTAT_OK && i < file->n_chosen; i++)
            res = read_page(rounds, worker, job, file, file->chosen[i].page, failed, err);
    imgstat_file_close(file);
    return error_add_file(err, res, job->input);
}

static void work(void *context, void *own, size_t index, void *result)
{
    Rounds *const rounds = context;
    Worker *const worker = own;
    Outcome *const outcome = result;
    const ImgstatJob *const next = job_queue_at(rounds->jobs, index + rounds->share.workers);
    if (next)
        (void)job_prefetch(next, PREFETCH_BYTES);
    if (!worker->device)
        outcome->result = device_list_open(rounds->devices, rounds->share.threads, &worker->name,
                                           &worker->device, &outcome->error);
    if (outcome->result != IMGSTAT_OK)
        return;
    imgstat_device_cancel(worker->device, rounds->batch->cancelled, rounds->batch->context);
    outcome->result = read_file(rounds, worker, job_queue_at(rounds->jobs, index), &outcome->error);
    if (outcome->result != IMGSTAT_OK &&
        device_list_fail(rounds->devices, worker->name, outcome->result, &outcome->error))
        atomic_store(&rounds->again, true);
}

static bool begin_job(void *context, size_t job)
{
    Rounds *const rounds = context;
    job_queue_fill(rounds->jobs, job + 1 + rounds->share.workers);
    return job_queue_at(rounds->jobs, job) != NULL;
}

static bool is_cancelled(void *context)
{
    return measure_cancelled(((Rounds *)context)->batch);
}

static bool report(void *context, size_t index, void *result)
{
    Rounds *const rounds = context;
    const Outcome *const outcome = result;
    if (outcome->result != IMGSTAT_OK) {
        rounds->error = outcome->error;
        return false;
    }
    if (rounds->batch->reading && !rounds->batch->reading(rounds->batch->context, index + 1)) {
        (void)!cancel_report(&rounds->error);
        return false;
    }
    return true;
}

/* ---- A round --------------------------------------------------------------------------------- */

/* Whether these are the files and the pages that were measured. */
static ImgstatResult check_round(const Rounds *rounds, ImgstatError *err)
{
    const ImgstatDataset *const dataset = rounds->dataset;
    bool same =
        dataset->n_states != dataset->files || /* it is not known what they were */
        (rounds->n_states == dataset->n_states && rounds->states.low == dataset->states.low &&
         rounds->states.high == dataset->states.high);
    for (size_t i = 0; i < rounds->n; i++)
        same = same &&
               (!rounds->item[i].request || rounds->item[i].pages == rounds->item[i].record->pages);
    if (same)
        return IMGSTAT_OK;
    const unsigned long long was = dataset->n_states, left = rounds->n_states;
    if (was == dataset->files && left < was)
        return error_set(err, IMGSTAT_ERR_IO,
                         "%llu files were measured, %llu are left for the next read", was, left);
    static const char changed[] = "changed between two reads: the statistics would be of neither";
    const bool known = was == dataset->files && !rounds->batch->peers; /* they read others */
    const char *const name = known ? rounds->latest.name : NULL;
    return name ? error_file(err, IMGSTAT_ERR_IO, name, "%s", changed)
                : error_set(err, IMGSTAT_ERR_IO, "an input %s", changed);
}

/* Reads the files of this process once. */
static ImgstatResult read_files(Rounds *rounds, ImgstatError *err)
{
    JobQueue queue;
    Worker first = {0};
    if (!rounds->stream->restart || !rounds->stream->restart(rounds->stream->context))
        return error_set(err, IMGSTAT_ERR_ARG,
                         "exact statistics of wider types than 16 bits read all images again, and "
                         "these cannot be read again");
    IMGSTAT_TRY(measure_open_stream(rounds->stream, rounds->batch->threads, 0, &queue,
                                    &rounds->share, err));
    rounds->jobs = &queue;
    rounds->error = (ImgstatError){0};
    rounds->states = (Digest){0};
    rounds->n_states = 0;
    free(rounds->latest.name);
    rounds->latest = (Latest){0};
    for (size_t i = 0; i < rounds->n; i++)
        atomic_store(&rounds->item[i].pages, 0);
    const InOrder order = {.n = SIZE_MAX,
                           .workers = rounds->share.workers,
                           .context = rounds,
                           .worker_bytes = sizeof(Worker),
                           .outcome_bytes = sizeof(Outcome),
                           .begin = begin_job,
                           .work = work,
                           .close = close_worker,
                           .report = report,
                           .stopped = is_cancelled};
    ImgstatResult res = in_order_run(&order, &first, err);
    if (rounds->error.code == IMGSTAT_OK && is_cancelled(rounds))
        (void)!cancel_report(&rounds->error);
    const ImgstatError *const failed =
        rounds->error.code != IMGSTAT_OK ? &rounds->error : &queue.error;
    if (res == IMGSTAT_OK && failed->code != IMGSTAT_OK) {
        *err = *failed;
        res = failed->code;
    }
    job_queue_close(&queue);
    return res;
}

static void put_round(void *context, ByteWriter *writer)
{
    const Rounds *const rounds = context;
    put_number(writer, rounds->states.low, 8);
    put_number(writer, rounds->states.high, 8);
    put_varint(writer, rounds->n_states);
    for (size_t i = 0; i < rounds->n; i++) {
        const Computation *const item = &rounds->item[i];
        if (!item->request)
            continue;
        put_varint(writer, item->pages);
        peers_put_request(writer, item->request, item->record->kind->channels);
    }
}

static void clear_round(void *context)
{
    Rounds *const rounds = context;
    rounds->states = (Digest){0};
    rounds->n_states = 0;
    for (size_t i = 0; i < rounds->n; i++) {
        Computation *const item = &rounds->item[i];
        atomic_store(&item->pages, 0);
        if (item->request)
            peers_clear_request(item->request, item->record->kind->channels);
    }
}

static ImgstatResult add_round(void *context, ByteReader *reader, ImgstatError *err)
{
    Rounds *const rounds = context;
    Digest states = {.low = get_number(reader, 8)};
    states.high = get_number(reader, 8);
    digest_add(&rounds->states, &states);
    rounds->n_states += get_varint(reader);
    for (size_t i = 0; i < rounds->n; i++) {
        Computation *const item = &rounds->item[i];
        if (!item->request)
            continue;
        atomic_fetch_add(&item->pages, get_varint(reader));
        peers_add_request(reader, item->request, item->record->kind->channels);
    }
    (void)err;
    return IMGSTAT_OK;
}

static ImgstatResult read_round(Rounds *rounds, ImgstatError *err)
{
    const PeerData found = {
        .context = rounds, .put = put_round, .clear = clear_round, .add = add_round};
    ImgstatResult res = read_files(rounds, err);
    if (rounds->batch->peers)
        res = peers_combine(rounds->batch->peers, &found, res, err);
    return res == IMGSTAT_OK ? check_round(rounds, err) : res;
}

/* ---- Computations ---------------------------------------------------------------------------- */

static ImgstatResult wait_for_round(void *context, const ReadRequest *request, ImgstatError *err)
{
    Computation *const item = context;
    Rounds *const rounds = item->rounds;
    pthread_mutex_lock(&rounds->lock);
    item->request = request;
    rounds->waiting++;
    pthread_cond_broadcast(&rounds->changed);
    while (item->request)
        pthread_cond_wait(&rounds->changed, &rounds->lock);
    const ImgstatResult res = item->read;
    if (res != IMGSTAT_OK && err)
        *err = item->error;
    pthread_mutex_unlock(&rounds->lock);
    return res;
}

static void *compute(void *context)
{
    Computation *const item = context;
    Rounds *const rounds = item->rounds;
    const FurtherReads reads = {.read = wait_for_round, .context = item};
    item->result = result_compute(item->record, rounds->how, &reads, &item->error);
    pthread_mutex_lock(&rounds->lock);
    rounds->live--;
    pthread_cond_broadcast(&rounds->changed);
    pthread_mutex_unlock(&rounds->lock);
    return NULL;
}

/* Reads all files as often as computations wait for it. */
static void serve(Rounds *rounds)
{
    pthread_mutex_lock(&rounds->lock);
    for (;;) {
        while (rounds->waiting < rounds->live)
            pthread_cond_wait(&rounds->changed, &rounds->lock);
        if (rounds->live == 0)
            break;
        pthread_mutex_unlock(&rounds->lock);
        ImgstatError error = {0};
        const ImgstatResult res = read_round(rounds, &error);
        pthread_mutex_lock(&rounds->lock);
        for (size_t i = 0; i < rounds->n; i++) {
            Computation *const item = &rounds->item[i];
            if (item->request && res != IMGSTAT_OK)
                item->error = error;
            item->read = res;
            item->request = NULL;
        }
        rounds->waiting = 0;
        pthread_cond_broadcast(&rounds->changed);
    }
    pthread_mutex_unlock(&rounds->lock);
}

/* Computes the records that are listed. */
static ImgstatResult compute_listed(Rounds *rounds, ImgstatError *err)
{
    size_t started = 0;
    ImgstatResult res = IMGSTAT_OK;
    rounds->live = rounds->n;
    rounds->waiting = 0;
    for (; started < rounds->n; started++)
        if (pthread_create(&rounds->item[started].thread, NULL, compute, &rounds->item[started]))
            break;
    pthread_mutex_lock(&rounds->lock);
    rounds->live -= rounds->n - started;
    pthread_mutex_unlock(&rounds->lock);
    if (started < rounds->n)
        res = error_set(err, IMGSTAT_ERR_MEMORY, "no thread can be started");
    serve(rounds);
    for (size_t i = 0; i < started; i++) {
        Computation *const item = &rounds->item[i];
        pthread_join(item->thread, NULL);
        if (res == IMGSTAT_OK && item->result != IMGSTAT_OK) {
            res = item->result;
            if (err)
                *err = item->error;
        }
    }
    for (size_t i = 0; i < rounds->n; i++)
        pthread_mutex_destroy(&rounds->item[i].lock);
    rounds->n = 0;
    return res;
}

ImgstatResult dataset_read_again(ImgstatDataset *dataset, const ImgstatMeasureBatch *batch,
                                 const ImgstatMeasure *how, const ImgstatJobStream *stream,
                                 DeviceList *devices, bool *again, ImgstatError *err)
{
    ImgstatAccount account;
    imgstat_dataset_account(dataset, &account);
    *again = false;
    Rounds *const rounds = calloc(1, sizeof *rounds);
    if (!rounds)
        return error_memory(err, sizeof *rounds, "statistics");
    *rounds = (Rounds){.dataset = dataset,
                       .batch = batch,
                       .how = how,
                       .stream = stream,
                       .devices = devices,
                       .failures = account.failures,
                       .n_failures = account.n_failures,
                       .more_failures = account.n_failures < account.all_failures};
    pthread_mutex_init(&rounds->lock, NULL);
    pthread_cond_init(&rounds->changed, NULL);
    ImgstatResult res = IMGSTAT_OK;
    ImgstatRecord *record;
    for (size_t i = 0; res == IMGSTAT_OK && (record = imgstat_dataset_record(dataset, i)); i++) {
        if (sample_is_narrow(record->kind->sample))
            continue;
        Computation *const item = &rounds->item[rounds->n++];
        *item = (Computation){.rounds = rounds, .record = record};
        pthread_mutex_init(&item->lock, NULL);
        if (rounds->n == RECORDS)
            res = compute_listed(rounds, err);
    }
    if (res == IMGSTAT_OK && rounds->n > 0)
        res = compute_listed(rounds, err);
    *again = atomic_load(&rounds->again);
    pthread_cond_destroy(&rounds->changed);
    pthread_mutex_destroy(&rounds->lock);
    free(rounds->latest.name);
    free(rounds);
    return res;
}
