/* SPDX-License-Identifier: MIT */
/* dataset.c: records by group and kind, and the account of the files that they are of. */
#include "record/dataset.h"

#include "record/kind.h"
#include "record/record_code.h"

#include <search.h>
#include <stdlib.h>

/* ---- Making ---- */

ImgstatResult imgstat_dataset_create(ImgstatDataset **out, ImgstatError *err)
{
    if (out)
        *out = NULL;
    IMGSTAT_TRY(error_if_null(out != NULL, __func__, err));
    ImgstatDataset *const made = calloc(1, sizeof *made);
    if (!made)
        return error_memory(err, sizeof *made, "a data set");
    *made = (ImgstatDataset){
        .sorted = true,
        .failures_sorted = true,
        .failures_most = IMGSTAT_FAILURES_LISTED,
        .version = {IMGSTAT_VERSION_MAJOR, IMGSTAT_VERSION_MINOR, IMGSTAT_VERSION_PATCH}};
    pthread_mutex_init(&made->mutex, NULL);
    *out = made;
    return IMGSTAT_OK;
}

static void destroy_entry(DatasetEntry *entry)
{
    if (!entry)
        return;
    imgstat_record_destroy(entry->record);
    shared_text_release(entry->source);
    pthread_mutex_destroy(&entry->mutex);
    free(entry);
}

static int compare_entries(const void *a, const void *b)
{
    const ImgstatRecord *const x = ((const DatasetEntry *)a)->record;
    const ImgstatRecord *const y = ((const DatasetEntry *)b)->record;
    const int less = strcmp(shared_text_of(x->group), shared_text_of(y->group));
    return less ? less : kind_compare(x->kind, y->kind);
}

void imgstat_dataset_destroy(ImgstatDataset *dataset)
{
    if (!dataset)
        return;
    for (size_t i = 0; i < dataset->n; i++) {
        (void)tdelete(dataset->entries[i], &dataset->tree, compare_entries);
        destroy_entry(dataset->entries[i]);
    }
    free(dataset->entries);
    for (size_t i = 0; i < dataset->n_failures; i++)
        free((void *)(uintptr_t)dataset->failures[i].name);
    free(dataset->failures);
    free(dataset->shards.done);
    shared_text_release(dataset->source);
    pthread_mutex_destroy(&dataset->mutex);
    free(dataset);
}

/* Makes room for one more item in a list. False: memory ran out. */
static bool reserve_one(void *list, size_t n, size_t *capacity, size_t item_bytes)
{
    void **const items = list;
    size_t bytes;
    if (n < *capacity)
        return true;
    const size_t wanted = n ? 2 * n : 16;
    if (!size_product(wanted, item_bytes, &bytes))
        return false;
    void *const grown = realloc(*items, bytes);
    if (!grown)
        return false;
    *items = grown;
    *capacity = wanted;
    return true;
}

/* ---- Filling ---- */

void dataset_add_file(ImgstatDataset *dataset, const char *name, bool failed, const Digest *state)
{
    Digest one = {0};
    digest_add_text(&one, name);
    pthread_mutex_lock(&dataset->mutex);
    dataset->files++;
    dataset->failed += failed;
    digest_add(&dataset->names, &one);
    dataset->n_states += state != NULL;
    if (state)
        digest_add(&dataset->states, state);
    pthread_mutex_unlock(&dataset->mutex);
}

/* Returns the entry for the group and kind of a record; creates one of the record if there is none.
 * NULL: memory ran out. The caller holds the lock of the set. */
static DatasetEntry *find_or_insert(ImgstatDataset *dataset, ImgstatRecord *record)
{
    DatasetEntry probe = {.record = record};
    void *const *const found = tfind(&probe, &dataset->tree, compare_entries);
    if (found)
        return *found;
    DatasetEntry *const entry = malloc(sizeof *entry);
    if (!entry || !reserve_one(&dataset->entries, dataset->n, &dataset->capacity, sizeof entry)) {
        free(entry);
        return NULL;
    }
    *entry = (DatasetEntry){.record = record};
    if (!tsearch(entry, &dataset->tree, compare_entries)) {
        free(entry);
        return NULL;
    }
    pthread_mutex_init(&entry->mutex, NULL);
    record->in_dataset = true;
    dataset->entries[dataset->n++] = entry;
    dataset->sorted = dataset->n == 1;
    return entry;
}

ImgstatResult dataset_add(ImgstatDataset *dataset, ImgstatRecord *record, SharedText *source,
                          ImgstatError *err)
{
    image_record_clear(record);
    pthread_mutex_lock(&dataset->mutex);
    DatasetEntry *const entry = find_or_insert(dataset, record);
    const bool taken = entry && entry->record == record;
    if (taken)
        entry->source = shared_text_retain(source);
    pthread_mutex_unlock(&dataset->mutex);
    if (taken)
        return IMGSTAT_OK;
    ImgstatResult res = IMGSTAT_OK;
    if (!entry) {
        res = error_memory(err, sizeof *entry, "a data set");
    } else {
        pthread_mutex_lock(&entry->mutex);
        res = image_record_check(entry->record, record, err);
        if (res == IMGSTAT_OK)
            image_record_add(entry->record, record);
        pthread_mutex_unlock(&entry->mutex);
    }
    imgstat_record_destroy(record);
    return res;
}

ImgstatResult dataset_append(ImgstatDataset *dataset, ImgstatRecord *record, ImgstatError *err)
{
    const DatasetEntry one = {.record = record};
    if (dataset->n > 0 && compare_entries(dataset->entries[dataset->n - 1], &one) >= 0) {
        imgstat_record_destroy(record);
        return record_damaged(err, "its groups are not in order");
    }
    IMGSTAT_TRY(dataset_add(dataset, record, NULL, err));
    dataset->sorted = true;
    return IMGSTAT_OK;
}

ImgstatRecord *dataset_detach_record(ImgstatDataset *dataset)
{
    DatasetEntry *const entry = dataset->entries[0];
    ImgstatRecord *const record = entry->record;
    record->in_dataset = false;
    (void)tdelete(entry, &dataset->tree, compare_entries);
    entry->record = NULL;
    destroy_entry(entry);
    dataset->n = 0;
    return record;
}

/* ---- Failures ---- */

int failures_compare(const ImgstatFailure *x, const ImgstatFailure *y)
{
    int less = strcmp(x->name, y->name);
    if (!less)
        less = (x->code > y->code) - (x->code < y->code);
    return less ? less : strcmp(x->message, y->message);
}

static int compare_failures(const void *a, const void *b)
{
    return failures_compare(a, b);
}

static void sort_failures(ImgstatDataset *dataset)
{
    if (!dataset->failures_sorted)
        qsort(dataset->failures, dataset->n_failures, sizeof *dataset->failures, compare_failures);
    dataset->failures_sorted = true;
    while (dataset->n_failures > dataset->failures_most)
        free((void *)(uintptr_t)dataset->failures[--dataset->n_failures].name);
}

/* A list that is twice as long as wanted is cut: of many failures, each is sorted about once. */
static bool is_long(const ImgstatDataset *dataset)
{
    return dataset->n_failures / 2 > dataset->failures_most;
}

void imgstat_dataset_list_failures(ImgstatDataset *dataset, size_t most)
{
    dataset->failures_most = most;
}

ImgstatResult dataset_add_failure(ImgstatDataset *dataset, const ImgstatFailure *failure,
                                  ImgstatError *err)
{
    const size_t name = strnlen(failure->name, IMGSTAT_NAME_MOST); /* no file has a longer one */
    const size_t message = strlen(failure->message) + 1;
    char *const texts = malloc(name + 1 + message);
    pthread_mutex_lock(&dataset->mutex);
    if (is_long(dataset))
        sort_failures(dataset);
    const bool room = texts && reserve_one(&dataset->failures, dataset->n_failures,
                                           &dataset->failures_capacity, sizeof *failure);
    if (room) {
        memcpy(texts, failure->name, name);
        texts[name] = '\0';
        memcpy(texts + name + 1, failure->message, message);
        dataset->failures[dataset->n_failures++] =
            (ImgstatFailure){.name = texts, .code = failure->code, .message = texts + name + 1};
        dataset->failures_sorted = dataset->n_failures == 1;
        dataset->all_failures++;
    }
    pthread_mutex_unlock(&dataset->mutex);
    if (!room)
        free(texts);
    return room ? IMGSTAT_OK : error_memory(err, name + message, "a data set");
}

ImgstatResult dataset_fail(ImgstatDataset *dataset, const char *name, const ImgstatError *error,
                           ImgstatError *err)
{
    const ImgstatFailure failure = {.name = name, .code = error->code, .message = error->message};
    return dataset_add_failure(dataset, &failure, err);
}

/* ---- Order ---- */

static int compare_pointers(const void *a, const void *b)
{
    return compare_entries(*(DatasetEntry *const *)a, *(DatasetEntry *const *)b);
}

DatasetEntry *dataset_find(const ImgstatDataset *dataset, const DatasetEntry *like)
{
    void *const *const found = tfind(like, &dataset->tree, compare_entries);
    return found ? *found : NULL;
}

void dataset_sort(ImgstatDataset *dataset)
{
    pthread_mutex_lock(&dataset->mutex);
    if (!dataset->sorted)
        qsort(dataset->entries, dataset->n, sizeof *dataset->entries, compare_pointers);
    dataset->sorted = true;
    sort_failures(dataset);
    pthread_mutex_unlock(&dataset->mutex);
}

/* ---- What it holds ---- */

size_t imgstat_dataset_records(ImgstatDataset *dataset)
{
    return dataset->n;
}

ImgstatRecord *imgstat_dataset_record(ImgstatDataset *dataset, size_t i)
{
    dataset_sort(dataset);
    return i < dataset->n ? dataset->entries[i]->record : NULL;
}

static void put_words(const Digest *digest, uint8_t out[16])
{
    for (unsigned i = 0; i < 8; i++) {
        out[i] = (uint8_t)(digest->low >> (8 * i));
        out[8 + i] = (uint8_t)(digest->high >> (8 * i));
    }
}

void imgstat_dataset_account(ImgstatDataset *dataset, ImgstatAccount *out)
{
    dataset_sort(dataset);
    *out = (ImgstatAccount){.files = dataset->files,
                            .failed = dataset->failed,
                            .failures = dataset->failures,
                            .n_failures = dataset->n_failures,
                            .all_failures = dataset->all_failures,
                            .shards = dataset->shards.n,
                            .n_done = dataset->shards.n_done,
                            .done = dataset->shards.done};
    for (size_t i = 0; i < dataset->n; i++)
        out->pages += dataset->entries[i]->record->pages;
    put_words(&dataset->names, out->digest);
    memcpy(out->version, dataset->version, sizeof out->version);
    memcpy(out->set, dataset->shards.set, sizeof out->set);
}

ImgstatResult imgstat_dataset_set_shard(ImgstatDataset *dataset, uint32_t shard, uint32_t n,
                                        const uint8_t set[16], ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(dataset && set, __func__, err));
    if (shard >= n)
        return error_set(err, IMGSTAT_ERR_ARG, "there is no shard %u of %u", shard, n);
    if (n > SHARDS_MOST)
        return error_set(err, IMGSTAT_ERR_ARG, "%u shards are more than %d", n, SHARDS_MOST);
    if (dataset->shards.n > 0)
        return error_set(err, IMGSTAT_ERR_ARG, "the data set is a shard already");
    if (n == 1) /* the whole set */
        return IMGSTAT_OK;
    dataset->shards.done = calloc((n + 7) / 8, 1);
    if (!dataset->shards.done)
        return error_memory(err, (n + 7) / 8, "a data set");
    dataset->shards.done[shard / 8] = (uint8_t)(1u << (shard % 8));
    dataset->shards.n = n;
    dataset->shards.n_done = 1;
    memcpy(dataset->shards.set, set, sizeof dataset->shards.set);
    return IMGSTAT_OK;
}
