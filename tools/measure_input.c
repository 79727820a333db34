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

static void on_warning(void *context, const char *sentence)
{
    const Warnings *const w = context;
    const size_t length = strlen(w->name);
    if (w->quiet)
        return;
    /* "name: cause" becomes "name: warning: cause", so that it is not taken for an error. */
    if (strncmp(sentence, w->name, length) == 0 && strncmp(sentence + length, ": ", 2) == 0)
        sentence += length + 2;
    fprintf(w->err, "%s: warning: %s\n", w->name, sentence);
}

static void report_error(const Options *o, const Input *input, ImgstatResult code,
                         const char *sentence, FILE *out, FILE *err)
{
    fprintf(err, "%s\n", sentence);
    if (o->style == OUTPUT_JSON)
        print_json_error(out, input->path, imgstat_result_name(code), sentence);
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

bool measure_input(const Options *o, const ImgstatMeasure *how, ImgstatDevice *device,
                   const Input *input, PagePrinter print, void *context, FILE *out, FILE *err)
{
    if (input->problem != NULL) {
        report_error(o, input, IMGSTAT_ERR_IO, input->problem, out, err);
        return false;
    }
    char *const name = text_display(input->path);
    Warnings warnings = {.err = err, .name = name, .quiet = o->quiet};
    const ImgstatOpen open = {
        .limits = o->limits, .indices = o->indices, .warn = on_warning, .warn_context = &warnings};
    ImgstatDeviceInfo info;
    imgstat_device_describe(device, &info);

    ImgstatFile *file = NULL;
    ImgstatError error = {0};
    bool ok = true;
    ImgstatResult result = imgstat_file_open(input->path, &open, &file, &error);
    const uint32_t first = input->has_page ? input->page : 0;
    const uint32_t end = result != IMGSTAT_OK ? 0
                         : input->has_page    ? first + 1
                                              : imgstat_file_pages(file);
    for (uint32_t i = first; i < end && result == IMGSTAT_OK && ok; i++) {
        ImgstatPage page;
        ImgstatRecord *record = NULL;
        const double start = now();
        result = imgstat_file_page(file, i, &page, &error);
        if (result == IMGSTAT_OK)
            result = imgstat_measure_file(device, file, i, how, &record, &error);
        if (result == IMGSTAT_OK) {
            const Report report = {.options = o,
                                   .name = input->path,
                                   .device = info.name,
                                   .continues = i > first,
                                   .file = file,
                                   .page = &page,
                                   .record = record};
            if (o->verbose)
                say_time(&report, name, now() - start, err);
            ok = print(context, &report, out, err);
        }
        imgstat_record_destroy(record);
    }
    if (result != IMGSTAT_OK) {
        report_error(o, input, result, error.message, out, err);
        ok = false;
    }
    imgstat_file_close(file);
    free(name);
    return ok;
}
