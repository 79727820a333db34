/* SPDX-License-Identifier: MIT */
/* dataset_wide.c: statistics of wide types, which need the pixels again. The statistics of each
 * record are computed by a thread of its own, which waits where it asks for a read; when all of
 * them wait, all files are read once for all requests. */
#include "batch/dataset_wide.h"

#include "batch/dataset_read.h"
#include "measure/result.h"
#include "record/dataset.h"
#include "record/kind.h"

#include <stdlib.h>

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

ImgstatResult dataset_compute_wide(ImgstatDataset *dataset, const ImgstatMeasureBatch *batch,
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
