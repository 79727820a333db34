/* SPDX-License-Identifier: MIT */
/* dataset_merge.c: merges data sets, and says why some do not merge. */
#include "record/dataset.h"
#include "record/kind.h"

#include <stdio.h>
#include <stdlib.h>

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
    return dataset->n == 0 && dataset->files == 0 && dataset->all_failures == 0 &&
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
        return differs(into, from, "is a shard of a set", "is one of another", err);
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

static unsigned __int128 pages_of(const ImgstatDataset *dataset)
{
    unsigned __int128 pages = 0;
    for (size_t i = 0; i < dataset->n; i++)
        pages += dataset->entries[i]->record->pages;
    return pages;
}

/* Checks every record of `from` that has one to merge with. */
static ImgstatResult check_records(ImgstatDataset *into, const ImgstatDataset *from,
                                   ImgstatError *err)
{
    if ((unsigned __int128)into->files + from->files > RECORD_MOST_SAMPLES ||
        (unsigned __int128)into->all_failures + from->all_failures > RECORD_MOST_SAMPLES ||
        pages_of(into) + pages_of(from) > RECORD_MOST_SAMPLES) {
        const ImgstatResult res = error_set(
            err, IMGSTAT_ERR_LIMIT, "more than 2^63 files, failures or pages in one data set");
        return from->source ? error_add_file(err, res, from->source->text) : res;
    }
    for (size_t k = 0; k < from->n; k++) {
        const DatasetEntry *const entry = dataset_find(into, from->entries[k]);
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

/* Adds the records and the account of another data set. The kinds in a group may differ. */
static ImgstatResult join(ImgstatDataset *into, const ImgstatDataset *from, ImgstatError *err)
{
    IMGSTAT_TRY(check_records(into, from, err));
    for (size_t k = 0; k < from->n; k++) {
        const DatasetEntry *const entry = from->entries[k];
        ImgstatRecord *copy = NULL;
        DatasetEntry *const found = dataset_find(into, entry);
        if (found) {
            image_record_add(found->record, entry->record);
            continue;
        }
        SharedText *const source = entry->source ? entry->source : from->source;
        IMGSTAT_TRY(image_record_copy(entry->record, &copy, err));
        IMGSTAT_TRY(dataset_add(into, copy, source, err));
    }
    for (size_t i = 0; i < from->n_failures; i++)
        IMGSTAT_TRY(dataset_add_failure(into, &from->failures[i], err));
    into->failed += from->failed;
    into->all_failures += from->all_failures - from->n_failures;
    IMGSTAT_TRY(merge_shards(&into->shards, &from->shards, err));
    into->files += from->files;
    digest_add(&into->names, &from->names);
    digest_add(&into->states, &from->states);
    into->n_states += from->n_states;
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
    IMGSTAT_TRY(join(into, from, err));
    if (first && !into->source)
        into->source = shared_text_retain(from->source);
    return IMGSTAT_OK;
}
