/* SPDX-License-Identifier: MIT */
/* measure_input.c: the path of one file from its name to its results. */
#include "measure_input.h"
#include "print_json.h"
#include "text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Where the warnings of one file go. */
typedef struct Warnings {
    FILE *err;
    const char *name; /* as text_display gives it */
    bool quiet;
} Warnings;

/* One input on its way. */
typedef struct Job {
    const Options *options;
    const ImgstatMeasure *how;
    ImgstatDevice *device;
    ImgstatDeviceInfo info;
    const Input *input;
    const char *name; /* as text_display gives it */
    PagePrinter print;
    void *context;
    FILE *out, *err;
} Job;

static void on_warning(void *context, const char *sentence)
{
    const Warnings *const w = context;
    /* "name: cause" becomes "name: warning: cause", so that it is not taken for an error. */
    if (!w->quiet)
        fprintf(w->err, "%s: warning: %s\n", w->name, text_cause(sentence, w->name));
}

/* page: of a file with several, or NULL where it is the file that failed. */
static void report_error(const Options *o, const Input *input, const uint32_t *page,
                         ImgstatResult code, const char *sentence, FILE *out, FILE *err)
{
    char located[sizeof((ImgstatError *)NULL)->message + 32];
    char where[24] = "";
    if (page != NULL)
        snprintf(where, sizeof where, "page %" PRIu32, *page);
    char *const name = text_display(input->path);
    const char *const cause = text_cause(sentence, name);
    if (page != NULL && cause > sentence && strstr(cause, where) == NULL) {
        snprintf(located, sizeof located, "%.*s%s: %s", (int)(cause - sentence), sentence, where,
                 cause);
        sentence = located;
    }
    free(name);
    fprintf(err, "%s\n", sentence);
    if (o->style == OUTPUT_JSON)
        print_json_error(out, input->path, page, imgstat_result_name(code), sentence);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void say_time(const Report *report, const char *name, double seconds, FILE *err)
{
    const ImgstatPage *const page = report->page;
    const double bytes = (double)page->width * page->height * page->channels *
                         (double)imgstat_sample_bytes(page->sample);
    fprintf(err,
            "%s: page %" PRIu32 " of %" PRIu32 ", %" PRIu32 " x %" PRIu32 ", %u channels of %s, "
            "%s: %.1f ms, %.0f MB/s\n",
            name, page->page, page->pages, page->width, page->height, page->channels,
            imgstat_sample_name(page->sample), report->device, 1e3 * seconds,
            1e-6 * bytes / seconds);
}

/* What became of a file's pages so far. */
typedef struct Progress {
    uint32_t good, failed;
    bool printed;
} Progress;

/* The cause lies in the page, so that others may be good. */
static bool is_of_page(ImgstatResult result)
{
    return result == IMGSTAT_ERR_FORMAT || result == IMGSTAT_ERR_TRUNCATED ||
           result == IMGSTAT_ERR_UNSUPPORTED || result == IMGSTAT_ERR_LIMIT;
}

static ImgstatResult measure_page(const Job *job, ImgstatFile *file, uint32_t number, bool first,
                                  bool *printed, ImgstatError *error)
{
    ImgstatPage page;
    ImgstatRecord *record = NULL;
    const double start = now();
    ImgstatResult result = imgstat_file_page(file, number, &page, error);
    if (result == IMGSTAT_OK)
        result = imgstat_measure_file(job->device, file, number, job->how, &record, error);
    if (result == IMGSTAT_OK) {
        const Report report = {.options = job->options,
                               .name = job->input->path,
                               .device = job->info.name,
                               .continues = !first,
                               .file = file,
                               .page = &page,
                               .record = record};
        if (job->options->verbose)
            say_time(&report, job->name, now() - start, job->err);
        *printed = job->print(job->context, &report, job->out, job->err);
    }
    imgstat_record_destroy(record);
    return result;
}

/* Measures a page; false if nothing after it can be any better. */
static bool try_page(const Job *job, ImgstatFile *file, uint32_t number, Progress *progress)
{
    ImgstatError error = {0};
    const uint32_t pages = imgstat_file_pages(file);
    const ImgstatResult result =
        measure_page(job, file, number, progress->good == 0, &progress->printed, &error);
    if (result == IMGSTAT_OK) {
        progress->good++;
        return progress->printed;
    }
    progress->failed++;
    report_error(job->options, job->input, pages > 1 && number < pages ? &number : NULL, result,
                 error.message, job->out, job->err);
    return is_of_page(result);
}

/* A page that cannot be read does not hide those after it. But a file of which none can be read is
 * one failure with one cause, the first: what is said of the others waits for a good page. */
static bool measure_pages(const Job *job, ImgstatFile *file)
{
    const Input *const input = job->input;
    const uint32_t begin = input->has_page ? input->page : 0;
    const uint32_t end = input->has_page ? begin + 1 : imgstat_file_pages(file);
    Progress progress = {.printed = true};
    uint32_t next = begin;
    bool go_on = true;
    for (; next < end && go_on && progress.good + progress.failed == 0; next++)
        go_on = try_page(job, file, next, &progress);
    if (go_on && next < end && progress.failed > 0) {
        Job held = *job;
        char *out = NULL, *err = NULL;
        size_t out_bytes = 0, err_bytes = 0;
        held.out = open_memstream(&out, &out_bytes);
        held.err = open_memstream(&err, &err_bytes);
        for (; held.out && held.err && next < end && go_on && progress.good == 0; next++)
            go_on = try_page(&held, file, next, &progress);
        if (held.out != NULL)
            fclose(held.out);
        if (held.err != NULL)
            fclose(held.err);
        if (progress.good > 0) {
            fwrite(out, 1, out_bytes, job->out);
            fwrite(err, 1, err_bytes, job->err);
        }
        free(out);
        free(err);
    }
    for (; next < end && go_on && progress.good > 0; next++)
        go_on = try_page(job, file, next, &progress);
    return progress.failed == 0 && progress.printed;
}

bool measure_input(const Options *o, const ImgstatMeasure *how, ImgstatDevice *device,
                   const Input *input, PagePrinter print, void *context, FILE *out, FILE *err)
{
    if (input->problem != NULL) {
        report_error(o, input, NULL, IMGSTAT_ERR_IO, input->problem, out, err);
        return false;
    }
    char *const name = text_display(input->path);
    Warnings warnings = {.err = err, .name = name, .quiet = o->quiet};
    const ImgstatOpen open = {
        .limits = o->limits, .indices = o->indices, .warn = on_warning, .warn_context = &warnings};
    Job job = {.options = o,
               .how = how,
               .device = device,
               .input = input,
               .name = name,
               .print = print,
               .context = context,
               .out = out,
               .err = err};
    imgstat_device_describe(device, &job.info);

    ImgstatFile *file = NULL;
    ImgstatError error = {0};
    const ImgstatResult result = imgstat_file_open(input->path, &open, &file, &error);
    if (result != IMGSTAT_OK)
        report_error(o, input, NULL, result, error.message, out, err);
    const bool good = result == IMGSTAT_OK && measure_pages(&job, file);
    imgstat_file_close(file);
    free(name);
    return good;
}
