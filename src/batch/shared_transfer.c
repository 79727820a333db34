/* SPDX-License-Identifier: MIT */
/* shared_transfer.c: one transfer from all pages of many files, or one for each of their channels
 * and groups. Records merge exactly and in any order, so the result depends neither on the order of
 * the files nor on the number of threads. */
#include "batch/scheduler.h"

#include "batch/job.h"
#include "batch/peers.h"
#include "record/widen.h"
#include "transfer/fewer_bits.h"
#include "transform/group_transfer.h"
#include "transform/undefined.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void jobs_forget_measured(Jobs *jobs)
{
    for (size_t i = 0; jobs->failed && i < jobs->n; i++)
        free(jobs->failed[i]);
    for (size_t i = 0; jobs->notes && i < jobs->n; i++)
        job_notes_clear(&jobs->notes[i]);
    free(jobs->failed);
    free(jobs->notes);
    jobs->failed = NULL;
    jobs->notes = NULL;
}

void jobs_note_failure(Jobs *jobs, size_t index, const ImgstatError *error)
{
    jobs->failed[index] = malloc(error_bytes(error));
    if (jobs->failed[index])
        memcpy(jobs->failed[index], error, error_bytes(error));
    else
        atomic_store(&jobs->stop, true); /* no memory for the sentence: the batch ends */
}

typedef struct Together {
    Jobs *jobs;
    TransformWorker *worker;    /* of the calling thread, for further reads */
    const ReadRequest *request; /* the further read at hand; NULL: the first */
    const SharedGroup *only;    /* the group whose images are read again */
} Together;

/* Whether this process measures a job. */
static bool is_own(const Jobs *jobs, size_t index)
{
    const ImgstatPeers *const peers = jobs->batch->peers;
    return !jobs->failed[index] && !jobs->job[index].only_mapped &&
           (!peers || index % peers->n == peers->rank);
}

static const char *text_of(const char *text)
{
    return text ? text : "";
}

/* The group of a job, as the keys of its images have it. */
static const char *set_of(const Jobs *jobs, const ImgstatJob *job)
{
    return job->group || !jobs->grouped ? job->group : "";
}

/* Adds the record of an image to *record, on the scale of its group. */
static ImgstatResult measure_page(const SharedGroup *group, PageReader *reader,
                                  const TransferShape *shape, Record **record, ImgstatError *err)
{
    Record *page = NULL;
    IMGSTAT_TRY(transfer_input_measure(group->input, reader, shape, &page, err));
    if (shape->bits != group->shape.bits) {
        const ImgstatResult res =
            record_widen(reader->device->cache, &page, shape->bits, group->shape.bits, err);
        if (res != IMGSTAT_OK) {
            record_destroy(page);
            return res;
        }
    }
    if (!*record) {
        *record = page;
        return IMGSTAT_OK;
    }
    record_merge(*record, page);
    record_destroy(page);
    return IMGSTAT_OK;
}

/* Reads the selected page for the request, or adds its record to that of its group. */
static ImgstatResult read_page(const Together *t, TransformWorker *worker, const char *set,
                               Decoder *decoder, Record **records, ImgstatError *err)
{
    Jobs *const jobs = t->jobs;
    const GroupKey key = page_group_key_of_set(set, &decoder->list, decoder->page.page);
    const TransferShape shape = shape_of_page(decoder);
    const SharedGroup *const group = shared_groups_find(&jobs->groups, &key);
    if (t->only && group != t->only)
        return IMGSTAT_OK;
    if (!group || !shared_group_has_depth(group, &shape)) /* a pipe, whose header is read last */
        return error_file(err, IMGSTAT_ERR_ARG, decoder->source->name,
                          "has images of a channel or a depth that no input has whose headers can "
                          "be read first");
    const TransferShape scaled = shared_group_scale(group, &shape);
    IMGSTAT_TRY(
        transfer_shapes_check(&jobs->method, &group->shape, &scaled, decoder->source->name, err));
    PageReader reader;
    IMGSTAT_TRY(page_reader_open(worker->device, decoder, false, &worker->in, &reader, err));
    if (t->request)
        return transfer_input_read(group->input, &reader, &shape, t->request, err);
    return measure_page(group, &reader, &shape, &records[group - jobs->groups.group], err);
}

/* records: one for each group, of the first read. */
static ImgstatResult read_file(const Together *t, TransformWorker *worker, size_t index,
                               Record **records, ImgstatError *err)
{
    const ImgstatJob *const job = &t->jobs->job[index];
    JobNotes *const notes = &t->jobs->notes[index];
    const bool first = !t->request;
    ImgstatFile *file = NULL;
    if (first)
        job_notes_clear(notes); /* of a device that failed */
    IMGSTAT_TRY(jobs_open(t->jobs, index, first ? job_notes_warn : NULL, notes, &file, err));
    ImgstatResult res = jobs_reserve_memory(t->jobs, worker, index, file, err);
    for (uint32_t i = 0; res == IMGSTAT_OK && i < file->n_chosen; i++) {
        const ChosenPage *const chosen = &file->chosen[i];
        if (!chosen->leads || file->decoder->list.entry[chosen->page].role == IMGSTAT_ROLE_MASK)
            continue;
        res = imgstat_file_page(file, chosen->page, NULL, err);
        if (res == IMGSTAT_OK)
            res = read_page(t, worker, set_of(t->jobs, job), file->decoder, records, err);
    }
    if (first)
        notes->lost_rows = imgstat_file_lost_rows(file);
    imgstat_file_close(file);
    jobs_yield_memory(t->jobs, worker);
    return error_add_file(err, res, job->input);
}

/* ---- First read: any thread ------------------------------------------------------------------ */

static void report_measured(const Jobs *jobs, size_t measured)
{
    if (jobs->batch->measuring)
        jobs->batch->measuring(jobs->batch->context, measured);
}

static void destroy_records(Record **records, size_t n)
{
    for (size_t g = 0; records && g < n; g++) {
        record_destroy(records[g]);
        records[g] = NULL;
    }
}

static void measure_job(Jobs *jobs, TransformWorker *worker, size_t index)
{
    const Together t = {.jobs = jobs};
    const size_t n = jobs->groups.n;
    Record **const records = calloc(n, sizeof(Record *));
    ImgstatError error;
    ImgstatResult res = IMGSTAT_OK;
    if (!records)
        res = error_memory(&error, n * sizeof(Record *), "records");
    else if (is_own(jobs, index))
        res = read_file(&t, worker, index, records, &error);
    while (records && res != IMGSTAT_OK && jobs_fall_back(jobs, worker, res, &error)) {
        destroy_records(records, n);
        res = read_file(&t, worker, index, records, &error);
    }
    pthread_mutex_lock(&jobs->lock);
    const size_t measured = ++jobs->measured;
    for (size_t g = 0; res == IMGSTAT_OK && g < n; g++)
        if (records[g])
            transfer_input_merge(jobs->groups.group[g].input, &records[g]);
    if (error_add_file(&error, res, jobs->job[index].input) != IMGSTAT_OK)
        jobs_note_failure(jobs, index, &error);
    pthread_mutex_unlock(&jobs->lock);
    destroy_records(records, n); /* no page of a failed file counts */
    free(records);
    if (worker == jobs->own)
        report_measured(jobs, measured);
}

/* Puts the images of a file into groups by their headers. Only a mismatch is an error. */
static ImgstatResult check_file(Jobs *jobs, const ImgstatJob *job, ImgstatFile *file,
                                ImgstatError *err)
{
    Decoder *const decoder = file->decoder;
    for (uint32_t i = 0; i < file->n_chosen; i++) {
        const ChosenPage *const chosen = &file->chosen[i];
        if (!chosen->leads || imgstat_file_page(file, chosen->page, NULL, NULL) != IMGSTAT_OK ||
            page_is_mask(&decoder->page))
            continue;
        const GroupKey key = page_group_key_of_set(set_of(jobs, job), &decoder->list, chosen->page);
        TransferShape shape = shape_of_page(decoder);
        IMGSTAT_TRY(undefined_choose(&jobs->pipeline, decoder, &shape, err));
        IMGSTAT_TRY(shared_groups_add(&jobs->groups, &jobs->method, &key, &shape,
                                      decoder->source->name, err));
        if (job->only_mapped)
            shared_groups_find(&jobs->groups, &key)->only_mapped = true;
    }
    return IMGSTAT_OK;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A job whose group has no image that is measured has no transfer. */
static ImgstatResult check_groups(Jobs *jobs, ImgstatError *err)
{
    if (!jobs->any_only_mapped)
        return IMGSTAT_OK;
    const char **const measured = malloc(jobs->n * sizeof *measured);
    if (!measured)
        return error_memory(err, jobs->n * sizeof *measured, "groups of files");
    size_t n = 0;
    for (size_t i = 0; i < jobs->n; i++)
        if (!jobs->job[i].only_mapped)
            measured[n++] = text_of(jobs->job[i].group);
    qsort(measured, n, sizeof *measured, compare_texts);
    for (size_t i = 0; n > 0 && i < jobs->n; i++) {
        const ImgstatJob *const job = &jobs->job[i];
        const char *const group = text_of(job->group);
        ImgstatError error;
        if (bsearch(&group, measured, n, sizeof *measured, compare_texts))
            continue;
        (void)!error_file(&error, IMGSTAT_ERR_ARG, job->input,
                          "none of the files that are measured is of its group, \"%s\"", group);
        jobs_note_failure(jobs, i, &error);
    }
    free(measured);
    return n > 0 ? IMGSTAT_OK
                 : error_set(err, IMGSTAT_ERR_ARG, "no file is measured for the transfer");
}

/* Sets aside what groups beyond the first hold until all files are written. */
static ImgstatResult reserve_groups(Jobs *jobs, ImgstatError *err)
{
    uint64_t bytes = 0;
    for (size_t g = 0; g < jobs->groups.n; g++) {
        const TransferShape *const shape = &jobs->groups.group[g].shape;
        bytes += g > 0 ? record_bytes(shape->sample, shape->channels, RECORD_BINS) +
                             group_transfer_bytes(&jobs->pipeline, shape)
                       : 0;
    }
    if (bytes > jobs->pipeline.memory / 2)
        return error_set(err, IMGSTAT_ERR_LIMIT,
                         "the transfers of %zu channels need about %llu MiB of memory, and half of "
                         "%llu are allowed",
                         jobs->groups.n, (unsigned long long)(bytes >> 20) + 1,
                         (unsigned long long)(jobs->pipeline.memory >> 20));
    jobs->budget.total = jobs->pipeline.memory - bytes;
    return IMGSTAT_OK;
}

static ImgstatResult create_inputs(Jobs *jobs, ImgstatError *err)
{
    IMGSTAT_TRY(reserve_groups(jobs, err));
    for (size_t g = 0; g < jobs->groups.n; g++) {
        SharedGroup *const group = &jobs->groups.group[g];
        IMGSTAT_TRY(transfer_input_create(&jobs->method, &group->shape,
                                          sort_bytes(jobs->pipeline.memory), &group->input, err));
    }
    return IMGSTAT_OK;
}

/* All headers are read: what cannot be measured together is refused before anything is written. A
 * pipe is read once it is its turn, unless there is no other input. */
static ImgstatResult begin(Jobs *jobs, ImgstatError *err)
{
    IMGSTAT_TRY(check_groups(jobs, err));
    for (int pipes = 0; pipes < 2 && jobs->groups.n == 0; pipes++)
        for (size_t i = 0; i < jobs->n && (pipes == 0 || jobs->groups.n == 0); i++) {
            ImgstatFile *file = NULL;
            ImgstatError error;
            if (jobs->failed[i] || job_is_readable_again(&jobs->job[i]) == (pipes == 1))
                continue;
            if (jobs_open(jobs, i, NULL, NULL, &file, &error) != IMGSTAT_OK) {
                jobs_note_failure(jobs, i, &error);
                continue;
            }
            const ImgstatResult res = check_file(jobs, &jobs->job[i], file, err);
            imgstat_file_close(file);
            IMGSTAT_TRY(res);
            IMGSTAT_TRY(cancel_check(&jobs->cancel, err));
        }
    return create_inputs(jobs, err);
}

/* ---- Further reads --------------------------------------------------------------------------- */

static ImgstatResult read_files(void *context, const ReadRequest *request, ImgstatError *err)
{
    Together *const t = context;
    const ImgstatPeers *const peers = t->jobs->batch->peers;
    ImgstatResult res = IMGSTAT_OK;
    t->request = request;
    for (size_t i = 0; i < t->jobs->n && res == IMGSTAT_OK; i++) {
        const ImgstatJob *const job = &t->jobs->job[i];
        if (is_own(t->jobs, i) && strcmp(text_of(job->group), text_of(t->only->key.set)) == 0)
            res = read_file(t, t->worker, i, NULL, err);
        report_measured(t->jobs, i + 1);
    }
    return peers ? peers_combine_request(peers, request, 0, res, err) : res;
}

/* Makes the transfer of the images of a group that have so many bits; 0: of all. */
static ImgstatResult make_transfer(Jobs *jobs, TransformWorker *worker, const SharedGroup *group,
                                   unsigned bits, ImgstatError *err)
{
    TransferShape shape = group->shape;
    Transfer *wide = NULL, *made = NULL;
    const TransferChannel channel = transfer_channel_of(&group->key);
    const bool fewer = bits > 0 && bits != group->shape.bits;
    shape.kept_bits = fewer ? (uint8_t)bits : 0;
    const MatchReference *reference;
    IMGSTAT_TRY(reference_get(jobs->pipeline.reference, worker, &jobs->method, &shape, NULL,
                              &reference, err));
    IMGSTAT_TRY(transfer_create(worker->device->cache, &jobs->method, &shape, group->input->sources,
                                reference, &wide, err));
    if (!fewer)
        return transfer_set_add(&jobs->made, wide, &channel, err);
    ImgstatResult res = transfer_fewer_bits(wide, bits, &made, err);
    transfer_destroy(wide);
    if (res == IMGSTAT_OK)
        res = transfer_set_add(&jobs->made, made, &channel, err);
    return res;
}

/* Makes the transfers of a group, the deepest images first. */
static ImgstatResult make_transfers(Jobs *jobs, TransformWorker *worker, const SharedGroup *group,
                                    ImgstatError *err)
{
    if (group->deepest)
        IMGSTAT_TRY(make_transfer(jobs, worker, group, 0, err));
    for (unsigned bits = WIDEN_MOST_BITS; bits > 0; bits--)
        if ((group->depths >> bits & 1) && bits != group->shape.bits)
            IMGSTAT_TRY(make_transfer(jobs, worker, group, bits, err));
    return IMGSTAT_OK;
}

static ImgstatResult none_measured(const GroupKey *key, ImgstatError *err)
{
    char number[40] = "images at no channel";
    if (key->by == IMGSTAT_BY_CHANNEL)
        snprintf(number, sizeof number, "channel %u", key->number);
    return error_set(err, IMGSTAT_ERR_ARG, "none of the files for the transfer of %s was measured",
                     key->name ? key->name : number);
}

/* Images that are only mapped must not get the transfer of another channel, because those that
 * would have made theirs are missing. */
static ImgstatResult check_measured(const Jobs *jobs, ImgstatError *err)
{
    const SharedGroup *const group = jobs->groups.group;
    bool any = false;
    for (size_t g = 0; g < jobs->groups.n; g++) {
        any = any || group[g].input->record;
        for (size_t i = 0; !group[g].input->record && i < jobs->groups.n; i++)
            if (group[g].only_mapped && group[i].input->record &&
                strcmp(text_of(group[g].key.set), text_of(group[i].key.set)) == 0)
                return none_measured(&group[g].key, err);
    }
    return any || !jobs->any_only_mapped
               ? IMGSTAT_OK
               : error_set(err, IMGSTAT_ERR_ARG,
                           "none of the files for the transfer could be measured");
}

static ImgstatResult finish(Jobs *jobs, TransformWorker *worker, ImgstatError *err)
{
    IMGSTAT_TRY(check_measured(jobs, err));
    Together t = {.jobs = jobs, .worker = worker};
    const FurtherReads reader = {.read = read_files,
                                 .context = &t,
                                 .threads = worker->device->threads,
                                 .cache = worker->device->cache,
                                 .sorter = jobs->batch->peers ? NULL : worker->device};
    for (size_t g = 0; g < jobs->groups.n; g++) {
        SharedGroup *const group = &jobs->groups.group[g];
        if (!group->input->record)
            continue; /* none of its files could be measured */
        t.only = group;
        IMGSTAT_TRY(transfer_input_finish(group->input, reader, err));
        IMGSTAT_TRY(make_transfers(jobs, worker, group, err));
        transfer_input_destroy(group->input);
        group->input = NULL;
    }
    jobs->pipeline.transfer = jobs->made;
    return IMGSTAT_OK;
}

static ImgstatResult read_all(Jobs *jobs, TransformWorker *worker, ImgstatError *err)
{
    jobs->failed = calloc(jobs->n, sizeof *jobs->failed);
    jobs->notes = calloc(jobs->n, sizeof *jobs->notes);
    if (!jobs->failed || !jobs->notes)
        return error_memory(err, jobs->n * (sizeof *jobs->failed + sizeof *jobs->notes), "a batch");
    ImgstatResult res = begin(jobs, err);
    jobs->own = worker;
    if (res == IMGSTAT_OK && jobs->groups.n > 0) {
        jobs_for_each(jobs, worker, measure_job);
        report_measured(jobs, jobs->measured); /* another thread may have finished last */
    }
    if (res == IMGSTAT_OK)
        res = jobs_take_unopened(jobs, err);
    if (res == IMGSTAT_OK)
        res = cancel_check(&worker->device->cancel, err);
    if (jobs->batch->peers)
        res = jobs_share_measured(jobs, res, err);
    if (res == IMGSTAT_OK)
        res = finish(jobs, worker, err);
    shared_groups_release(&jobs->groups);
    jobs_return_memory(jobs, worker);
    return res;
}

/* The counts of a device that failed are lost: all files are read again. */
ImgstatResult jobs_share_transfer(Jobs *jobs, TransformWorker *worker, ImgstatError *err)
{
    ImgstatError why = {0};
    ImgstatResult res = read_all(jobs, worker, &why);
    while (res != IMGSTAT_OK && !jobs->batch->peers && jobs_fall_back(jobs, worker, res, &why)) {
        jobs_forget_measured(jobs);
        transfer_destroy(jobs->made);
        jobs->made = NULL;
        jobs->measured = 0;
        res = read_all(jobs, worker, &why);
    }
    if (res != IMGSTAT_OK && err)
        *err = why;
    return res;
}
