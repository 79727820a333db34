/* SPDX-License-Identifier: MIT */
/* batch.c: a batch of files: checked, given threads and memory, run. */
#include "batch/job.h"
#include "batch/job_outputs.h"
#include "batch/peers.h"
#include "batch/scheduler.h"
#include "codec/page_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FILES_A_WORKER = 6, /* descriptors: input, output, a second decoder; a reserve */
    DEFAULT_MEMORY = 1 << 30
};

static ImgstatResult check(const ImgstatBatch *batch, const ImgstatJob *job, size_t n,
                           ImgstatError *err)
{
    for (size_t i = 0; i < n; i++)
        if (!job_is_complete(&job[i], batch->together != IMGSTAT_BY_ALL))
            return error_set(err, IMGSTAT_ERR_ARG, "job %zu has no input or no output", i);
    IMGSTAT_TRY(job_check_outputs(job, n, err));
    IMGSTAT_TRY(job_check_inputs_kept(batch, job, n, err));
    IMGSTAT_TRY(job_check_memory(batch->memory, err));
    const bool matches = !batch->transfer && batch->method.transform == IMGSTAT_MATCH;
    IMGSTAT_TRY(transfer_check_reference(matches, batch->reference != NULL, err));
    if ((unsigned)batch->together > IMGSTAT_BY_ALL)
        return error_set(err, IMGSTAT_ERR_ARG, "%d is no way to group images",
                         (int)batch->together);
    const ImgstatPeers *const peers = batch->peers;
    if (peers && (!peers_are_complete(peers) || batch->together != IMGSTAT_BY_ALL))
        return error_set(err, IMGSTAT_ERR_ARG, "processes share what all files together need");
    for (size_t i = 0; peers && i < n; i++)
        if (job[i].output)
            return error_set(err, IMGSTAT_ERR_ARG,
                             "processes measure together: job %zu has an "
                             "output",
                             i);
    if (batch->together < IMGSTAT_BY_CHANNEL)
        return IMGSTAT_OK;
    if (batch->transfer || batch->method.transform == IMGSTAT_CLAHE)
        return error_set(
            err, IMGSTAT_ERR_ARG,
            "together, images get one transfer that is made from all of them; adaptive "
            "equalization has none, and a given one is made");
    for (size_t i = 0; batch->together == IMGSTAT_BY_ALL && i < n; i++)
        if (job_reads_standard_input(&job[i]))
            return error_set(err, IMGSTAT_ERR_ARG,
                             "standard input cannot be read twice, as together needs");
    return IMGSTAT_OK;
}

/* ---- Values in units of the samples need inputs of one depth ---- */

typedef struct FullScale {
    double lo, hi;
} FullScale;

/* The first image, which the others are compared with. */
typedef struct FirstImage {
    const char *name;           /* of its file; NULL: there was none yet */
    char page[PAGE_NAME_BYTES]; /* its name */
    FullScale input, output;
} FirstImage;

static FullScale full_scale(ImgstatSample sample, uint8_t bits)
{
    uint64_t lo, hi;
    sample_full_scale(sample, bits, &lo, &hi);
    return (FullScale){.lo = map_value(sample, lo), .hi = map_value(sample, hi)};
}

static ImgstatResult compare(const char *what, FullScale one, FullScale first,
                             const FirstImage *image, const char *name, ImgstatError *err)
{
    char page[5 + PAGE_NAME_BYTES];
    if (one.lo == first.lo && one.hi == first.hi)
        return IMGSTAT_OK;
    snprintf(page, sizeof page, "page %s", image->page);
    return error_file(err, IMGSTAT_ERR_ARG, name,
                      "%s samples reach from %.10g to %.10g, those of %s from %.10g to %.10g: "
                      "values in per cent of full scale, such as 50%%, fit both; plain numbers do "
                      "not",
                      what, one.lo, one.hi, strcmp(name, image->name) == 0 ? page : image->name,
                      first.lo, first.hi);
}

static ImgstatResult check_page(const ImgstatMethod *method, const Decoder *decoder,
                                const char *name, FirstImage *first, ImgstatError *err)
{
    const PlainValues plain = transfer_plain_values(method);
    const TransferShape shape = shape_of_page(decoder);
    uint8_t bits;
    const ImgstatSample to = transfer_output(method, &shape, &bits);
    FirstImage here = {.name = name,
                       .input = full_scale(shape.sample, shape.bits),
                       .output = full_scale(to, bits)};
    (void)decoder_page_name(decoder, decoder->page.page, here.page);
    if (!first->name)
        *first = here;
    if (plain.input)
        IMGSTAT_TRY(compare("its", here.input, first->input, first, name, err));
    if (plain.output)
        IMGSTAT_TRY(compare("its output", here.output, first->output, first, name, err));
    return IMGSTAT_OK;
}

/* A file that cannot be read fails later, by itself. */
static ImgstatResult check_file(const Jobs *jobs, const ImgstatJob *job, FirstImage *first,
                                ImgstatError *err)
{
    ImgstatOpen how = jobs->open;
    how.warn = NULL;
    ImgstatFile *file = NULL;
    ImgstatResult res = job_open(job, &how, &jobs->cancel, &file, NULL);
    if (res == IMGSTAT_OK)
        res = file_choose(file, job->pages, 0, NULL);
    ImgstatResult found = IMGSTAT_OK;
    for (uint32_t i = 0; res == IMGSTAT_OK && found == IMGSTAT_OK && i < file->n_chosen; i++) {
        const ChosenPage *const chosen = &file->chosen[i];
        if (!chosen->leads)
            continue;
        res = imgstat_file_page(file, chosen->page, NULL, NULL);
        if (res == IMGSTAT_OK && !page_is_mask(&file->decoder->page))
            found = check_page(&jobs->method, file->decoder, job->input, first, err);
    }
    imgstat_file_close(file);
    return found;
}

/* Fails if the method has values that are not per cent, and the full scales that these refer to
 * differ among the images of the jobs. Reads headers only. */
static ImgstatResult check_scale(const Jobs *jobs, ImgstatError *err)
{
    const PlainValues plain = transfer_plain_values(&jobs->method);
    FirstImage first = {0};
    if (jobs->batch->transfer || (!plain.input && !plain.output))
        return IMGSTAT_OK;
    for (size_t i = 0; i < jobs->n; i++)
        if (job_is_readable_again(&jobs->job[i]))
            IMGSTAT_TRY(check_file(jobs, &jobs->job[i], &first, err));
    return IMGSTAT_OK;
}

/* ---- The batch ---- */

static void plan_memory(Jobs *jobs)
{
    const ImgstatBatch *const batch = jobs->batch;
    const uint64_t memory = batch->memory ? batch->memory : DEFAULT_MEMORY;
    jobs->open = batch->open;
    if (batch->memory)
        limits_lower_tile(&jobs->open.limits, memory);
    jobs->pipeline = (Pipeline){.method = &jobs->method,
                                .transfer = batch->transfer,
                                .saved = batch->transfer != NULL,
                                .by = batch->together,
                                .write = &batch->write,
                                .memory = memory};
    memory_budget_init(&jobs->budget, memory);
}

/* Any thread may read the reference. */
static void note_reference(void *context, const char *sentence)
{
    Jobs *const jobs = context;
    pthread_mutex_lock(&jobs->lock);
    job_notes_warn(&jobs->of_reference, sentence);
    pthread_mutex_unlock(&jobs->lock);
}

static ImgstatResult open_reference(Jobs *jobs, Reference **out, ImgstatError *err)
{
    const ImgstatBatch *const batch = jobs->batch;
    ImgstatOpen open = jobs->open;
    open.warn = note_reference;
    open.warn_context = jobs;
    return reference_create(batch->reference, batch->reference_page, &open,
                            sort_bytes(jobs->pipeline.memory), out, err);
}

/* Makes the transfer of all files. */
static ImgstatResult share(Jobs *jobs, TransformWorker *worker, Transfer **out, ImgstatError *err)
{
    const ImgstatBatch *const batch = jobs->batch;
    const ImgstatResult res = jobs_share_transfer(jobs, worker, err);
    *out = jobs->made;
    jobs->made = NULL;
    device_list_report(&jobs->devices);
    if (res == IMGSTAT_OK && *out && batch->agreed && !batch->agreed(batch->context, *out))
        return error_set(err, IMGSTAT_ERR_CANCELLED, "the transfer is refused");
    return res;
}

ImgstatResult imgstat_batch_run(const ImgstatBatch *batch, const ImgstatJob *job, size_t n,
                                ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(batch && (job || n == 0), __func__, err));
    if (batch->made)
        *batch->made = NULL;
    IMGSTAT_TRY(check(batch, job, n, err));
    if (n == 0)
        return IMGSTAT_OK;
    Jobs jobs = {.batch = batch,
                 .job = job,
                 .n = n,
                 .share = thread_share(n, batch->threads, FILES_A_WORKER),
                 .method = batch->method};
    for (size_t i = 0; i < n; i++) {
        jobs.grouped = jobs.grouped || job[i].group;
        jobs.any_only_mapped = jobs.any_only_mapped || job[i].only_mapped;
    }
    jobs.at_once = jobs.share.workers;
    synced_outputs_init(&jobs.outputs, (size_t)FILES_A_WORKER * jobs.share.workers);
    jobs.cancel = (Cancel){.check = jobs_cancelled, .context = &jobs};
    plan_memory(&jobs);
    pthread_mutex_init(&jobs.lock, NULL);
    TransformWorker worker = {0};
    Reference *reference = NULL;
    Transfer *shared = NULL;
    ImgstatResult res =
        device_list_init(&jobs.devices, batch->device, batch->fallen_back, batch->context, err);
    if (res == IMGSTAT_OK)
        res = check_scale(&jobs, err);
    if (res == IMGSTAT_OK)
        res = jobs_begin_feeding(&jobs, err);
    if (res == IMGSTAT_OK)
        res = jobs.feeding ? jobs_open_fed(&jobs, &worker, true, err)
                           : jobs_open_worker(&jobs, &worker, err);
    device_list_report(&jobs.devices);
    if (res == IMGSTAT_OK && batch->reference)
        res = open_reference(&jobs, &reference, err);
    jobs.pipeline.reference = reference;
    if (batch->peers)
        res = peers_agree(batch->peers, res, err);
    if (res == IMGSTAT_OK && batch->together == IMGSTAT_BY_ALL)
        res = share(&jobs, &worker, &shared, err);
    if (res == IMGSTAT_OK)
        res = jobs_run(&jobs, &worker, err);
    jobs_report_reference(&jobs);
    device_list_report(&jobs.devices); /* of a worker that began behind the last report */
    if (batch->made && (res == IMGSTAT_OK || res == IMGSTAT_ERR_CANCELLED)) {
        *batch->made = shared ? shared : jobs.made;
        jobs.made = shared = NULL;
    }
    transfer_destroy(shared);
    transfer_destroy(jobs.made);
    reference_destroy(reference);
    worker_close(&worker);
    feeding_destroy(jobs.feeding);
    jobs_forget_measured(&jobs);
    pthread_mutex_destroy(&jobs.lock);
    device_list_release(&jobs.devices);
    memory_budget_release(&jobs.budget);
    return res;
}
