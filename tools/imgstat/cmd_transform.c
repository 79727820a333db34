/* SPDX-License-Identifier: MIT */
/* cmd_transform.c: normalize, equalize and apply: from inputs to a batch of the library. */
#include "commands.h"
#include "outputs.h"
#include "plan.h"
#include "progress.h"
#include "status.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Run {
    const Options *options;
    const Outputs *outputs;
    Progress progress;
    size_t written, failed, skipped;
    size_t measured; /* of --together, so far */
} Run;

/* The cause in a sentence that begins with the name of a file; a name may hold colons as well. */
static const char *cause_of(const Outputs *outputs, const char *sentence)
{
    const char *const colon = strstr(sentence, ": ");
    const char *cause = colon != NULL ? colon + 2 : sentence;
    for (size_t i = 0; colon != NULL && strstr(cause, ": ") != NULL && i < 2 * outputs->n; i++) {
        const ImgstatJob *const job = &outputs->jobs[i / 2];
        char *const name = text_display(i % 2 ? job->output : job->input);
        const char *const own = text_cause(sentence, name);
        const bool begins = strncmp(sentence, name, strlen(name)) == 0;
        free(name);
        if (begins && own > sentence)
            return own;
    }
    return cause;
}

/* "name: cause" becomes "name: warning: cause", so that it is not taken for an error. */
static void on_warning(void *context, const char *sentence)
{
    Run *const run = context;
    if (run->options->quiet)
        return;
    const char *const cause = cause_of(run->outputs, sentence);
    progress_clear(&run->progress);
    fprintf(stderr, "%.*swarning: %s\n", (int)(cause - sentence), sentence, cause);
}

static void on_measuring(void *context, size_t measured)
{
    Run *const run = context;
    const size_t n = run->outputs->n;
    if (measured < run->measured) /* they are read again */
        run->progress = progress_begin("measured ", n, run->options->quiet);
    run->measured = measured;
    progress_show(&run->progress, measured, n);
    if (measured == n) {
        progress_clear(&run->progress);
        run->progress = progress_begin("", n, run->options->quiet);
    }
}

static bool on_done(void *context, const ImgstatDone *done)
{
    Run *const run = context;
    const ImgstatJob *const job = &run->outputs->jobs[done->job];
    if (done->result != IMGSTAT_OK) {
        run->failed++;
        status_raise(STATUS_FAILED);
        progress_clear(&run->progress);
        fprintf(stderr, "%s\n", done->message);
    } else if (done->skipped) {
        run->skipped++;
    } else {
        run->written++;
    }
    if (run->options->verbose && done->result == IMGSTAT_OK) {
        char *const from = text_display(job->input), *const to = text_display(job->output);
        progress_clear(&run->progress);
        if (done->skipped)
            fprintf(stderr, "%s: exists already\n", to);
        else
            fprintf(stderr, "%s -> %s: %.3f s\n", from, to, done->seconds);
        free(from);
        free(to);
    }
    progress_show(&run->progress, done->job + 1, run->outputs->n);
    return true;
}

static bool on_poll(void *context)
{
    (void)context;
    return status_interrupted() != 0;
}

static bool is_skipped(const TransformOptions *t, const ImgstatJob *job)
{
    return t->skip_existing && input_is_file(job->output);
}

/* Whether a given transfer fits all pages, as far as the headers of a file show; else says why. */
static bool foresee(const Options *o, const ImgstatTransfer *given, const ImgstatJob *job)
{
    ImgstatError error;
    if (!input_is_file(job->input))
        return true;
    ImgstatFile *file = NULL;
    const ImgstatOpen open = {.limits = o->limits};
    const char *cause = NULL; /* of a page that does not fit */
    ImgstatResult result = imgstat_file_open(job->input, &open, &file, &error);
    uint32_t n = 0;
    if (result == IMGSTAT_OK)
        result = imgstat_file_find(file, job->pages, NULL, 0, &n, &error);
    uint32_t *const pages = text_alloc((n + 1) * sizeof *pages);
    if (result == IMGSTAT_OK)
        result = imgstat_file_find(file, job->pages, pages, n, &n, &error);
    for (uint32_t i = 0; result == IMGSTAT_OK && i < n; i++) {
        ImgstatPage page;
        result = imgstat_file_page(file, pages[i], &page, &error);
        if (result == IMGSTAT_OK && imgstat_transfer_fits(given, &page, &error) != IMGSTAT_OK) {
            result = error.code;
            cause = error.message;
        }
    }
    free(pages);
    imgstat_file_close(file);
    char *const name = text_display(job->input);
    if (result != IMGSTAT_OK)
        fprintf(stderr, "%s%s%s\n", cause != NULL ? name : "", cause != NULL ? ": " : "",
                error.message);
    free(name);
    return result == IMGSTAT_OK;
}

/* Prints each job. Without writing, this shows which outputs exist and whether a given transfer
 * fits the headers; not whether the pixels of an input can be read. */
static void list(const Run *run, const ImgstatTransfer *given)
{
    const bool replace = run->options->transform.write.replace;
    for (size_t i = 0; i < run->outputs->n; i++) {
        const ImgstatJob *const job = &run->outputs->jobs[i];
        const bool keep = !replace && input_is_file(job->output);
        if (given != NULL && !keep && !foresee(run->options, given, job)) {
            status_raise(STATUS_FAILED);
            continue;
        }
        char *const from = text_display(job->input), *const to = text_display(job->output);
        printf("%s -> %s%s\n", from, to, keep ? " (exists already)" : "");
        free(from);
        free(to);
    }
}

static bool save_transfer(const Run *run, const ImgstatTransfer *transfer)
{
    ImgstatError error;
    const Options *const o = run->options;
    const char *const path = o->transform.save_transfer;
    if (run->written == 0 && input_is_file(path)) /* all was done before */
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

static void summarize(const Run *run, size_t total)
{
    const Options *const o = run->options;
    const size_t left = total - run->written - run->failed - run->skipped;
    const bool interrupted = status_interrupted() != 0;
    if (!interrupted && (total < 2 || (o->quiet && run->failed == 0)))
        return;
    fprintf(stderr, "%s%zu written, %zu failed", interrupted ? "interrupted: " : "", run->written,
            run->failed);
    if (run->skipped > 0)
        fprintf(stderr, ", %zu skipped", run->skipped);
    if (left > 0)
        fprintf(stderr, ", %zu not done", left);
    fputc('\n', stderr);
}

/* The jobs that are left to do decide about the device. */
static PlanDevice plan(const Options *o, const Outputs *outputs, const ImgstatTransfer *given)
{
    const TransformOptions *const t = &o->transform;
    const ImgstatWork work = {.method = given != NULL ? NULL : &t->method, .transfer = given};
    ImgstatJob *const left = text_alloc(outputs->n * sizeof *left);
    size_t n = 0;
    for (size_t i = 0; i < outputs->n; i++)
        if (!is_skipped(t, &outputs->jobs[i]))
            left[n++] = outputs->jobs[i];
    const PlanDevice device = plan_device(o, left, n, &work);
    free(left);
    return device;
}

static void on_fallen_back(void *context, const char *why)
{
    Run *const run = context;
    progress_clear(&run->progress);
    plan_report_fall_back(run->options, why);
}

static bool names_file(const char *sentence, const char *path)
{
    char *const name = text_display(path);
    const bool names = strncmp(sentence, name, strlen(name)) == 0;
    free(name);
    return names;
}

static void transform(const Options *o, const InputList *inputs, Run *run,
                      const ImgstatTransfer *given)
{
    const TransformOptions *const t = &o->transform;
    ImgstatTransfer *made = NULL;
    ImgstatError error;
    char *path = NULL, *page = NULL; /* of a reference that is named with its page */
    const bool match = t->method.transform == IMGSTAT_MATCH;
    const bool paged = match && input_names_pages(t->reference, &path, &page);
    imgstat_heap_keep(t->memory); /* planning may open a GPU, whose driver starts threads */
    const PlanDevice device = plan(o, run->outputs, given);
    const ImgstatBatch batch = {
        .method = t->method,
        .transfer = given,
        .reference = paged   ? path
                     : match ? t->reference
                             : NULL,
        .reference_page = page,
        .together = t->together,
        .skip_existing = t->skip_existing,
        .write = t->write,
        .open = {.limits = o->limits, .warn = on_warning, .warn_context = run},
        .device = device.name,
        .fallen_back = device.chosen ? on_fallen_back : NULL,
        .threads = o->jobs,
        .memory = t->memory,
        .progress = on_done,
        .measuring = on_measuring,
        .cancelled = on_poll,
        .context = run,
        .made = t->save_transfer != NULL ? &made : NULL};
    run->progress = progress_begin(t->together ? "measured " : "", run->outputs->n, o->quiet);
    status_catch_gently();
    const ImgstatResult result =
        imgstat_batch_run(&batch, run->outputs->jobs, run->outputs->n, &error);
    progress_clear(&run->progress);
    if (result != IMGSTAT_OK && result != IMGSTAT_ERR_CANCELLED) {
        fprintf(stderr, "%s: %s\n", o->command, error.message);
        const bool of_file = match && names_file(error.message, batch.reference);
        status_raise(result == IMGSTAT_ERR_ARG && !of_file ? STATUS_USAGE : STATUS_FAILED);
    } else if (t->save_transfer != NULL && result == IMGSTAT_OK && run->failed < inputs->n &&
               !save_transfer(run, made)) {
        status_raise(STATUS_FAILED);
    }
    imgstat_transfer_destroy(made);
    free(path);
    free(page);
    if (status_interrupted() != 0)
        status_raise(128 + status_interrupted());
}

/* Mistakes that would show only after all the work. */
static bool check_saving(const Options *o, const InputList *inputs)
{
    const TransformOptions *const t = &o->transform;
    if (t->save_transfer == NULL)
        return true;
    if (inputs->n > 1 && !t->together) {
        fprintf(stderr,
                "%s: each of %zu images would have a transfer of its own to save; --together makes "
                "one\n",
                o->command, inputs->n);
        status_raise(STATUS_USAGE);
        return false;
    }
    if (t->write.replace || t->skip_existing || !input_is_file(t->save_transfer))
        return true;
    char *const name = text_display(t->save_transfer);
    fprintf(stderr, "%s: %s: exists already; --force replaces it\n", o->command, name);
    free(name);
    status_raise(STATUS_FAILED);
    return false;
}

static void run_command(const Options *o, const InputList *inputs)
{
    Outputs outputs;
    ImgstatTransfer *given = NULL;
    ImgstatError error;
    Run run = {.options = o, .outputs = &outputs};
    if (strcmp(o->transform.output, "-") != 0 && !o->transform.dry_run)
        status_outlive_readers();
    if (!outputs_plan(o, inputs, &outputs)) {
        status_raise(STATUS_USAGE);
    } else if (check_saving(o, inputs)) {
        for (size_t i = 0; i < inputs->n; i++)
            if (inputs->items[i].problem != NULL) {
                fprintf(stderr, "%s\n", inputs->items[i].problem);
                status_raise(STATUS_FAILED);
                run.failed++;
            }
        if (o->transform.transfer != NULL &&
            imgstat_transfer_load(o->transform.transfer, &given, &error) != IMGSTAT_OK) {
            fprintf(stderr, "%s\n", error.message);
            status_raise(STATUS_FAILED);
        } else if (o->transform.dry_run) {
            list(&run, given);
        } else if (!outputs_make_folders(o, &outputs)) {
            status_raise(STATUS_FAILED);
        } else {
            transform(o, inputs, &run, given);
            summarize(&run, inputs->n);
        }
    }
    imgstat_transfer_destroy(given);
    outputs_release(&outputs);
}

static void run_transform(Command command, int argc, char **argv)
{
    Options options;
    const ParseResult parsed = options_parse(command, argc, argv, &options);
    if (parsed == PARSE_RUN) {
        InputList inputs;
        outputs_leave_out(&options);
        inputs_collect(&options, &inputs);
        run_command(&options, &inputs);
        inputs_release(&inputs);
    } else if (parsed == PARSE_ERROR) {
        status_raise(STATUS_USAGE);
    }
    options_release(&options);
}

void cmd_normalize(int argc, char **argv)
{
    run_transform(COMMAND_NORMALIZE, argc, argv);
}

void cmd_equalize(int argc, char **argv)
{
    run_transform(COMMAND_EQUALIZE, argc, argv);
}

void cmd_apply(int argc, char **argv)
{
    run_transform(COMMAND_APPLY, argc, argv);
}
