/* SPDX-License-Identifier: MIT */
/* files.c: a batch of the library, whose results are text by the time they are in order. */
#include "measure/files.h"
#include "inputs/flights.h"
#include "inputs/plan.h"
#include "text/progress.h"
#include "text/status.h"
#include "text/text.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct Run {
    const MeasureFiles *what;
    Flights flights;
    bool direct; /* nothing waits: a file of many pages takes no memory for its results */
    PlanDevice device;
    Progress progress;
    size_t measured, failed; /* inputs; `measured` are all */
} Run;

static FlightStreams open_streams(Run *run, Flight *flight)
{
    if (!run->direct)
        return flight_open(flight);
    progress_clear(&run->progress);
    return (FlightStreams){stdout, stderr};
}

static void close_streams(const Run *run, FlightStreams streams)
{
    if (!run->direct)
        flight_close(streams);
}

/* ---- What the library reports, on any thread ---------------------------------------------------
 */

static void print_time(const Report *report, double seconds, FILE *err)
{
    const ImgstatPage *const page = report->page;
    double pixels = 0;
    for (uint32_t i = 0; i < report->n_pages; i++)
        pixels += (double)report->pages[i].width * report->pages[i].height;
    const double bytes = pixels * page->channels * (double)imgstat_sample_bytes(page->sample);
    char *const name = text_display(report->name), *const list = report_page_list(report);
    fprintf(err,
            "%s: page%s %s of %" PRIu32 ", %" PRIu32 " x %" PRIu32 ", %u channel%s of %s, "
            "%s: %.1f ms, %.0f MB/s\n",
            name, report->n_pages > 1 ? "s" : "", list, page->pages, page->width, page->height,
            page->channels, page->channels == 1 ? "" : "s", imgstat_sample_name(page->sample),
            report->device, 1e3 * seconds, 1e-6 * bytes / seconds);
    free(name);
    free(list);
}

static bool print_page(Run *run, Flight *flight, const ImgstatMeasured *measured, FlightStreams to)
{
    const MeasureFiles *const what = run->what;
    const Options *const o = what->part->options;
    if (measured->result != IMGSTAT_OK) {
        flight_fail(flight, o, measured, to);
        return true;
    }
    const Report report = {.options = o,
                           .name = flight->input.path,
                           .device = measured->device,
                           .continues = !measured->first,
                           .file = measured->file,
                           .page = measured->page,
                           .by = measured->by,
                           .pages = measured->pages,
                           .n_pages = measured->n_pages,
                           .record = measured->record,
                           .warnings = &flight->warnings};
    if (o->verbose)
        print_time(&report, measured->seconds, to.err);
    const bool printed = what->print(what->context, &report, to.out, to.err);
    sentences_clear(&flight->warnings);
    return printed;
}

/* On any thread of the batch, which ends with it. */
static bool on_page(void *context, const ImgstatMeasured *measured)
{
    Run *const run = context;
    (void)text_use_points();
    Flight *const flight = flights_at(&run->flights, measured->job);
    const FlightStreams to = open_streams(run, flight);
    const bool printed = print_page(run, flight, measured, to);
    close_streams(run, to);
    return printed;
}

static void on_warned(void *context, size_t job, const char *sentence)
{
    Run *const run = context;
    Flight *const flight = flights_at(&run->flights, job);
    if (run->what->part->options->style == OUTPUT_JSON)
        sentences_add(&flight->warnings, sentence);
    if (run->what->part->options->quiet)
        return;
    const FlightStreams to = open_streams(run, flight);
    text_put_file_warning(to.err, flight->input.path, sentence);
    close_streams(run, to);
}

static void on_restarted(void *context, size_t job)
{
    flight_restart(flights_at(&((Run *)context)->flights, job));
}

/* ---- In order, on the calling thread -----------------------------------------------------------
 */

static bool on_done(void *context, const ImgstatDone *done)
{
    Run *const run = context;
    const MeasureFiles *const what = run->what;
    size_t expected;
    Flight *const flight = flights_land(&run->flights, &expected);
    if (flight->out_bytes + flight->err_bytes > 0)
        progress_clear(&run->progress);
    if (flight->out_bytes > 0 && what->emit != NULL) {
        what->emit(what->context, flight->out, flight->out_bytes);
        flight->out_bytes = 0;
    }
    flight_print(flight);
    if (done->result != IMGSTAT_OK || done->lost_rows > 0)
        status_raise(STATUS_FAILED);
    flight_destroy(flight);
    run->measured++;
    run->failed += done->result != IMGSTAT_OK;
    progress_show(&run->progress, run->measured, expected);
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

/* Measures all inputs. False: nothing more can be measured. */
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
    const ImgstatJobStream stream = flights_stream(&run->flights);
    ImgstatError error;
    const ImgstatResult result = imgstat_batch_measure_stream(&batch, &stream, &error);
    if (result == IMGSTAT_OK)
        return status_interrupted() == 0;
    progress_clear(&run->progress);
    fprintf(stderr, "%s: %s\n", o->command, error.message);
    status_raise(result == IMGSTAT_ERR_ARG ? STATUS_USAGE : STATUS_FAILED);
    return false;
}

void measure_files(const MeasureFiles *what)
{
    PartRun *const part = what->part;
    const Options *const o = part->options;
    const ImgstatWork work = {.measure = what->how, .together = o->by};
    InputJobs *const jobs = input_jobs_create(o, part->part, part->inputs, what->window);
    Run run = {.what = what, .direct = what->emit == NULL && what->window->n == 1};
    flights_init(&run.flights, jobs);
    run.progress = progress_begin("", what->window->n, o->quiet);
    run.device = plan_inputs(o, part->inputs, what->window, &work);
    run.direct = run.direct && !run.device.chosen;
    const bool good = measure(&run);
    progress_clear(&run.progress);
    part->complete = good;
    part->done = run.measured - run.failed;
    part->failed = run.failed;
    if (part->summarizes && good && run.measured > 1 && run.failed > 0)
        fprintf(stderr, "%zu measured, %zu failed\n", run.measured - run.failed, run.failed);
    flights_release(&run.flights); /* there are some after an error */
    input_jobs_destroy(jobs);
}
