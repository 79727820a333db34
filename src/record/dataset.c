/* SPDX-License-Identifier: MIT */
/* dataset.c: records by group and kind, and the account of the files that they are of. */
#include "record/dataset.h"

#include "record/kind.h"

#include <search.h>
#include <stdio.h>
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

void dataset_add_file(ImgstatDataset *dataset, const char *name)
{
    Digest one = {0};
    digest_add_text(&one, name);
    pthread_mutex_lock(&dataset->mutex);
    dataset->files++;
    digest_add(&dataset->names, &one);
    pthread_mutex_unlock(&dataset->mutex);
}

/* Makes an entry of a record, unless it has one, which is returned. NULL: memory ran out. The lock
 * of the set is held. */
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
    dataset->entries[dataset->n++] = entry;
    dataset->sorted = dataset->n == 1;
    return entry;
}

/* Adds a record, which is taken over. source: NULL, or the file of records that it is from. */
static ImgstatResult add_record(ImgstatDataset *dataset, ImgstatRecord *record, SharedText *source,
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

ImgstatResult dataset_add(ImgstatDataset *dataset, const char *group, ImgstatRecord *record,
                          ImgstatError *err)
{
    shared_text_release(record->group);
    record->group = NULL;
    if (group && *group && !(record->group = shared_text_create(group, strlen(group)))) {
        imgstat_record_destroy(record);
        return error_memory(err, strlen(group), "a data set");
    }
    return add_record(dataset, record, NULL, err);
}

ImgstatResult dataset_append(ImgstatDataset *dataset, ImgstatRecord *record, ImgstatError *err)
{
    const DatasetEntry one = {.record = record};
    if (dataset->n > 0 && compare_entries(dataset->entries[dataset->n - 1], &one) >= 0) {
        imgstat_record_destroy(record);
        return error_set(err, IMGSTAT_ERR_FORMAT,
                         "the record is damaged: its groups are not in order");
    }
    IMGSTAT_TRY(add_record(dataset, record, NULL, err));
    dataset->sorted = true;
    return IMGSTAT_OK;
}

ImgstatRecord *dataset_take_record(ImgstatDataset *dataset)
{
    DatasetEntry *const entry = dataset->entries[0];
    ImgstatRecord *const record = entry->record;
    (void)tdelete(entry, &dataset->tree, compare_entries);
    entry->record = NULL;
    destroy_entry(entry);
    dataset->n = 0;
    return record;
}

static ImgstatResult add_failure(ImgstatDataset *dataset, const ImgstatFailure *failure,
                                 ImgstatError *err)
{
    const size_t name = strlen(failure->name) + 1, message = strlen(failure->message) + 1;
    char *const texts = malloc(name + message);
    pthread_mutex_lock(&dataset->mutex);
    const bool room = texts && reserve_one(&dataset->failures, dataset->n_failures,
                                           &dataset->failures_capacity, sizeof *failure);
    if (room) {
        memcpy(texts, failure->name, name);
        memcpy(texts + name, failure->message, message);
        dataset->failures[dataset->n_failures++] =
            (ImgstatFailure){.name = texts, .code = failure->code, .message = texts + name};
        dataset->failures_sorted = dataset->n_failures == 1;
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
    return add_failure(dataset, &failure, err);
}

/* ---- Order ---- */

static int compare_pointers(const void *a, const void *b)
{
    return compare_entries(*(DatasetEntry *const *)a, *(DatasetEntry *const *)b);
}

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

void dataset_sort(ImgstatDataset *dataset)
{
    pthread_mutex_lock(&dataset->mutex);
    if (!dataset->sorted)
        qsort(dataset->entries, dataset->n, sizeof *dataset->entries, compare_pointers);
    if (!dataset->failures_sorted)
        qsort(dataset->failures, dataset->n_failures, sizeof *dataset->failures, compare_failures);
    dataset->sorted = dataset->failures_sorted = true;
    pthread_mutex_unlock(&dataset->mutex);
}

/* ---- Merging ---- */

static const char *source_of(const SharedText *source)
{
    return source ? source->text : "the data set before it";
}

static ImgstatResult differs(const ImgstatDataset *into, const ImgstatDataset *from,
                             const char *of_from, const char *of_into, ImgstatError *err)
{
    const char *const first = source_of(into->source);
    if (from->source)
        return error_file(err, IMGSTAT_ERR_ARG, from->source->text, "%s, %s %s", of_from, first,
                          of_into);
    return error_set(err, IMGSTAT_ERR_ARG, "a data set %s, %s %s", of_from, first, of_into);
}

static bool is_done(const ShardsDone *shards, uint32_t k)
{
    return shards->done[k / 8] >> (k % 8) & 1;
}

static bool is_empty(const ImgstatDataset *dataset)
{
    return dataset->n == 0 && dataset->files == 0 && dataset->n_failures == 0 &&
           dataset->shards.n == 0;
}

static ImgstatResult check_shards(const ImgstatDataset *into, const ImgstatDataset *from,
                                  ImgstatError *err)
{
    const ShardsDone *const a = &into->shards, *const b = &from->shards;
    char of_from[64];
    if (is_empty(into) || is_empty(from) || (a->n == 0 && b->n == 0))
        return IMGSTAT_OK;
    if (a->n == 0 || b->n == 0)
        return differs(into, from, b->n ? "is a shard of a set" : "is no shard",
                       a->n ? "is a shard of a set" : "is no shard", err);
    if (a->n != b->n || memcmp(a->set, b->set, sizeof a->set) != 0)
        return differs(into, from, "is a shard of another set than", "is", err);
    for (uint32_t k = 0; k < a->n; k++) {
        if (!is_done(a, k) || !is_done(b, k))
            continue;
        snprintf(of_from, sizeof of_from, "has shard %u of %u", k + 1, a->n);
        return differs(into, from, of_from, "has it too", err);
    }
    return IMGSTAT_OK;
}

/* Where the group of entry i ends. */
static size_t group_end(DatasetEntry *const *entries, size_t n, size_t i)
{
    const char *const group = shared_text_of(entries[i]->record->group);
    size_t end = i + 1;
    while (end < n && strcmp(shared_text_of(entries[end]->record->group), group) == 0)
        end++;
    return end;
}

static ImgstatResult kind_differs(const ImgstatDataset *into_set, const DatasetEntry *into,
                                  const ImgstatDataset *from_set, const DatasetEntry *from,
                                  ImgstatError *err)
{
    char of_into[KIND_WORDS], of_from[KIND_WORDS], group[KIND_WORDS] = "";
    kinds_differ(from->record->kind, into->record->kind, of_from, of_into);
    if (from->record->group)
        snprintf(group, sizeof group, ", in group '%.120s'", from->record->group->text);
    const char *const first = source_of(into->source ? into->source : into_set->source);
    if (from_set->source)
        return error_file(err, IMGSTAT_ERR_ARG, from_set->source->text, "holds %s, %s %s%s",
                          of_from, first, of_into, group);
    return error_set(err, IMGSTAT_ERR_ARG, "a data set holds %s, %s %s%s", of_from, first, of_into,
                     group);
}

/* Compares two groups of one name. */
static ImgstatResult check_group(const ImgstatDataset *into, DatasetEntry *const *a, size_t n_a,
                                 const ImgstatDataset *from, DatasetEntry *const *b, size_t n_b,
                                 ImgstatError *err)
{
    const size_t n = n_a < n_b ? n_a : n_b;
    size_t i = 0;
    while (i < n && kind_compare(a[i]->record->kind, b[i]->record->kind) == 0)
        i++;
    if (i == n_a && i == n_b)
        return IMGSTAT_OK;
    if (i == n) /* the shorter list is the beginning of the other: there is one kind more */
        i = n - 1;
    const size_t other_a = n_a > n ? n : i, other_b = n_b > n ? n : i;
    return kind_differs(into, a[other_a], from, b[other_b], err);
}

/* Both are sorted. */
static ImgstatResult check_kinds(const ImgstatDataset *into, const ImgstatDataset *from,
                                 ImgstatError *err)
{
    size_t i = 0, k = 0;
    while (i < into->n && k < from->n) {
        const size_t i_end = group_end(into->entries, into->n, i);
        const size_t k_end = group_end(from->entries, from->n, k);
        const int less = strcmp(shared_text_of(into->entries[i]->record->group),
                                shared_text_of(from->entries[k]->record->group));
        if (less == 0)
            IMGSTAT_TRY(check_group(into, into->entries + i, i_end - i, from, from->entries + k,
                                    k_end - k, err));
        if (less <= 0)
            i = i_end;
        if (less >= 0)
            k = k_end;
    }
    return IMGSTAT_OK;
}

/* Checks every record of `from` that has one to merge with. */
static ImgstatResult check_records(ImgstatDataset *into, const ImgstatDataset *from,
                                   ImgstatError *err)
{
    for (size_t k = 0; k < from->n; k++) {
        void *const *const found = tfind(from->entries[k], &into->tree, compare_entries);
        const DatasetEntry *const entry = found ? *found : NULL;
        if (entry) {
            const ImgstatResult res =
                image_record_check(entry->record, from->entries[k]->record, err);
            if (res != IMGSTAT_OK)
                return from->source ? error_add_file(err, res, from->source->text) : res;
        }
    }
    return IMGSTAT_OK;
}

static ImgstatResult merge_shards(ShardsDone *into, const ShardsDone *from, ImgstatError *err)
{
    const size_t bytes = (from->n + 7) / 8;
    if (from->n == 0)
        return IMGSTAT_OK;
    if (into->n == 0) {
        uint8_t *const done = malloc(bytes);
        if (!done)
            return error_memory(err, bytes, "a data set");
        memcpy(done, from->done, bytes);
        *into = *from;
        into->done = done;
        return IMGSTAT_OK;
    }
    for (size_t i = 0; i < bytes; i++)
        into->done[i] |= from->done[i];
    into->n_done += from->n_done;
    if (into->n_done < into->n)
        return IMGSTAT_OK;
    free(into->done);
    *into = (ShardsDone){0};
    return IMGSTAT_OK;
}

static void latest_version(uint16_t into[3], const uint16_t from[3])
{
    int i = 0;
    while (i < 2 && into[i] == from[i])
        i++;
    if (from[i] > into[i])
        memcpy(into, from, 3 * sizeof *into);
}

ImgstatResult dataset_join(ImgstatDataset *into, const ImgstatDataset *from, ImgstatError *err)
{
    IMGSTAT_TRY(check_records(into, from, err));
    for (size_t k = 0; k < from->n; k++) {
        const DatasetEntry *const entry = from->entries[k];
        ImgstatRecord *copy = NULL;
        void *const *const found = tfind(entry, &into->tree, compare_entries);
        if (found) {
            image_record_add(((DatasetEntry *)*found)->record, entry->record);
            continue;
        }
        SharedText *const source = entry->source ? entry->source : from->source;
        IMGSTAT_TRY(image_record_copy(entry->record, &copy, err));
        IMGSTAT_TRY(add_record(into, copy, source, err));
    }
    for (size_t i = 0; i < from->n_failures; i++)
        IMGSTAT_TRY(add_failure(into, &from->failures[i], err));
    IMGSTAT_TRY(merge_shards(&into->shards, &from->shards, err));
    into->files += from->files;
    digest_add(&into->names, &from->names);
    latest_version(into->version, from->version);
    return IMGSTAT_OK;
}

ImgstatResult imgstat_dataset_merge(ImgstatDataset *into, const ImgstatDataset *from,
                                    ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(into && from, __func__, err));
    if (into == from)
        return error_set(err, IMGSTAT_ERR_ARG, "a data set does not merge with itself");
    IMGSTAT_TRY(check_shards(into, from, err));
    dataset_sort(into);
    dataset_sort((ImgstatDataset *)(uintptr_t)from); /* its contents stay */
    if (into->shards.n == 0 || from->shards.n == 0)
        IMGSTAT_TRY(check_kinds(into, from, err));
    const bool first = is_empty(into);
    IMGSTAT_TRY(dataset_join(into, from, err));
    if (first && !into->source)
        into->source = shared_text_retain(from->source);
    return IMGSTAT_OK;
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
                            .failures = dataset->failures,
                            .n_failures = dataset->n_failures,
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
    if (n == 0 || n > SHARDS_MOST || shard >= n)
        return error_set(err, IMGSTAT_ERR_ARG, "there is no shard %u of %u", shard, n);
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
