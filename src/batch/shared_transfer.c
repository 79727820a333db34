/* SPDX-License-Identifier: MIT */
/* shared_transfer.c: one transfer from all pages of many files. Records merge exactly and in any
 * order, so the result depends neither on the order of the files nor on the number of threads. */
#include "batch/scheduler.h"

#include "batch/job.h"
#include "record/widen.h"
#include "transfer/eight_bits.h"
#include "transform/undefined.h"

#include <stdlib.h>

void jobs_forget_failed(Jobs *jobs)
{
    for (size_t i = 0; jobs->failed && i < jobs->n; i++)
        free(jobs->failed[i]);
    free(jobs->failed);
    jobs->failed = NULL;
}

typedef struct Together {
    Jobs *jobs;
    TransferInput *input;
    TransformWorker *worker;    /* of the calling thread, for further reads */
    const ReadRequest *request; /* the further read at hand; NULL: the first */
} Together;

static void note_failure(Jobs *jobs, size_t index, const ImgstatError *error)
{
    jobs->failed[index] = malloc(sizeof *error);
    if (jobs->failed[index])
        *jobs->failed[index] = *error;
    else
        atomic_store(&jobs->stop, true); /* no memory for the sentence: the batch ends */
}

/* The shape of images of all 8 or 16 bits that are measured together with the others. */
static TransferShape on_common_scale(const TransferShape *shape)
{
    TransferShape scaled = *shape;
    if (shape->sample == IMGSTAT_U8 && shape->bits == 8 && !shape->has_nodata) {
        scaled.sample = IMGSTAT_U16;
        scaled.bits = 16;
    }
    return scaled;
}

/* Reads one page for the request, or adds its record to *record. */
static ImgstatResult read_page(const Together *t, TransformWorker *worker, Decoder *decoder,
                               Record **record, ImgstatError *err)
{
    const TransferShape shape = shape_of_page(decoder);
    const TransferShape scaled = t->jobs->mixed ? on_common_scale(&shape) : shape;
    IMGSTAT_TRY(transfer_input_check(t->input, &scaled, decoder->source->name, err));
    PageReader reader;
    IMGSTAT_TRY(page_reader_open(worker->device, decoder, false, &worker->in, &worker->cancel,
                                 &reader, err));
    if (t->request)
        return transfer_input_read(t->input, &reader, &shape, t->request, err);
    Record *page = NULL;
    IMGSTAT_TRY(transfer_input_measure(t->input, &reader, &shape, &page, err));
    if (shape.sample != scaled.sample) {
        const ImgstatResult res = record_widen(worker->device->cache, &page, err);
        if (res != IMGSTAT_OK) {
            record_destroy(page);
            return res;
        }
    }
    if (*record) {
        record_merge(*record, page);
        record_destroy(page);
    } else {
        *record = page;
    }
    return IMGSTAT_OK;
}

static ImgstatResult read_file(const Together *t, TransformWorker *worker, size_t index,
                               Record **record, ImgstatError *err)
{
    const ImgstatJob *const job = &t->jobs->job[index];
    ImgstatFile *file = NULL;
    IMGSTAT_TRY(jobs_open(t->jobs, index, NULL, NULL, &file, err));
    ImgstatResult res = jobs_reserve_memory(t->jobs, worker, index, file, err);
    for (uint32_t i = 0; res == IMGSTAT_OK && i < file->n_chosen; i++) {
        const ChosenPage *const chosen = &file->chosen[i];
        res = imgstat_file_page(file, chosen->page, NULL, err);
        if (res == IMGSTAT_OK && chosen->leads && file->decoder->page.role != IMGSTAT_ROLE_MASK)
            res = read_page(t, worker, file->decoder, record, err);
    }
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

static void measure_job(Jobs *jobs, TransformWorker *worker, size_t index)
{
    const Together t = {.jobs = jobs, .input = jobs->input};
    Record *record = NULL;
    ImgstatError error;
    ImgstatResult res = IMGSTAT_OK;
    if (!jobs->failed[index])
        res = read_file(&t, worker, index, &record, &error);
    if (res != IMGSTAT_OK && jobs_fall_back(jobs, worker, res, &error)) {
        record_destroy(record);
        record = NULL;
        res = read_file(&t, worker, index, &record, &error);
    }
    pthread_mutex_lock(&jobs->lock);
    const size_t measured = ++jobs->measured;
    if (res == IMGSTAT_OK && record)
        transfer_input_merge(jobs->input, &record);
    else if (res != IMGSTAT_OK)
        note_failure(jobs, index, &error);
    pthread_mutex_unlock(&jobs->lock);
    record_destroy(record); /* no page of a failed file counts */
    if (worker == jobs->own)
        report_measured(jobs, measured);
}

/* Checks the images of a file by their headers. *first: the shape of the first image of all, with
 * channels 0 until there is one. Only a mismatch is an error. */
static ImgstatResult check_file(Jobs *jobs, ImgstatFile *file, TransferShape *first,
                                ImgstatError *err)
{
    for (uint32_t i = 0; i < file->n_chosen; i++) {
        const ChosenPage *const chosen = &file->chosen[i];
        if (!chosen->leads || imgstat_file_page(file, chosen->page, NULL, NULL) != IMGSTAT_OK ||
            page_is_mask(&file->decoder->page))
            continue;
        TransferShape shape = shape_of_page(file->decoder);
        IMGSTAT_TRY(undefined_choose(&jobs->pipeline, file->decoder, &shape, err));
        TransferShape scaled = shape;
        if (first->channels == 0)
            *first = shape;
        const TransferShape one = on_common_scale(&shape), other = on_common_scale(first);
        if (shape.sample != first->sample && one.sample == other.sample && one.bits == other.bits)
            jobs->mixed = true;
        if (jobs->mixed) {
            *first = other;
            scaled = one;
        }
        if (!jobs->input || jobs->input->shape.sample != first->sample) {
            transfer_input_destroy(jobs->input);
            IMGSTAT_TRY(transfer_input_create(
                &jobs->method, first, sort_bytes(jobs->pipeline.memory), &jobs->input, err));
        }
        IMGSTAT_TRY(transfer_input_check(jobs->input, &scaled, file->decoder->source->name, err));
    }
    return IMGSTAT_OK;
}

/* The input takes its shape from the first image that opens. All headers are read: what cannot be
 * measured together is refused before anything is written. A pipe is read once it is its turn,
 * unless there is no other input. */
static ImgstatResult begin(Jobs *jobs, ImgstatError *err)
{
    TransferShape first = {.channels = 0};
    jobs->mixed = false;
    for (int pipes = 0; pipes < 2 && first.channels == 0; pipes++)
        for (size_t i = 0; i < jobs->n && (pipes == 0 || first.channels == 0); i++) {
            ImgstatFile *file = NULL;
            ImgstatError error;
            if (jobs->failed[i] || job_is_readable_again(&jobs->job[i]) == (pipes == 1))
                continue;
            if (jobs_open(jobs, i, NULL, NULL, &file, &error) != IMGSTAT_OK) {
                note_failure(jobs, i, &error);
                continue;
            }
            const ImgstatResult res = check_file(jobs, file, &first, err);
            imgstat_file_close(file);
            IMGSTAT_TRY(res);
            IMGSTAT_TRY(cancel_check(&jobs->cancel, err));
        }
    return IMGSTAT_OK;
}

/* ---- Further reads --------------------------------------------------------------------------- */

static ImgstatResult read_files(void *context, const ReadRequest *request, ImgstatError *err)
{
    Together *const t = context;
    t->request = request;
    for (size_t i = 0; i < t->jobs->n; i++) {
        if (!t->jobs->failed[i])
            IMGSTAT_TRY(read_file(t, t->worker, i, NULL, err));
        report_measured(t->jobs, i + 1);
    }
    return IMGSTAT_OK;
}

/* Makes the transfer of the 8-bit images from the record of all. */
static ImgstatResult make_narrow(Jobs *jobs, const MatchReference *reference, ImgstatError *err)
{
    ImgstatMethod method = jobs->method;
    Transfer *wide = NULL;
    if (method.depth == IMGSTAT_DEPTH_KEEP)
        method.depth = IMGSTAT_DEPTH_8;
    ImgstatResult res = transfer_create(NULL, &method, &jobs->input->shape, jobs->input->sources,
                                        reference, &wide, err);
    if (res == IMGSTAT_OK)
        res = transfer_eight_bits(NULL, wide, &jobs->narrow, err);
    transfer_destroy(wide);
    jobs->pipeline.narrow = jobs->narrow;
    return res;
}

static ImgstatResult finish(Jobs *jobs, TransformWorker *worker, ImgstatError *err)
{
    Together t = {.jobs = jobs, .input = jobs->input, .worker = worker};
    const FurtherReads reader = {.read = read_files,
                                 .context = &t,
                                 .threads = worker->device->threads,
                                 .cache = worker->device->cache,
                                 .sorter = worker->device};
    const TransferShape *const shape = &jobs->input->shape;
    const MatchReference *reference = NULL;
    if (!jobs->input->record)
        return IMGSTAT_OK; /* no file could be measured */
    IMGSTAT_TRY(transfer_input_finish(jobs->input, reader, err));
    if (jobs->method.transform == IMGSTAT_MATCH)
        IMGSTAT_TRY(
            reference_get(jobs->pipeline.reference, worker, &jobs->method, shape, &reference, err));
    IMGSTAT_TRY(transfer_create(NULL, &jobs->method, shape, jobs->input->sources, reference,
                                &jobs->made, err));
    jobs->pipeline.transfer = jobs->made;
    if (jobs->mixed)
        IMGSTAT_TRY(make_narrow(jobs, reference, err));
    return IMGSTAT_OK;
}

static ImgstatResult read_all(Jobs *jobs, TransformWorker *worker, ImgstatError *err)
{
    jobs->failed = calloc(jobs->n, sizeof(ImgstatError *));
    if (!jobs->failed)
        return error_memory(err, jobs->n * sizeof(ImgstatError *), "a batch");
    ImgstatResult res = begin(jobs, err);
    jobs->own = worker;
    if (res == IMGSTAT_OK && jobs->input) {
        jobs_for_each(jobs, worker, measure_job);
        report_measured(jobs, jobs->measured); /* another thread may have finished last */
    }
    if (res == IMGSTAT_OK)
        res = cancel_check(&worker->cancel, err);
    if (res == IMGSTAT_OK && jobs->input)
        res = finish(jobs, worker, err);
    transfer_input_destroy(jobs->input);
    jobs->input = NULL;
    jobs_return_memory(jobs, worker);
    return res;
}

/* The counts of a device that failed are lost: all files are read again. */
ImgstatResult jobs_share_transfer(Jobs *jobs, TransformWorker *worker, ImgstatError *err)
{
    ImgstatError why = {0};
    const ImgstatResult res = read_all(jobs, worker, &why);
    if (res == IMGSTAT_OK)
        return res;
    if (!jobs_fall_back(jobs, worker, res, &why)) {
        if (err)
            *err = why;
        return res;
    }
    jobs_forget_failed(jobs);
    jobs->measured = 0;
    return read_all(jobs, worker, err);
}
