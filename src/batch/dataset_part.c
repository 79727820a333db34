/* SPDX-License-Identifier: MIT */
/* dataset_part.c: merges records where they are made. */
#include "batch/dataset_part.h"

#include "record/kind.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { KEEP_BYTES = 8 << 20 }; /* of the counters of one record that is kept: others are shared */

typedef struct PartFailure {
    struct PartFailure *next;
    ImgstatError error;
} PartFailure;

bool job_add_state(const ImgstatJob *job, Digest *states, struct timespec *changed)
{
    struct stat info;
    char text[96];
    if (job->source || job_reads_standard_input(job) || stat(job->input, &info) != 0 ||
        !S_ISREG(info.st_mode))
        return false;
    snprintf(text, sizeof text, "%jd %jd.%09ld %jd.%09ld", (intmax_t)info.st_size,
             (intmax_t)info.st_mtim.tv_sec, info.st_mtim.tv_nsec, (intmax_t)info.st_ctim.tv_sec,
             info.st_ctim.tv_nsec);
    digest_add_text(states, text);
    *changed = info.st_ctim;
    return true;
}

static bool is_later(struct timespec a, struct timespec b)
{
    return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

void latest_add(Latest *latest, const char *name, struct timespec changed)
{
    char *const copy = !latest->name || is_later(changed, latest->at) ? strdup(name) : NULL;
    if (!copy)
        return;
    free(latest->name);
    *latest = (Latest){.name = copy, .at = changed};
}

static void drop_job(DatasetPart *part)
{
    for (size_t i = 0; i < part->n_job; i++)
        imgstat_record_destroy(part->job[i]);
    part->n_job = 0;
    while (part->failures) {
        PartFailure *const failure = part->failures;
        part->failures = failure->next;
        free(failure);
    }
}

void part_begin(DatasetPart *part, const ImgstatJob *job)
{
    drop_job(part);
    part->state = (Digest){0};
    struct timespec changed;
    part->has_state = job_add_state(job, &part->state, &changed);
}

static bool is_same(const ImgstatRecord *a, const ImgstatRecord *b)
{
    return strcmp(shared_text_of(a->group), shared_text_of(b->group)) == 0 &&
           kind_compare(a->kind, b->kind) == 0;
}

/* Merges a record, which is taken over. */
static ImgstatResult merge(ImgstatRecord *into, ImgstatRecord *record, ImgstatError *err)
{
    const ImgstatResult res = image_record_check(into, record, err);
    if (res == IMGSTAT_OK)
        image_record_add(into, record);
    imgstat_record_destroy(record);
    return res;
}

static ImgstatResult append(DatasetPart *part, ImgstatRecord *record, ImgstatError *err)
{
    if (part->n_job == part->job_capacity) {
        const size_t capacity = part->job_capacity ? 2 * part->job_capacity : 4;
        ImgstatRecord **const grown = realloc(part->job, capacity * sizeof(ImgstatRecord *));
        if (!grown) {
            imgstat_record_destroy(record);
            return error_memory(err, capacity * sizeof(ImgstatRecord *), "records");
        }
        part->job = grown;
        part->job_capacity = capacity;
    }
    part->job[part->n_job++] = record;
    return IMGSTAT_OK;
}

ImgstatResult part_add(DatasetPart *part, const char *group, ImgstatRecord *record,
                       ImgstatError *err)
{
    if (group && *group && !(record->group = shared_text_create(group, strlen(group)))) {
        imgstat_record_destroy(record);
        return error_memory(err, strlen(group), "the name of a group");
    }
    for (size_t i = 0; i < part->n_job; i++) {
        if (!is_same(part->job[i], record))
            continue;
        record->files = 0; /* the file is counted once */
        record->names = (Digest){0};
        return merge(part->job[i], record, err);
    }
    return append(part, record, err);
}

ImgstatResult part_fail(DatasetPart *part, const ImgstatError *failure, ImgstatError *err)
{
    PartFailure *const added = malloc(sizeof *added);
    if (!added)
        return error_memory(err, sizeof *added, "a failure");
    *added = (PartFailure){.next = part->failures, .error = *failure};
    part->failures = added;
    return IMGSTAT_OK;
}

/* Adds a record to the data set, which takes it over. */
static ImgstatResult share(DatasetPart *part, ImgstatRecord *record, ImgstatError *err)
{
    return dataset_add(part->dataset, record, NULL, err);
}

/* Adds a record to those that are kept, of which the oldest may have to go. */
static ImgstatResult keep(DatasetPart *part, ImgstatRecord *record, ImgstatError *err)
{
    for (size_t i = 0; i < PART_RECORDS; i++)
        if (part->kept[i] && is_same(part->kept[i], record))
            return merge(part->kept[i], record, err);
    const Record *const counts = record->record;
    if (record_bytes(counts->sample, counts->channels, counts->parts) > KEEP_BYTES)
        return share(part, record, err);
    ImgstatRecord *const oldest = part->kept[part->next];
    part->kept[part->next] = record;
    part->next = (part->next + 1) % PART_RECORDS;
    return oldest ? share(part, oldest, err) : IMGSTAT_OK;
}

ImgstatResult part_end(DatasetPart *part, const char *name, ImgstatError *err)
{
    ImgstatResult res = IMGSTAT_OK;
    dataset_add_file(part->dataset, name, part->failures != NULL,
                     part->has_state ? &part->state : NULL);
    for (const PartFailure *f = part->failures; f && res == IMGSTAT_OK; f = f->next)
        res = dataset_fail(part->dataset, name, &f->error, err);
    while (part->n_job > 0 && res == IMGSTAT_OK)
        res = keep(part, part->job[--part->n_job], err);
    drop_job(part);
    return res;
}

ImgstatResult part_flush(DatasetPart *part, ImgstatError *err)
{
    ImgstatResult res = IMGSTAT_OK;
    for (size_t i = 0; i < PART_RECORDS && res == IMGSTAT_OK; i++) {
        ImgstatRecord *const record = part->kept[i];
        part->kept[i] = NULL;
        if (record)
            res = share(part, record, err);
    }
    return res;
}

void part_release(DatasetPart *part)
{
    drop_job(part);
    for (size_t i = 0; i < PART_RECORDS; i++)
        imgstat_record_destroy(part->kept[i]);
    free(part->job);
    *part = (DatasetPart){.dataset = part->dataset};
}
