/* SPDX-License-Identifier: MIT */
/* dataset.c: files are measured into a data set. */
#include "record/dataset.h"
#include "base/sample.h"
#include "batch/dataset_read.h"
#include "batch/job.h"
#include "batch/peers.h"
#include "codec/page_group.h"
#include "measure/result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ImgstatResult measure_group_name(ImgstatGrouping by, const ImgstatJob *job, const PageList *list,
                                 uint32_t page, char **out, ImgstatError *err)
{
    const char *const group = job->group ? job->group : "";
    char number[32];
    *out = NULL;
    const GroupKey key = page_group_key(by, list, page);
    if (by != IMGSTAT_BY_CHANNEL || key.by != IMGSTAT_BY_CHANNEL)
        return IMGSTAT_OK;
    snprintf(number, sizeof number, "channel %u", key.number);
    const char *const name = key.name ? key.name : number;
    const size_t bytes = strlen(group) + (*group != '\0') + strlen(name) + 1;
    IMGSTAT_TRY(job_check_group(job, bytes - 1, err));
    *out = malloc(bytes);
    if (!*out)
        return error_memory(err, bytes, "the name of a group");
    snprintf(*out, bytes, "%s%s%s", group, *group ? " " : "", name);
    return IMGSTAT_OK;
}

ImgstatResult imgstat_dataset_measure(ImgstatDataset *dataset, const ImgstatMeasureBatch *batch,
                                      const ImgstatJobStream *jobs, ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(dataset && batch && jobs && jobs->next, __func__, err));
    if (batch->by != IMGSTAT_BY_DEFAULT && batch->by != IMGSTAT_BY_CHANNEL &&
        batch->by != IMGSTAT_BY_ALL)
        return error_set(err, IMGSTAT_ERR_ARG, "data sets are measured by channel or all");
    IMGSTAT_TRY(job_check_memory(batch->memory, err));
    const ImgstatMeasure how = {.mergeable = true,
                                .region =
                                    batch->how ? batch->how->region : (ImgstatRegion){0, 0, 0, 0},
                                .hash = batch->how && batch->how->hash,
                                .preview = batch->how ? batch->how->preview : 0};
    ImgstatMeasureBatch merged = *batch;
    merged.how = &how;
    return measure_stream(&merged, jobs, dataset, err);
}

/* ---- Statistics of wide types need the pixels again ----
 *
 * The statistics of each record are computed by a thread of its own, which waits where it asks for
 * a read; when all of them wait, all files are read once for all requests. */

/* The statistics of a record. */
typedef struct Computation {
    struct Computations *all;
    ImgstatRecord *record;
    RecordRead *item; /* its request, while this waits for a read */
    pthread_t thread;
    ImgstatResult read, result; /* of the latest read; of the whole */
    ImgstatError error;
} Computation;

typedef struct Computations {
    DatasetRead read;
    Computation each[READ_RECORDS];
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t live, waiting;
} Computations;

static ImgstatResult wait_for_read(void *context, const ReadRequest *request, ImgstatError *err)
{
    Computation *const own = context;
    Computations *const all = own->all;
    pthread_mutex_lock(&all->lock);
    own->item->request = request;
    all->waiting++;
    pthread_cond_broadcast(&all->changed);
    while (own->item->request)
        pthread_cond_wait(&all->changed, &all->lock);
    const ImgstatResult res = own->read;
    if (res != IMGSTAT_OK && err)
        *err = own->error;
    pthread_mutex_unlock(&all->lock);
    return res;
}

static void *compute(void *context)
{
    Computation *const own = context;
    Computations *const all = own->all;
    const FurtherReads reads = {.read = wait_for_read, .context = own};
    own->result = result_compute(own->record, all->read.how, &reads, &own->error);
    pthread_mutex_lock(&all->lock);
    all->live--;
    pthread_cond_broadcast(&all->changed);
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

/* Reads all files as often as computations wait for it. */
static void serve(Computations *all)
{
    pthread_mutex_lock(&all->lock);
    for (;;) {
        while (all->waiting < all->live)
            pthread_cond_wait(&all->changed, &all->lock);
        if (all->live == 0)
            break;
        pthread_mutex_unlock(&all->lock);
        ImgstatError error = {0};
        const ImgstatResult res = dataset_read_files(&all->read, &error);
        pthread_mutex_lock(&all->lock);
        for (size_t i = 0; i < all->read.n; i++) {
            Computation *const one = &all->each[i];
            if (one->item->request && res != IMGSTAT_OK)
                one->error = error;
            one->read = res;
            one->item->request = NULL;
        }
        all->waiting = 0;
        pthread_cond_broadcast(&all->changed);
    }
    pthread_mutex_unlock(&all->lock);
}

/* Computes the records that are listed. */
static ImgstatResult compute_listed(Computations *all, ImgstatError *err)
{
    const size_t n = all->read.n;
    size_t started = 0;
    ImgstatResult res = IMGSTAT_OK;
    all->live = n;
    all->waiting = 0;
    for (; started < n; started++)
        if (pthread_create(&all->each[started].thread, NULL, compute, &all->each[started]))
            break;
    pthread_mutex_lock(&all->lock);
    all->live -= n - started;
    pthread_mutex_unlock(&all->lock);
    if (started < n)
        res = error_set(err, IMGSTAT_ERR_MEMORY, "no thread can be started");
    serve(all);
    for (size_t i = 0; i < started; i++) {
        Computation *const one = &all->each[i];
        pthread_join(one->thread, NULL);
        if (res == IMGSTAT_OK && one->result != IMGSTAT_OK) {
            res = one->result;
            if (err)
                *err = one->error;
        }
    }
    for (size_t i = 0; i < n; i++)
        pthread_mutex_destroy(&all->read.item[i].lock);
    all->read.n = 0;
    return res;
}

static void list(Computations *all, ImgstatRecord *record)
{
    const size_t i = all->read.n++;
    RecordRead *const item = &all->read.item[i];
    *item = (RecordRead){.record = record};
    pthread_mutex_init(&item->lock, NULL);
    all->each[i] = (Computation){.all = all, .record = record, .item = item};
}

/* Computes the records of wide types; reads all files for them as often as needed. *again, after a
 * failure: whether a device failed, and what is opened then may do all of it again. */
static ImgstatResult compute_wide(ImgstatDataset *dataset, const ImgstatMeasureBatch *batch,
                                  const ImgstatMeasure *how, const ImgstatJobStream *stream,
                                  DeviceList *devices, bool *again, ImgstatError *err)
{
    ImgstatAccount account;
    imgstat_dataset_account(dataset, &account);
    *again = false;
    Computations *const all = calloc(1, sizeof *all);
    if (!all)
        return error_memory(err, sizeof *all, "statistics");
    DatasetRead *const read = &all->read;
    *read = (DatasetRead){.dataset = dataset,
                          .batch = batch,
                          .how = how,
                          .stream = stream,
                          .devices = devices,
                          .failures = account.failures,
                          .n_failures = account.n_failures,
                          .more_failures = account.n_failures < account.all_failures};
    pthread_mutex_init(&read->lock, NULL);
    pthread_mutex_init(&all->lock, NULL);
    pthread_cond_init(&all->changed, NULL);
    ImgstatResult res = IMGSTAT_OK;
    ImgstatRecord *record;
    for (size_t i = 0; res == IMGSTAT_OK && (record = imgstat_dataset_record(dataset, i)); i++) {
        if (sample_is_narrow(record->kind->sample))
            continue;
        list(all, record);
        if (read->n == READ_RECORDS)
            res = compute_listed(all, err);
    }
    if (res == IMGSTAT_OK && read->n > 0)
        res = compute_listed(all, err);
    *again = atomic_load(&read->again);
    pthread_cond_destroy(&all->changed);
    pthread_mutex_destroy(&all->lock);
    pthread_mutex_destroy(&read->lock);
    free(read->latest.name);
    free(all);
    return res;
}

/* Reads again on the devices of the batch, and once more on others where one fails, unless other
 * processes read as well. */
static ImgstatResult read_again(ImgstatDataset *dataset, const ImgstatMeasureBatch *batch,
                                const ImgstatMeasure *how, const ImgstatJobStream *jobs,
                                ImgstatError *err)
{
    DeviceList devices;
    ImgstatError why = {0};
    bool again;
    ImgstatResult res =
        device_list_init(&devices, batch->device, batch->fallen_back, batch->context, &why);
    if (batch->peers)
        res = peers_agree(batch->peers, res, &why);
    for (again = res == IMGSTAT_OK; again; again = again && res != IMGSTAT_OK && !batch->peers) {
        res = compute_wide(dataset, batch, how, jobs, &devices, &again, &why);
        device_list_report(&devices);
    }
    device_list_release(&devices);
    if (res != IMGSTAT_OK && err)
        *err = why;
    return res;
}

ImgstatResult imgstat_dataset_compute(ImgstatDataset *dataset, const ImgstatMeasureBatch *batch,
                                      const ImgstatJobStream *jobs, ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(dataset && batch && (!jobs || jobs->next), __func__, err));
    IMGSTAT_TRY(job_check_memory(batch->memory, err));
    if (batch->peers && !peers_are_complete(batch->peers))
        return error_set(err, IMGSTAT_ERR_ARG, "process %u of %u, or no way to the others",
                         batch->peers->rank, batch->peers->n);
    ImgstatMeasure how = batch->how ? *batch->how : (ImgstatMeasure){0};
    how.mergeable = false;
    IMGSTAT_TRY(result_check(&how, err));
    ImgstatMeasure counted = how; /* what follows from the counts of wider types */
    counted.mode = counted.shape = counted.histogram = false;
    ImgstatRecord *record;
    for (size_t i = 0; (record = imgstat_dataset_record(dataset, i)); i++) {
        const bool narrow = sample_is_narrow(record->kind->sample);
        if (narrow || !jobs)
            IMGSTAT_TRY(imgstat_record_compute(record, narrow ? &how : &counted, err));
    }
    return jobs ? read_again(dataset, batch, &how, jobs, err) : IMGSTAT_OK;
}
