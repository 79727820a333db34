/* SPDX-License-Identifier: MIT */
/* dataset_read.c: workers read all files of a data set again. What each file was must be what it
 * was in the first read. */
#include "batch/dataset_read.h"

#include "batch/dataset_part.h"
#include "batch/job.h"
#include "batch/peers.h"
#include "codec/page_group.h"
#include "measure/measure.h"
#include "record/dataset.h"
#include "record/kind.h"

#include <stdlib.h>
#include <unistd.h>

enum { COPY_BYTES = 256 << 20 }; /* of the counters that all workers have for one record */

/* ---- Requests ------------------------------------------------------------------------------- */

/* What a worker finds for a request that others work on as well. All zero: none is made. */
typedef struct RequestCopy {
    ReadRequest request;
    uint64_t *counts;  /* of digits, then of ranges */
    bool made, shared; /* shared: too large, requests are served one at a time */
} RequestCopy;

static size_t count_bins(const ReadRequest *request)
{
    size_t n = request->n_digits * DIGIT_BINS;
    for (size_t i = 0; i < request->n_ranges; i++)
        n += request->ranges[i].n_bins;
    return n;
}

static void request_copy_release(RequestCopy *copy)
{
    free(copy->request.digits);
    free(copy->request.ranges);
    free(copy->request.central);
    free(copy->counts);
    *copy = (RequestCopy){0};
}

/* channels: those of request->central. most: bytes that its counters may take. */
static ImgstatResult request_copy_make(const ReadRequest *request, uint16_t channels, size_t most,
                                       RequestCopy *copy, ImgstatError *err)
{
    const size_t bins = count_bins(request);
    copy->made = true;
    copy->shared = request->n_gathers > 0 || bins * sizeof *copy->counts > most;
    if (copy->shared)
        return IMGSTAT_OK;
    copy->request = *request;
    copy->request.digits = malloc((request->n_digits + 1) * sizeof *request->digits);
    copy->request.ranges = malloc((request->n_ranges + 1) * sizeof *request->ranges);
    copy->request.central = request->central ? calloc(channels, sizeof(Central)) : NULL;
    copy->counts = calloc(bins + 1, sizeof *copy->counts);
    if (!copy->request.digits || !copy->request.ranges || !copy->counts ||
        (request->central && !copy->request.central)) {
        request_copy_release(copy); /* nothing of it is added */
        return error_memory(err, bins * sizeof *copy->counts, "counters");
    }
    uint64_t *at = copy->counts;
    for (size_t i = 0; i < request->n_digits; i++, at += DIGIT_BINS) {
        copy->request.digits[i] = request->digits[i];
        copy->request.digits[i].bins = at;
    }
    for (size_t i = 0; i < request->n_ranges; i++) {
        copy->request.ranges[i] = request->ranges[i];
        copy->request.ranges[i].bins = at;
        at += request->ranges[i].n_bins;
    }
    return IMGSTAT_OK;
}

/* Adds what was found to what a request adds to, if there is a copy. */
static void request_copy_add(const RequestCopy *copy, const ReadRequest *into, uint16_t channels)
{
    const ReadRequest *const from = &copy->request;
    if (!copy->made || copy->shared || !copy->counts)
        return;
    for (size_t i = 0; i < into->n_digits; i++)
        for (size_t k = 0; k < DIGIT_BINS; k++)
            into->digits[i].bins[k] += from->digits[i].bins[k];
    for (size_t i = 0; i < into->n_ranges; i++)
        for (size_t k = 0; k < into->ranges[i].n_bins; k++)
            into->ranges[i].bins[k] += from->ranges[i].bins[k];
    for (uint16_t c = 0; into->central && c < channels; c++)
        central_merge(&into->central[c], &from->central[c]);
}

/* ---- Workers --------------------------------------------------------------------------------- */

typedef struct Worker {
    ImgstatDevice *device;
    const char *name; /* of the device */
    BandMemory memory;
    Digest states;
    uint64_t n_states;
    Latest latest;
    RequestCopy copy[READ_RECORDS]; /* of records, until the end of the read */
} Worker;

typedef struct Outcome {
    ImgstatResult result;
    ImgstatError error;
} Outcome;

static void close_worker(void *context, void *own)
{
    DatasetRead *const read = context;
    Worker *const worker = own;
    for (size_t i = 0; i < read->n; i++) {
        RecordRead *const item = &read->item[i];
        pthread_mutex_lock(&item->lock);
        request_copy_add(&worker->copy[i], item->request, item->record->kind->channels);
        pthread_mutex_unlock(&item->lock);
        request_copy_release(&worker->copy[i]);
    }
    pthread_mutex_lock(&read->lock);
    digest_add(&read->states, &worker->states);
    read->n_states += worker->n_states;
    if (worker->latest.name)
        latest_add(&read->latest, worker->latest.name, worker->latest.at);
    free(worker->latest.name);
    pthread_mutex_unlock(&read->lock);
    if (worker->device) {
        band_memory_release(worker->device, &worker->memory);
        imgstat_device_close(worker->device);
    }
    *worker = (Worker){0};
}

/* ---- One file -------------------------------------------------------------------------------- */

static int compare_names(const void *name, const void *failure)
{
    return strncmp(name, ((const ImgstatFailure *)failure)->name, IMGSTAT_NAME_MOST);
}

/* The record that wants a page of the kind and group; NULL: none does. */
static RecordRead *find_item(DatasetRead *read, const ImgstatKind *kind, const char *group)
{
    for (size_t i = 0; i < read->n; i++) {
        RecordRead *const item = &read->item[i];
        if (item->request && kind_compare(item->record->kind, kind) == 0 &&
            strcmp(shared_text_of(item->record->group), group) == 0)
            return item;
    }
    return NULL;
}

static ImgstatResult read_for(DatasetRead *read, Worker *worker, RecordRead *item,
                              ImgstatFile *file, uint32_t page, ImgstatError *err)
{
    RequestCopy *const copy = &worker->copy[item - read->item];
    const ImgstatRegion *const region = &item->record->kind->region;
    if (!copy->made)
        IMGSTAT_TRY(request_copy_make(item->request, item->record->kind->channels,
                                      COPY_BYTES / read->share.workers, copy, err));
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
static ImgstatResult read_page(DatasetRead *read, Worker *worker, const ImgstatJob *job,
                               ImgstatFile *file, uint32_t page, bool failed, ImgstatError *err)
{
    const ImgstatMeasure count = {.mergeable = true, .region = read->how->region};
    ImgstatRecord *again = NULL;
    if (failed &&
        imgstat_measure_file(worker->device, file, page, &count, &again, NULL) != IMGSTAT_OK)
        return IMGSTAT_OK;
    imgstat_record_destroy(again);
    IMGSTAT_TRY(imgstat_file_page(file, page, NULL, err));
    const ImgstatKind plain = page_kind(file->decoder, &read->how->region);
    ImgstatKind *const kind = kind_copy(&plain);
    char *group = NULL;
    if (!kind)
        return error_memory(err, sizeof *kind, "a kind");
    ImgstatResult res =
        measure_group_name(read->batch->by, job, &file->decoder->list, page, &group, err);
    RecordRead *item = NULL;
    if (res == IMGSTAT_OK)
        item = find_item(read, kind, group ? group : job->group ? job->group : "");
    if (item)
        res = read_for(read, worker, item, file, page, err);
    free(group);
    free(kind);
    return res;
}

/* Whether a file may have failed in the first read. */
static bool has_failed(const DatasetRead *read, const char *name)
{
    return read->more_failures ||
           (read->n_failures > 0 &&
            bsearch(name, read->failures, read->n_failures, sizeof *read->failures, compare_names));
}

static ImgstatResult read_file(DatasetRead *read, Worker *worker, const ImgstatJob *job,
                               ImgstatError *err)
{
    const bool failed = has_failed(read, job->input);
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
    ImgstatOpen open = measure_open(read->batch);
    open.warn = NULL; /* the first read has warned */
    ImgstatFile *file = NULL;
    ImgstatResult res = job_open(job, &open, NULL, &file, err);
    if (res == IMGSTAT_OK)
        res = file_choose(file, job->pages, read->batch->levels ? WITH_LEVELS : 0, err);
    if (res != IMGSTAT_OK && failed)
        res = IMGSTAT_OK;
    else
        for (uint32_t i = 0; res == IMGSTAT_OK && i < file->n_chosen; i++)
            res = read_page(read, worker, job, file, file->chosen[i].page, failed, err);
    imgstat_file_close(file);
    return error_add_file(err, res, job->input);
}

static void work(void *context, void *own, size_t index, void *result)
{
    DatasetRead *const read = context;
    Worker *const worker = own;
    Outcome *const outcome = result;
    const ImgstatJob *const next = job_queue_at(read->jobs, index + read->share.workers);
    if (next)
        (void)job_prefetch(next, PREFETCH_BYTES);
    if (!worker->device)
        outcome->result = device_list_open(read->devices, read->share.threads, &worker->name,
                                           &worker->device, &outcome->error);
    if (outcome->result != IMGSTAT_OK)
        return;
    imgstat_device_cancel(worker->device, read->batch->cancelled, read->batch->context);
    outcome->result = read_file(read, worker, job_queue_at(read->jobs, index), &outcome->error);
    if (outcome->result != IMGSTAT_OK &&
        device_list_fail(read->devices, worker->name, outcome->result, &outcome->error))
        atomic_store(&read->again, true);
}

static bool begin_job(void *context, size_t job)
{
    DatasetRead *const read = context;
    job_queue_fill(read->jobs, job + 1 + read->share.workers);
    return job_queue_at(read->jobs, job) != NULL;
}

static bool is_cancelled(void *context)
{
    return measure_cancelled(((DatasetRead *)context)->batch);
}

static bool report(void *context, size_t index, void *result)
{
    DatasetRead *const read = context;
    const Outcome *const outcome = result;
    if (read->error.code != IMGSTAT_OK) /* of a file before: those that were at work do not count */
        return false;
    if (outcome->result != IMGSTAT_OK) {
        read->error = outcome->error;
        return false;
    }
    if (read->batch->reading && !read->batch->reading(read->batch->context, index + 1)) {
        (void)!cancel_report(&read->error);
        return false;
    }
    return true;
}

/* ---- All files ------------------------------------------------------------------------------- */

/* Whether these are the files and the pages that were measured. */
static ImgstatResult check_files(const DatasetRead *read, ImgstatError *err)
{
    const ImgstatDataset *const dataset = read->dataset;
    bool same = dataset->n_states != dataset->files || /* it is not known what they were */
                (read->n_states == dataset->n_states && read->states.low == dataset->states.low &&
                 read->states.high == dataset->states.high);
    for (size_t i = 0; i < read->n; i++)
        same =
            same && (!read->item[i].request || read->item[i].pages == read->item[i].record->pages);
    if (same)
        return IMGSTAT_OK;
    const unsigned long long was = dataset->n_states, left = read->n_states;
    if (was == dataset->files && left < was)
        return error_set(err, IMGSTAT_ERR_IO,
                         "%llu files were measured, %llu are left for the next read", was, left);
    static const char changed[] = "changed between two reads: the statistics would be of neither";
    const bool known = was == dataset->files && !read->batch->peers; /* they read others */
    const char *const name = known ? read->latest.name : NULL;
    return name ? error_file(err, IMGSTAT_ERR_IO, name, "%s", changed)
                : error_set(err, IMGSTAT_ERR_IO, "an input %s", changed);
}

/* Reads the files of this process once. */
static ImgstatResult read_files(DatasetRead *read, ImgstatError *err)
{
    JobQueue queue;
    Worker first = {0};
    if (!read->stream->restart || !read->stream->restart(read->stream->context))
        return error_set(err, IMGSTAT_ERR_ARG,
                         "exact statistics of wider types than 16 bits read all images again, and "
                         "these cannot be read again");
    IMGSTAT_TRY(measure_open_stream(read->stream, read->batch, 0, &queue, &read->share, err));
    read->jobs = &queue;
    read->error = (ImgstatError){0};
    read->states = (Digest){0};
    read->n_states = 0;
    free(read->latest.name);
    read->latest = (Latest){0};
    for (size_t i = 0; i < read->n; i++)
        atomic_store(&read->item[i].pages, 0);
    const InOrder order = {.n = SIZE_MAX,
                           .workers = read->share.workers,
                           .context = read,
                           .worker_bytes = sizeof(Worker),
                           .outcome_bytes = sizeof(Outcome),
                           .begin = begin_job,
                           .work = work,
                           .close = close_worker,
                           .report = report,
                           .stopped = is_cancelled};
    ImgstatResult res = in_order_run(&order, &first, err);
    if (read->error.code == IMGSTAT_OK && is_cancelled(read))
        (void)!cancel_report(&read->error);
    const ImgstatError *const failed = read->error.code != IMGSTAT_OK ? &read->error : &queue.error;
    if (res == IMGSTAT_OK && failed->code != IMGSTAT_OK) {
        *err = *failed;
        res = failed->code;
    }
    job_queue_close(&queue);
    return res;
}

static void put_read(void *context, ByteWriter *writer)
{
    const DatasetRead *const read = context;
    put_number(writer, read->states.low, 8);
    put_number(writer, read->states.high, 8);
    put_varint(writer, read->n_states);
    for (size_t i = 0; i < read->n; i++) {
        const RecordRead *const item = &read->item[i];
        if (!item->request)
            continue;
        put_varint(writer, item->pages);
        peers_put_request(writer, item->request, item->record->kind->channels);
    }
}

static void clear_read(void *context)
{
    DatasetRead *const read = context;
    read->states = (Digest){0};
    read->n_states = 0;
    for (size_t i = 0; i < read->n; i++) {
        RecordRead *const item = &read->item[i];
        atomic_store(&item->pages, 0);
        if (item->request)
            peers_clear_request(item->request, item->record->kind->channels);
    }
}

static ImgstatResult add_read(void *context, ByteReader *reader, ImgstatError *err)
{
    DatasetRead *const read = context;
    Digest states = {.low = get_number(reader, 8)};
    states.high = get_number(reader, 8);
    digest_add(&read->states, &states);
    read->n_states += get_varint(reader);
    for (size_t i = 0; i < read->n; i++) {
        RecordRead *const item = &read->item[i];
        if (!item->request)
            continue;
        atomic_fetch_add(&item->pages, get_varint(reader));
        peers_add_request(reader, item->request, item->record->kind->channels);
    }
    (void)err;
    return IMGSTAT_OK;
}

ImgstatResult dataset_read_files(DatasetRead *read, ImgstatError *err)
{
    const PeerData found = {.context = read, .put = put_read, .clear = clear_read, .add = add_read};
    ImgstatResult res = read_files(read, err);
    if (read->batch->peers)
        res = peers_combine(read->batch->peers, &found, res, err);
    return res == IMGSTAT_OK ? check_files(read, err) : res;
}
