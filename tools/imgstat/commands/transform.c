/* SPDX-License-Identifier: MIT */
/* transform.c: normalize, equalize and apply: from inputs to a batch of the library. */
#include "commands/commands.h"
#include "measure/record_files.h"
#include "measure/shard_team.h"
#include "measure/shard_text.h"
#include "options/value.h"
#include "plot/file.h"
#include "print/json.h"
#include "text/status.h"
#include "text/text.h"
#include "transform/batch.h"
#include "transform/outputs.h"
#include "transform/page.h"
#include "transform/together.h"
#include "transform/transfer_groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Opens a file, and checks by its headers whether a given transfer, if there is one, fits all
 * pages. *misfit: it does not, and error->message is the cause without the name of the file. */
static ImgstatResult foresee(const Options *o, const ImgstatTransfer *given, const ImgstatJob *job,
                             bool *misfit, ImgstatError *error)
{
    *misfit = false;
    const bool there = strcmp(job->input, "-") == 0 || access(job->input, F_OK) == 0;
    if (there && !input_is_readable_again(job)) /* a pipe */
        return IMGSTAT_OK;
    ImgstatFile *file = NULL;
    const ImgstatOpen open = options_open(o);
    ImgstatResult result = input_open(job, &open, &file, error);
    const uint32_t all = file != NULL ? imgstat_file_pages(file) : 0;
    uint32_t *const pages = text_alloc((all + (size_t)1) * sizeof *pages), n = 0;
    if (result == IMGSTAT_OK)
        result = imgstat_file_find(file, job->pages, pages, all, &n, error);
    for (uint32_t i = 0; given != NULL && result == IMGSTAT_OK && i < n; i++) {
        ImgstatPage page;
        result = imgstat_file_page(file, pages[i], &page, error);
        if (result == IMGSTAT_OK) {
            result = imgstat_transfer_fits(given, &page, job->group, error);
            *misfit = result != IMGSTAT_OK;
        }
    }
    free(pages);
    imgstat_file_close(file);
    return result;
}

/* Several inputs that a given transfer does not fit are one mistake, and one sentence. */
static bool check_fits(const Options *o, const Outputs *outputs, const ImgstatTransfer *given)
{
    ImgstatError first = {0}, error;
    for (size_t i = 0; i < outputs->n; i++) {
        bool misfit;
        (void)(foresee(o, given, &outputs->jobs[i], &misfit, &error) == IMGSTAT_OK);
        if (!misfit)
            return true;
        if (i == 0)
            first = error;
    }
    return outputs->n < 2 || usage_error(o->command, "the transfer fits none of %zu inputs; %s: %s",
                                         outputs->n, outputs->jobs[0].input, first.message);
}

/* Prints each job. Without writing, this shows which outputs exist, which inputs cannot be opened
 * and whether a given transfer fits the headers; not whether the pixels of an input can be read. */
static void list(const TransformRun *run, const ImgstatTransfer *given)
{
    const Options *const o = run->options;
    for (size_t i = 0; i < run->outputs->n; i++) {
        const ImgstatJob *const job = &run->outputs->jobs[i];
        const bool exists = !o->transform.write.replace && input_is_file(job->output);
        ImgstatError error;
        bool misfit = false;
        if (!exists && foresee(o, given, job, &misfit, &error) != IMGSTAT_OK)
            transform_report_failure(run, job->input, misfit, &error);
        else
            transform_report_plan(run, job, exists);
    }
}

/* The group of all records; NULL: they have several. */
static const char *only_group(ImgstatDataset *dataset)
{
    const char *const first = imgstat_record_group(imgstat_dataset_record(dataset, 0));
    const ImgstatRecord *record;
    for (size_t i = 1; (record = imgstat_dataset_record(dataset, i)) != NULL; i++)
        if (strcmp(imgstat_record_group(record), first) != 0)
            return NULL;
    return first;
}

/* Gives all inputs the group of the records, unless their names give each its own. */
static bool set_group(const Options *o, ImgstatDataset *dataset, Outputs *outputs)
{
    if (o->group.text != NULL)
        return true;
    const char *const group = only_group(dataset);
    if (group == NULL)
        return usage_error(o->command,
                           "--from: %s holds records of several groups: --together group=REGEX "
                           "finds the group of each input",
                           o->transform.record);
    outputs->groups = text_alloc((outputs->n + 1) * sizeof *outputs->groups);
    for (size_t i = 0; i < outputs->n; i++)
        outputs->jobs[i].group = outputs->groups[i] = text_copy(group);
    return true;
}

/* One record is for all inputs that it fits. NULL after a sentence; *status is to be raised. */
static ImgstatTransfer *transfer_of_records(const Options *o, ImgstatDataset *dataset,
                                            Outputs *outputs, int *status)
{
    const TransformOptions *const t = &o->transform;
    const size_t n = imgstat_dataset_records(dataset);
    ImgstatTransfer *made = NULL;
    ImgstatError error;
    *status = STATUS_USAGE;
    if (n > 1 && t->save_transfer != NULL) {
        usage_error(o->command,
                    "--from: %s holds %zu records, and --save-transfer saves one "
                    "transfer",
                    t->record, n);
        return NULL;
    }
    if (n > 0 && !set_group(o, dataset, outputs))
        return NULL;
    const ImgstatResult result =
        n == 1 && o->group.text == NULL
            ? imgstat_transfer_from_record(&t->method, imgstat_dataset_record(dataset, 0), NULL,
                                           &made, &error)
            : imgstat_transfer_from_dataset(&t->method, dataset, &made, &error);
    if (result == IMGSTAT_OK)
        return made;
    char *const name = text_display(t->record);
    fprintf(stderr, "%s: --from: %s: %s\n", o->command, name, error.message);
    free(name);
    *status = result == IMGSTAT_ERR_ARG ? STATUS_USAGE : STATUS_FAILED;
    return NULL;
}

/* Makes the transfers of --from. NULL after a sentence and a raised status. */
static ImgstatTransfer *load_records(const Options *o, Outputs *outputs)
{
    int status = STATUS_FAILED;
    ImgstatDataset *const dataset = record_file_load(o->transform.record);
    ImgstatTransfer *const made =
        dataset != NULL ? transfer_of_records(o, dataset, outputs, &status) : NULL;
    imgstat_dataset_destroy(dataset);
    if (made == NULL)
        status_raise(status);
    return made;
}

static void transform(TransformRun *run, size_t inputs, const ImgstatTransfer *given)
{
    const TransformOptions *const t = &run->options->transform;
    ImgstatTransfer *made = NULL;
    const bool saves = t->save_transfer != NULL;
    const TransformWork work = {.given = given,
                                .together = t->together,
                                .progress = transform_on_done,
                                .made = saves ? &made : NULL};
    /* Folders of outputs are there by now, and the transfer may lie in one. */
    if ((saves && !plot_file_check(t->save_transfer, true)) ||
        (run->options->report != NULL &&
         (run->page = transform_page_begin(run->options, run->outputs)) == NULL)) {
        run->refused = true; /* a sentence was printed */
        return;
    }
    if (transform_batch_run(run, &work) == IMGSTAT_OK && saves && run->failed < inputs)
        transform_save(run, given != NULL ? given : made);
    if (run->page != NULL)
        transform_page_end(run->page, run->outputs);
    run->page = NULL;
    imgstat_transfer_destroy(made);
}

/* Loads what --from and the argument of apply name. False after a sentence and a raised status. */
static bool load_given(const Options *o, Outputs *outputs, ImgstatTransfer **given)
{
    ImgstatError error;
    *given = NULL;
    if (o->transform.record != NULL)
        return (*given = load_records(o, outputs)) != NULL;
    if (o->transform.transfer == NULL ||
        imgstat_transfer_load(o->transform.transfer, o->transform.memory, given, &error) ==
            IMGSTAT_OK)
        return true;
    fprintf(stderr, "%s\n", error.message);
    status_raise(STATUS_FAILED);
    return false;
}

/* What a shard would refuse of itself, and two shards of one another, is refused before the first
 * one. */
static bool check_all(const Options *o)
{
    InputList inputs;
    Outputs outputs;
    ImgstatTransfer *given = NULL;
    InputStream *const stream = inputs_open(o, (InputPart){0}, false);
    inputs_collect(stream, &inputs);
    bool good = outputs_plan(o, &inputs, &outputs) && transfer_groups_set(o, &outputs, false);
    if (!good)
        status_raise(STATUS_USAGE);
    good = good && transform_check_saving(o, inputs.n, &outputs) && load_given(o, &outputs, &given);
    if (good && given != NULL && !check_fits(o, &outputs, given)) {
        status_raise(STATUS_USAGE);
        good = false;
    }
    imgstat_transfer_destroy(given);
    outputs_release(&outputs);
    inputs_release(&inputs);
    inputs_close(stream);
    return good;
}

/* What the parts of a run share. */
typedef struct Shared {
    const Options *options;
    Together *together; /* NULL, or what was measured before */
} Shared;

/* The leader of a team checks for all. */
static bool prepare(void *context)
{
    const Shared *const shared = context;
    if (shared->together != NULL)
        return together_measure(shared->together);
    if (shard_team == NULL)
        return check_all(shared->options);
    return shard_team_agree(shard_team->leads && check_all(shared->options));
}

static void run_command(PartRun *part, const InputList *inputs)
{
    Together *const together = ((const Shared *)part->context)->together;
    const Options *const o = together != NULL ? together_options(together) : part->options;
    Outputs outputs;
    ImgstatTransfer *given = NULL;
    TransformRun run = {.options = o, .outputs = &outputs};
    const char *const output = o->transform.output;
    if ((output == NULL || strcmp(output, "-") != 0) && !o->transform.dry_run)
        status_outlive_readers();
    if (!outputs_plan(o, inputs, &outputs) || !transfer_groups_set(o, &outputs, together == NULL)) {
        status_raise(STATUS_USAGE);
    } else if (transform_check_saving(o, inputs->n, &outputs)) {
        run.failed = transform_report_problems(o, inputs);
        if (together != NULL)
            together_mark_failed(together, &outputs);
        if (!load_given(o, &outputs, &given)) {
            run.refused = true; /* a sentence was printed */
        } else if (o->transform.dry_run) {
            list(&run, given);
        } else if (given != NULL && !check_fits(o, &outputs, given)) {
            status_raise(STATUS_USAGE);
        } else if (!outputs_make_folders(o, &outputs)) {
            status_raise(STATUS_FAILED);
        } else {
            transform(&run, inputs->n, together != NULL ? together_transfer(together) : given);
            if (!run.refused && (part->summarizes || status_interrupted() != 0))
                transform_report_end(&run, inputs->n);
        }
        if (run.written == 0 && o->shards == 0) /* other shards may be about to write */
            outputs_remove_folders(&outputs);
        part->done = run.written;
        part->failed = run.failed;
        part->skipped = run.skipped;
        part->unwritten = run.unwritten;
        part->complete = run.written + run.failed + run.skipped == inputs->n;
        for (size_t i = 0; part->outputs != NULL && i < outputs.n; i++)
            if (input_is_file(outputs.paths[i]))
                fwrite(outputs.paths[i], 1, strlen(outputs.paths[i]) + 1, part->outputs);
    }
    imgstat_transfer_destroy(given);
    outputs_release(&outputs);
}

static void work(PartRun *run)
{
    InputList inputs;
    inputs_collect(run->inputs, &inputs);
    run_command(run, &inputs);
    inputs_release(&inputs);
}

void cmd_transform(Options *options)
{
    outputs_leave_out(options);
    Shared shared = {.options = options, .together = together_create(options)};
    const ShardCommand shards = {
        .work = work, .context = &shared, .done = "written", .prepare = prepare};
    shard_text_run(options, &shards);
    together_destroy(shared.together);
}
