/* SPDX-License-Identifier: MIT */
/* report.c: lines about outputs: for people on standard error, as JSON on standard
 * output. */
#include "transform/report.h"
#include "print/json.h"
#include "text/status.h"
#include "text/terminal.h"
#include "text/text.h"
#include "transform/sidecars.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool transform_is_skipped(const TransformOptions *t, const ImgstatJob *job)
{
    return t->skip_existing && job->output != NULL && input_is_file(job->output);
}

static bool is_json(const TransformRun *run)
{
    return run->options->style == OUTPUT_JSON;
}

/* The cause in a sentence that begins with the name of a file; a name may hold colons as well. */
static const char *cause_of(const Outputs *outputs, const char *sentence)
{
    const char *const colon = strstr(sentence, ": ");
    const char *cause = colon != NULL ? colon + 2 : sentence;
    for (size_t i = 0; colon != NULL && strstr(cause, ": ") != NULL && i < 2 * outputs->n; i++) {
        const ImgstatJob *const job = &outputs->jobs[i / 2];
        const char *const path = i % 2 ? job->output : job->input;
        char *const name = text_display(path != NULL ? path : "");
        const char *const own = text_cause(sentence, name);
        const bool begins = strncmp(sentence, name, strlen(name)) == 0;
        free(name);
        if (begins && own > sentence)
            return own;
    }
    return cause;
}

/* The image of --match may be an input as well. */
static bool is_repeated(TransformRun *run, const char *sentence)
{
    if (run->reference == NULL || !text_names_file(sentence, run->reference))
        return false;
    if (sentences_have(&run->of_reference, sentence))
        return true;
    sentences_add(&run->of_reference, sentence);
    return false;
}

/* "name: cause" becomes "name: warning: cause", so that it is not taken for an error. */
void transform_on_warning(void *context, const char *sentence)
{
    TransformRun *const run = context;
    if (is_json(run) && !sentences_have(&run->warnings, sentence))
        sentences_add(&run->warnings, sentence);
    if (run->options->quiet || is_repeated(run, sentence))
        return;
    const char *const cause = cause_of(run->outputs, sentence);
    progress_clear(&run->progress);
    const Styles *const styles = terminal_styles(STDERR_FILENO);
    fprintf(stderr, "%.*s%swarning:%s %s\n", (int)(cause - sentence), sentence, styles->warning,
            styles->end, cause);
}

void transform_on_measuring(void *context, size_t measured)
{
    TransformRun *const run = context;
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

static void add_clamped(ImgstatClamped *sum, const ImgstatClamped *more)
{
    sum->n += more->n;
    sum->low += more->low;
    sum->high += more->high;
}

static ImgstatClamped clamped_of(const ImgstatDone *done)
{
    ImgstatClamped sum = {0};
    for (size_t i = 0; i < done->n_mapped; i++)
        add_clamped(&sum, &done->mapped[i].clamped);
    return sum;
}

static void print_clamped(const ImgstatClamped *clamped)
{
    const double percent = clamped->n > 0 ? 100.0 / (double)clamped->n : 0;
    if (clamped->low + clamped->high > 0)
        fprintf(stderr, ", %.3g %% clamped low, %.3g %% high", percent * (double)clamped->low,
                percent * (double)clamped->high);
}

/* How many transfers the pages of a file have. */
static uint32_t transfers_of(const ImgstatDone *done)
{
    uint32_t n = 0;
    for (size_t i = 0; i < done->n_mapped; i++)
        n = done->mapped[i].groups > n ? done->mapped[i].groups : n;
    return n;
}

static void print_time(const ImgstatJob *job, const ImgstatDone *done)
{
    const ImgstatClamped clamped = clamped_of(done);
    char *const from = text_display(job->input);
    char *const to = text_display(job->output != NULL ? job->output : "");
    if (done->skipped)
        fprintf(stderr, "%s: exists already\n", to);
    else if (job->output != NULL)
        fprintf(stderr, "%s -> %s: %.3f s", from, to, done->seconds);
    if (!done->skipped && job->output != NULL) {
        if (transfers_of(done) > 1)
            fprintf(stderr, ", %" PRIu32 " transfers", transfers_of(done));
        print_clamped(&clamped);
        fputc('\n', stderr);
    }
    free(from);
    free(to);
}

/* Adds to the sentence about an output that exists what to do; returns other sentences as they are.
 */
static char *advise(const char *message)
{
    static const char cause[] = ": exists already", advice[] = "; --force replaces it";
    const size_t n = strlen(message), n_cause = strlen(cause);
    const bool exists = n > n_cause && strcmp(message + n - n_cause, cause) == 0;
    char *const sentence = text_alloc(n + sizeof advice);
    snprintf(sentence, n + sizeof advice, "%s%s", message, exists ? advice : "");
    return sentence;
}

bool transform_on_done(void *context, const ImgstatDone *done)
{
    TransformRun *const run = context;
    const ImgstatJob *const job = &run->outputs->jobs[done->job];
    const bool written = done->result == IMGSTAT_OK && !done->skipped && job->output != NULL;
    if (run->page != NULL)
        transform_page_note(run->page, done->job, done->result != IMGSTAT_OK);
    char *const sidecars = written ? sidecars_warning(job) : NULL;
    char *const failure = done->result != IMGSTAT_OK ? advise(done->message) : NULL;
    if (sidecars != NULL)
        transform_on_warning(run, sidecars);
    free(sidecars);
    if (done->result != IMGSTAT_OK || is_json(run) || run->options->verbose)
        progress_clear(&run->progress);
    if (done->result != IMGSTAT_OK) {
        run->failed++;
        run->unwritten += done->result == IMGSTAT_ERR_IO && job->output != NULL &&
                          text_names_file(done->message, job->output);
        status_raise(STATUS_FAILED);
        fprintf(stderr, "%s\n", failure);
    } else {
        run->skipped += done->skipped;
        run->written += !done->skipped;
        if (done->lost_rows > 0)
            status_raise(STATUS_FAILED);
        const ImgstatClamped clamped = clamped_of(done);
        add_clamped(&run->clamped, &clamped);
    }
    if (is_json(run)) {
        if (done->result != IMGSTAT_OK)
            print_json_error(stdout, job->input, NULL, imgstat_result_name(done->result), failure);
        else if (job->output != NULL)
            print_json_output(stdout, job, done, &run->options->region, &run->warnings);
        status_flush_stdout();
    }
    free(failure);
    sentences_clear(&run->warnings);
    if (run->options->verbose && done->result == IMGSTAT_OK)
        print_time(job, done);
    progress_show(&run->progress, done->job + 1, run->outputs->n);
    return true;
}

void transform_report_plan(const TransformRun *run, const ImgstatJob *job, bool exists)
{
    if (is_json(run)) {
        print_json_plan(stdout, job, exists);
        return;
    }
    char *const from = text_display(job->input), *const to = text_display(job->output);
    printf("%s -> %s%s\n", from, to, exists ? " (exists already)" : "");
    free(from);
    free(to);
}

void transform_report_failure(const TransformRun *run, const char *input, bool misfit,
                              const ImgstatError *error)
{
    char *const name = text_display(input);
    const size_t bytes = strlen(name) + strlen(error->message) + 3;
    char *const sentence = text_alloc(bytes);
    snprintf(sentence, bytes, "%s%s%s", misfit ? name : "", misfit ? ": " : "", error->message);
    fprintf(stderr, "%s\n", sentence);
    if (is_json(run))
        print_json_error(stdout, input, NULL, imgstat_result_name(error->code), sentence);
    status_raise(STATUS_FAILED);
    free(sentence);
    free(name);
}

size_t transform_report_problems(const Options *o, const InputList *inputs)
{
    size_t n = 0;
    for (size_t i = 0; i < inputs->n; i++) {
        const Input *const input = &inputs->items[i];
        if (input->problem == NULL)
            continue;
        fprintf(stderr, "%s\n", input->problem);
        if (o->style == OUTPUT_JSON)
            print_json_error(stdout, input->path, NULL, imgstat_result_name(IMGSTAT_ERR_IO),
                             input->problem);
        n++;
    }
    if (n > 0)
        status_raise(STATUS_FAILED);
    return n;
}

void transform_report_end(TransformRun *run, size_t total)
{
    const Options *const o = run->options;
    const size_t left = total - run->written - run->failed - run->skipped;
    const bool interrupted = status_interrupted() != 0;
    sentences_clear(&run->warnings);
    if (left > 0)
        status_raise(STATUS_FAILED);
    if (!interrupted && (total < 2 || (o->quiet && run->failed == 0)))
        return;
    fprintf(stderr, "%s%zu %s, %zu failed", interrupted ? "interrupted: " : "", run->written,
            o->transform.output != NULL ? "written" : "measured", run->failed);
    if (run->skipped > 0)
        fprintf(stderr, ", %zu skipped", run->skipped);
    if (left > 0)
        fprintf(stderr, ", %zu not done", left);
    if (o->verbose)
        print_clamped(&run->clamped);
    fputc('\n', stderr);
}
