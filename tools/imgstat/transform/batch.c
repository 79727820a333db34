/* SPDX-License-Identifier: MIT */
/* batch.c: hands the work to the library, and saves the transfer. */
#include "transform/batch.h"
#include "inputs/plan.h"
#include "options/value.h"
#include "plot/file.h"
#include "text/status.h"
#include "text/text.h"
#include "transform/neighbour.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Saving ---------------------------------------------------------------------------------- */

static bool save(const TransformRun *run, const ImgstatTransfer *transfer)
{
    ImgstatError error;
    const Options *const o = run->options;
    const char *const path = o->transform.save_transfer;
    if (o->transform.skip_existing && input_is_file(path)) /* on_agreed compared them */
        return true;
    if (transfer == NULL) {
        char *const name = text_display(path);
        fprintf(stderr, "%s: %s: not written: %s\n", o->command, name,
                run->written == 0 ? "no image was transformed"
                                  : "there is no single transfer; --together makes one");
        free(name);
        return false;
    }
    if (imgstat_transfer_save(transfer, path, o->transform.write.replace, &error) == IMGSTAT_OK)
        return true;
    fprintf(stderr, "%s\n", error.message);
    return false;
}

void transform_save(const TransformRun *run, const ImgstatTransfer *transfer)
{
    if (!save(run, transfer))
        status_raise(STATUS_FAILED);
}

bool transform_check_saving(const Options *o, size_t inputs, const Outputs *outputs)
{
    const TransformOptions *const t = &o->transform;
    if (t->save_transfer == NULL)
        return true;
    if (inputs > 1 && t->together != IMGSTAT_BY_ALL && t->record == NULL) {
        fprintf(stderr,
                "%s: each of %zu images would have a transfer of its own to save; --together makes "
                "one\n",
                o->command, inputs);
        status_raise(STATUS_USAGE);
        return false;
    }
    const bool later = t->skip_existing && (t->together == IMGSTAT_BY_ALL || outputs->n == 0 ||
                                            transform_is_skipped(t, &outputs->jobs[0]));
    return t->write.replace || later || !input_is_file(t->save_transfer) ||
           plot_file_check(t->save_transfer, false);
}

/* ---- The batch ------------------------------------------------------------------------------- */

static bool on_poll(void *context)
{
    (void)context;
    return status_interrupted() != 0;
}

/* The jobs that are left to do decide about the device. */
static PlanDevice plan(const Options *o, const Outputs *outputs, const ImgstatTransfer *given)
{
    const TransformOptions *const t = &o->transform;
    const ImgstatWork work = {.method = given != NULL ? NULL : &t->method,
                              .transfer = given,
                              .together = t->together,
                              .write = &t->write};
    ImgstatJob *const left = text_alloc(outputs->n * sizeof *left);
    size_t n = 0;
    for (size_t i = 0; i < outputs->n; i++)
        if (!transform_is_skipped(t, &outputs->jobs[i]))
            left[n++] = outputs->jobs[i];
    const PlanDevice device = plan_device(o, left, n, &work);
    free(left);
    return device;
}

static void on_fallen_back(void *context, const char *why)
{
    TransformRun *const run = context;
    progress_clear(&run->progress);
    plan_report_fall_back(run->options, why);
}

/* Before the first output is written: files that exist keep their place among the new ones only if
 * they have the same transfer. */
static bool on_agreed(void *context, const ImgstatTransfer *transfer)
{
    TransformRun *const run = context;
    progress_clear(&run->progress);
    const bool agrees = neighbour_agrees(run->options, run->outputs, transfer);
    if (!agrees)
        status_raise(STATUS_FAILED);
    run->refused = !agrees;
    return agrees;
}

static void on_reference_warning(void *context, const char *sentence)
{
    const TransformRun *const run = context;
    if (text_names_file(sentence, run->reference))
        transform_on_warning(context, sentence);
}

/* The jobs, without outputs. */
static ImgstatJob *measured_only(const Outputs *outputs)
{
    ImgstatJob *const jobs = text_alloc((outputs->n + 1) * sizeof *jobs);
    for (size_t i = 0; i < outputs->n; i++) {
        jobs[i] = outputs->jobs[i];
        jobs[i].output = NULL;
    }
    return jobs;
}

ImgstatResult transform_batch_run(TransformRun *run, const TransformWork *work)
{
    const Options *const o = run->options;
    const TransformOptions *const t = &o->transform;
    ImgstatError error;
    char *path = NULL, *page = NULL; /* the parts of a reference "file[page]" */
    const bool match = work->given == NULL && t->method.transform == IMGSTAT_MATCH;
    const bool paged = match && input_names_pages(t->reference, &path, &page);
    const bool all = work->together == IMGSTAT_BY_ALL;
    imgstat_heap_keep(t->memory); /* planning may open a GPU, whose driver starts threads */
    const PlanDevice device = plan(o, run->outputs, work->given);
    ImgstatOpen open = options_open(o);
    run->reference = paged ? path : match ? t->reference : NULL;
    open.warn = !work->mapped_later ? transform_on_warning : match ? on_reference_warning : NULL;
    open.warn_context = run;
    const ImgstatBatch batch = {.method = t->method,
                                .transfer = work->given,
                                .reference = run->reference,
                                .reference_page = page,
                                .together = work->together,
                                .skip_existing = t->skip_existing && !work->measures,
                                .drop_levels = t->levels == LEVELS_DROP,
                                .describe = o->style == OUTPUT_JSON || o->verbose,
                                .write = t->write,
                                .open = open,
                                .device = device.name,
                                .fallen_back = device.chosen ? on_fallen_back : NULL,
                                .threads = o->jobs,
                                .memory = t->memory,
                                .progress = work->progress,
                                .measuring = transform_on_measuring,
                                .agreed =
                                    all && t->skip_existing && !work->measures ? on_agreed : NULL,
                                .cancelled = on_poll,
                                .context = run,
                                .made = work->made,
                                .peers = work->peers};
    ImgstatJob *const jobs = work->measures ? measured_only(run->outputs) : NULL;
    run->progress = progress_begin(all ? "measured " : "", run->outputs->n, o->quiet);
    status_catch_gently();
    const ImgstatResult result = imgstat_batch_run(&batch, jobs != NULL ? jobs : run->outputs->jobs,
                                                   run->outputs->n, &error);
    progress_clear(&run->progress);
    if (result != IMGSTAT_OK && result != IMGSTAT_ERR_CANCELLED && !work->silent) {
        fprintf(stderr, "%s: %s\n", o->command, error.message);
        const bool of_file = match && text_names_file(error.message, batch.reference);
        run->refused = result == IMGSTAT_ERR_ARG && !of_file; /* before any image was begun */
        status_raise(run->refused ? STATUS_USAGE : STATUS_FAILED);
    }
    run->reference = NULL;
    sentences_clear(&run->of_reference);
    free(jobs);
    free(path);
    free(page);
    if (status_interrupted() != 0)
        status_raise(128 + status_interrupted());
    return result;
}
