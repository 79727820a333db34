/* SPDX-License-Identifier: MIT */
/* measure_files.c: a batch of the library, whose results are text by the time they are in order. */
#include "measure_files.h"
#include "memory_stream.h"
#include "plan.h"
#include "print_json.h"
#include "progress.h"
#include "status.h"
#include "text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What is printed about a job, until its turn. */
typedef struct Texts {
    FILE *out, *err; /* NULL: nothing yet */
    char *out_text, *err_text;
    size_t out_bytes, err_bytes;
    Sentences warnings; /* for --json: since the last page */
    bool lost;          /* rows of the input are left out */
} Texts;

typedef struct Run {
    const MeasureFiles *what;
    ImgstatJob *jobs; /* the inputs that lead to files */
    size_t *input;    /* for each job, the index of its input in the window */
    Texts *texts;
    size_t n;
    bool direct; /* nothing waits: a file of many pages takes no memory for its results */
    PlanDevice device;
    Progress progress;
    size_t reported; /* inputs of this window */
    size_t measured; /* inputs of earlier windows */
    size_t failed;   /* inputs of all windows so far */
} Run;

/* ---- Texts ------------------------------------------------------------------------------------
 */

static Texts *texts_of(Run *run, size_t job)
{
    Texts *const texts = &run->texts[job];
    if (run->direct) {
        progress_clear(&run->progress);
        texts->out = stdout;
        texts->err = stderr;
    } else if (texts->out == NULL) {
        texts->out = memory_stream_open(&texts->out_text, &texts->out_bytes);
        texts->err = memory_stream_open(&texts->err_text, &texts->err_bytes);
    }
    return texts;
}

static void finish_texts(Texts *texts)
{
    if (texts->out != NULL && texts->out != stdout) {
        memory_stream_close(texts->out);
        memory_stream_close(texts->err);
    }
    texts->out = texts->err = NULL;
}

static void discard_texts(Texts *texts)
{
    finish_texts(texts);
    free(texts->out_text);
    free(texts->err_text);
    sentences_clear(&texts->warnings);
    *texts = (Texts){0};
}

/* ---- What the library reports, on any thread ---------------------------------------------------
 */

static void print_error(const Options *o, const char *path, const uint32_t *page,
                        ImgstatResult code, const char *sentence, const Texts *texts)
{
    fprintf(texts->err, "%s\n", sentence);
    if (o->style == OUTPUT_JSON)
        print_json_error(texts->out, path, page, imgstat_result_name(code), sentence);
}

static void print_time(const Report *report, double seconds, FILE *err)
{
    const ImgstatPage *const page = report->page;
    double pixels = 0;
    for (uint32_t i = 0; i < report->n_pages; i++)
        pixels += (double)report->pages[i].width * report->pages[i].height;
    const double bytes = pixels * page->channels * (double)imgstat_sample_bytes(page->sample);
    char *const name = text_display(report->name), *const list = report_page_list(report);
    fprintf(err,
            "%s: page%s %s of %" PRIu32 ", %" PRIu32 " x %" PRIu32 ", %u channels of %s, "
            "%s: %.1f ms, %.0f MB/s\n",
            name, report->n_pages > 1 ? "s" : "", list, page->pages, page->width, page->height,
            page->channels, imgstat_sample_name(page->sample), report->device, 1e3 * seconds,
            1e-6 * bytes / seconds);
    free(name);
    free(list);
}

static bool on_page(void *context, const ImgstatMeasured *measured)
{
    Run *const run = context;
    const MeasureFiles *const what = run->what;
    const char *const path = run->jobs[measured->job].input;
    Texts *const texts = texts_of(run, measured->job);
    if (measured->result != IMGSTAT_OK) {
        print_error(what->part->options, path, measured->has_number ? &measured->number : NULL,
                    measured->result, measured->message, texts);
        return true;
    }
    const Report report = {.options = what->part->options,
                           .name = path,
                           .device = measured->device,
                           .continues = !measured->first,
                           .file = measured->file,
                           .page = measured->page,
                           .by = measured->by,
                           .pages = measured->pages,
                           .n_pages = measured->n_pages,
                           .record = measured->record,
                           .warnings = &texts->warnings};
    texts->lost = texts->lost || imgstat_file_lost_rows(measured->file) > 0;
    if (what->part->options->verbose)
        print_time(&report, measured->seconds, texts->err);
    const bool printed = what->print(what->context, &report, texts->out, texts->err);
    sentences_clear(&texts->warnings);
    return printed;
}

static void on_warned(void *context, size_t job, const char *sentence)
{
    Run *const run = context;
    if (run->what->part->options->style == OUTPUT_JSON)
        sentences_add(&texts_of(run, job)->warnings, sentence);
    if (!run->what->part->options->quiet)
        text_put_file_warning(texts_of(run, job)->err, run->jobs[job].input, sentence);
}

static void on_restarted(void *context, size_t job)
{
    Run *const run = context;
    discard_texts(&run->texts[job]);
}

/* ---- In order, on the calling thread -----------------------------------------------------------
 */

static void end_input(Run *run, bool good)
{
    run->reported++;
    run->failed += !good;
    if (!good)
        status_raise(STATUS_FAILED);
    size_t all;
    const bool known = inputs_count(run->what->part->inputs, &all);
    progress_show(&run->progress, run->measured + run->reported, known ? all : 0);
}

static void report_texts(Run *run, Texts *texts)
{
    const MeasureFiles *const what = run->what;
    finish_texts(texts);
    if (texts->out_bytes + texts->err_bytes > 0)
        progress_clear(&run->progress);
    if (texts->out_bytes > 0 && what->emit != NULL)
        what->emit(what->context, texts->out_text, texts->out_bytes);
    else if (texts->out_bytes > 0)
        fwrite(texts->out_text, 1, texts->out_bytes, stdout);
    status_flush_stdout();
    if (texts->err_bytes > 0)
        fwrite(texts->err_text, 1, texts->err_bytes, stderr);
    if (texts->lost)
        status_raise(STATUS_FAILED);
    discard_texts(texts);
}

/* The inputs before that one lead to no file. */
static void report_problems(Run *run, size_t before)
{
    while (run->reported < before) {
        const Input *const input = &run->what->window->items[run->reported];
        Texts texts = {0};
        texts.out = memory_stream_open(&texts.out_text, &texts.out_bytes);
        texts.err = memory_stream_open(&texts.err_text, &texts.err_bytes);
        print_error(run->what->part->options, input->path, NULL, IMGSTAT_ERR_IO, input->problem,
                    &texts);
        report_texts(run, &texts);
        end_input(run, false);
    }
}

static bool on_done(void *context, const ImgstatDone *done)
{
    Run *const run = context;
    report_problems(run, run->input[done->job]);
    report_texts(run, &run->texts[done->job]);
    end_input(run, done->result == IMGSTAT_OK);
    return status_interrupted() == 0;
}

static void on_fallen_back(void *context, const char *why)
{
    Run *const run = context;
    progress_clear(&run->progress);
    plan_report_fall_back(run->what->part->options, why);
    run->device = (PlanDevice){.name = "cpu"};
}

/* ---- The whole ---------------------------------------------------------------------------------
 */

/* Measures a window. False: nothing more can be measured. */
static bool measure(Run *run)
{
    const MeasureFiles *const what = run->what;
    const Options *const o = what->part->options;
    const ImgstatMeasureBatch batch = {.how = what->how,
                                       .open = options_open(o),
                                       .by = o->by,
                                       .device = run->device.name,
                                       .fallen_back = run->device.chosen ? on_fallen_back : NULL,
                                       .threads = o->jobs,
                                       .memory = o->transform.memory,
                                       .levels = o->levels,
                                       .page = on_page,
                                       .warned = on_warned,
                                       .restarted = on_restarted,
                                       .progress = on_done,
                                       .context = run};
    ImgstatError error;
    run->direct = what->emit == NULL && !run->device.chosen && run->n == 1;
    const ImgstatResult result = imgstat_batch_measure(&batch, run->jobs, run->n, &error);
    if (result == IMGSTAT_OK && status_interrupted() == 0) {
        report_problems(run, what->window->n);
        return true;
    }
    for (size_t i = 0; i < run->n; i++) /* jobs that nobody has reported */
        discard_texts(&run->texts[i]);
    if (result == IMGSTAT_OK)
        return false;
    progress_clear(&run->progress);
    fprintf(stderr, "%s: %s\n", o->command, error.message);
    status_raise(result == IMGSTAT_ERR_ARG ? STATUS_USAGE : STATUS_FAILED);
    return false;
}

static void begin_window(Run *run)
{
    const InputList *const window = run->what->window;
    run->n = run->reported = 0;
    for (size_t i = 0; i < window->n; i++) {
        if (window->items[i].problem != NULL)
            continue;
        run->jobs[run->n] = input_job(&window->items[i]);
        run->texts[run->n] = (Texts){0};
        run->input[run->n++] = i;
    }
}

void measure_files(const MeasureFiles *what)
{
    const Options *const o = what->part->options;
    const size_t n = what->window->n; /* no other window has more */
    const ImgstatWork work = {.measure = what->how, .together = o->by};
    Run run = {.what = what,
               .jobs = text_alloc(n * sizeof *run.jobs),
               .input = text_alloc(n * sizeof *run.input),
               .texts = text_alloc(n * sizeof *run.texts)};
    begin_window(&run);
    run.progress = progress_begin("", n, o->quiet);
    run.device = plan_device(o, run.jobs, run.n, &work);
    bool good = measure(&run);
    while (good && inputs_next(what->part->inputs, what->window)) {
        run.measured += run.reported;
        begin_window(&run);
        good = measure(&run);
    }
    run.measured += run.reported;
    progress_clear(&run.progress);
    what->part->complete = good;
    what->part->done = run.measured - run.failed;
    what->part->failed = run.failed;
    if (what->part->summarizes && good && run.measured > 1 && run.failed > 0)
        fprintf(stderr, "%zu measured, %zu failed\n", run.measured - run.failed, run.failed);
    free(run.texts);
    free(run.input);
    free(run.jobs);
}
