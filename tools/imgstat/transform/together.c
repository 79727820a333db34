/* SPDX-License-Identifier: MIT */
/* together.c: measures all inputs for the transfers that shards are mapped with. */
#include "transform/together.h"
#include "inputs/failed_input.h"
#include "measure/shard_team.h"
#include "text/status.h"
#include "text/text.h"
#include "transform/batch.h"
#include "transform/neighbour.h"
#include "transform/transfer_groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An input that could not be measured. */
typedef struct Failed {
    char *path, *pages; /* as the job has them; owned */
    FailedInput error;
    ImgstatInput input;
} Failed;

struct Together {
    const Options *options;
    Options mapping; /* a copy, which owns nothing */
    ImgstatTransfer *transfer;
    Failed *failed; /* n_failed of them; sorted when all are measured */
    size_t n_failed, capacity;
};

Together *together_create(const Options *o)
{
    const TransformOptions *const t = &o->transform;
    if (t->together != IMGSTAT_BY_ALL || t->dry_run || o->shards == 0)
        return NULL;
    Together *const together = text_alloc(sizeof *together);
    *together = (Together){.options = o, .mapping = *o};
    together->mapping.transform.together = IMGSTAT_BY_DEFAULT;
    together->mapping.transform.save_transfer = NULL;
    together->mapping.transform.only = NULL;
    return together;
}

void together_destroy(Together *together)
{
    if (together == NULL)
        return;
    for (size_t i = 0; i < together->n_failed; i++) {
        free(together->failed[i].path);
        free(together->failed[i].pages);
        free(together->failed[i].error.cause);
    }
    free(together->failed);
    imgstat_transfer_destroy(together->transfer);
    free(together);
}

const Options *together_options(const Together *together)
{
    return &together->mapping;
}

const ImgstatTransfer *together_transfer(const Together *together)
{
    return together->transfer;
}

/* ---- Inputs that failed ---------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const Failed *const x = a, *const y = b;
    const int order = strcmp(x->path, y->path);
    return order != 0 ? order : strcmp(x->pages, y->pages);
}

static void add_failed(Together *together, const ImgstatJob *job, const ImgstatDone *done)
{
    together->failed = text_room(together->failed, together->n_failed, &together->capacity,
                                 sizeof *together->failed);
    char *const name = text_display(job->input);
    together->failed[together->n_failed++] = (Failed){
        .path = text_copy(job->input),
        .pages = text_copy(job->pages != NULL ? job->pages : ""),
        .error = {.code = done->result, .cause = text_copy(text_cause(done->message, name))}};
    free(name);
}

void together_mark_failed(Together *together, Outputs *outputs)
{
    for (size_t i = 0; together->n_failed > 0 && i < outputs->n; i++) {
        ImgstatJob *const job = &outputs->jobs[i];
        const Failed wanted = {.path = (char *)job->input,
                               .pages = (char *)(job->pages != NULL ? job->pages : "")};
        Failed *const failed =
            bsearch(&wanted, together->failed, together->n_failed, sizeof *failed, compare);
        if (failed == NULL)
            continue;
        failed->input = failed_input_source(&failed->error);
        job->source = &failed->input;
    }
}

/* ---- Measuring ------------------------------------------------------------------------------- */

/* A run whose jobs are only measured. */
typedef struct Measuring {
    TransformRun run; /* first: callbacks receive it */
    Together *together;
} Measuring;

static bool on_measured(void *context, const ImgstatDone *done)
{
    Measuring *const measuring = context;
    if (done->result != IMGSTAT_OK) {
        add_failed(measuring->together, &measuring->run.outputs->jobs[done->job], done);
        measuring->run.failed++;
    }
    if (done->lost_rows > 0)
        status_raise(STATUS_FAILED);
    return true;
}

static bool on_nothing(void *context, const ImgstatDone *done)
{
    (void)context;
    (void)done;
    return true;
}

static bool agree(bool word)
{
    return shard_team == NULL ? word : shard_team_agree(word);
}

/* What the leader checks holds for all members. */
static bool plan(const Options *o, const InputList *inputs, bool leads, Outputs *outputs)
{
    bool good = true;
    *outputs = (Outputs){.n = 0};
    if (leads) {
        good = outputs_plan(o, inputs, outputs) && transfer_groups_set(o, outputs, true);
        if (!good)
            status_raise(STATUS_USAGE);
        good = good && transform_check_saving(o, inputs->n, outputs);
    }
    good = agree(good);
    if (good && !leads &&
        !(outputs_plan(o, inputs, outputs) && transfer_groups_set(o, outputs, false)))
        shard_team->fail(shard_team->context, STATUS_USAGE);
    return good;
}

/* The transfer is made, or not: the leader compares it with what is there, and saves it. */
static bool finish(Measuring *measuring, ImgstatResult result, bool leads, size_t inputs)
{
    TransformRun *const run = &measuring->run;
    const TransformOptions *const t = &run->options->transform;
    const ImgstatTransfer *const made = measuring->together->transfer;
    bool good = result == IMGSTAT_OK;
    if (leads && good && made != NULL && t->skip_existing && t->output != NULL)
        good = neighbour_agrees(run->options, run->outputs, made);
    if (leads && result == IMGSTAT_OK && !good)
        status_raise(STATUS_FAILED);
    if (leads && good && t->save_transfer != NULL && run->failed < inputs)
        transform_save(run, made);
    return agree(good);
}

bool together_measure(void *context)
{
    Together *const together = context;
    const bool leads = shard_team == NULL || shard_team->leads;
    const bool maps = together->options->transform.output != NULL;
    Options own = *together->options;
    own.quiet = own.quiet || !leads;
    Outputs outputs;
    InputList inputs;
    InputStream *const stream = inputs_open(&own, (InputPart){0}, false);
    inputs_collect(stream, &inputs);
    status_outlive_readers();
    bool good = plan(&own, &inputs, leads, &outputs);
    if (good) {
        Measuring measuring = {.run = {.options = &own, .outputs = &outputs}, .together = together};
        TransformRun *const run = &measuring.run;
        const TransformWork work = {.together = IMGSTAT_BY_ALL,
                                    .measures = true,
                                    .mapped_later = maps,
                                    .peers = shard_team != NULL ? shard_team->peers : NULL,
                                    .silent = !leads,
                                    .progress = maps    ? on_measured
                                                : leads ? transform_on_done
                                                        : on_nothing,
                                    .made = &together->transfer};
        if (leads && !maps)
            run->failed = transform_report_problems(&own, &inputs);
        else
            run->failed = inputs.n - outputs.n; /* shards report them */
        const ImgstatResult result = transform_batch_run(run, &work);
        good = finish(&measuring, result, leads, inputs.n);
        if (leads && !run->refused && (!maps || result != IMGSTAT_OK))
            transform_report_end(run, inputs.n);
        sentences_clear(&run->warnings);
        if (together->n_failed > 0)
            qsort(together->failed, together->n_failed, sizeof *together->failed, compare);
    }
    outputs_release(&outputs);
    inputs_release(&inputs);
    inputs_close(stream);
    return good && maps && status_interrupted() == 0;
}
