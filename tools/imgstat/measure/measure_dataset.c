/* SPDX-License-Identifier: MIT */
/* measure_dataset.c: a batch of the library that merges what it measures; what is printed about an
 * input waits for its turn. */
#include "measure/measure_dataset.h"
#include "inputs/flights.h"
#include "inputs/plan.h"
#include "text/progress.h"
#include "text/status.h"
#include "text/text.h"

#include <stdlib.h>

typedef struct Run {
    PartRun *part;
    Flights flights;
    PlanDevice device;
    Progress progress;
    size_t all; /* inputs that the first read had */
} Run;

/* ---- What the library reports, on any thread ------------------------------------------------- */

static void print_time(const Flight *flight, const ImgstatMeasured *measured, FILE *err)
{
    char *const name = text_display(flight->input.path);
    fprintf(err, "%s: page %u, %s: %.1f ms\n", name, (unsigned)measured->number, measured->device,
            1e3 * measured->seconds);
    free(name);
}

static bool on_page(void *context, const ImgstatMeasured *measured)
{
    Run *const run = context;
    (void)text_use_points();
    const Options *const o = run->part->options;
    const bool failed = measured->result != IMGSTAT_OK;
    if (!failed && !o->verbose)
        return true;
    Flight *const flight = flights_at(&run->flights, measured->job);
    const FlightStreams to = flight_open(flight);
    if (failed)
        flight_fail(flight, o, measured, to);
    else
        print_time(flight, measured, to.err);
    flight_close(to);
    return true;
}

static void on_warned(void *context, size_t job, const char *sentence)
{
    Run *const run = context;
    if (run->part->options->quiet)
        return;
    Flight *const flight = flights_at(&run->flights, job);
    const FlightStreams to = flight_open(flight);
    text_put_file_warning(to.err, flight->input.path, sentence);
    flight_close(to);
}

static void on_restarted(void *context, size_t job)
{
    flight_restart(flights_at(&((Run *)context)->flights, job));
}

/* ---- In order, on the calling thread --------------------------------------------------------- */

static bool on_done(void *context, const ImgstatDone *done)
{
    Run *const run = context;
    size_t expected;
    Flight *const flight = flights_land(&run->flights, &expected);
    if (flight->out_bytes + flight->err_bytes > 0) {
        progress_clear(&run->progress);
        flight_print(flight);
    }
    if (done->result != IMGSTAT_OK)
        run->part->failed++;
    else
        run->part->done++;
    if (done->result != IMGSTAT_OK || done->lost_rows > 0)
        status_raise(STATUS_FAILED);
    flight_destroy(flight);
    progress_show(&run->progress, run->part->done + run->part->failed, expected);
    return status_interrupted() == 0;
}

static bool on_reading(void *context, size_t files)
{
    Run *const run = context;
    flight_destroy(flights_land(&run->flights, NULL));
    progress_show(&run->progress, files, run->all);
    return status_interrupted() == 0;
}

static void on_fallen_back(void *context, const char *why)
{
    Run *const run = context;
    progress_clear(&run->progress);
    plan_report_fall_back(run->part->options, why);
    run->device = (PlanDevice){.name = "cpu"};
}

/* ---- The whole ------------------------------------------------------------------------------- */

static ImgstatMeasureBatch batch_of(Run *run, const ImgstatMeasure *how)
{
    const Options *const o = run->part->options;
    return (ImgstatMeasureBatch){.how = how,
                                 .open = options_open(o),
                                 .by = IMGSTAT_BY_ALL,
                                 .device = run->device.name,
                                 .fallen_back = run->device.chosen ? on_fallen_back : NULL,
                                 .threads = o->jobs,
                                 .memory = o->transform.memory,
                                 .page = on_page,
                                 .warned = on_warned,
                                 .restarted = on_restarted,
                                 .progress = on_done,
                                 .reading = on_reading,
                                 .context = run,
                                 .peers = run->part->peers};
}

static void note_unmatched(const Options *o, const InputJobs *jobs, size_t n)
{
    const char *first;
    const size_t unmatched = input_jobs_unmatched(jobs, &first);
    if (unmatched > 0 && !o->quiet)
        group_name_report(&o->group, o->command, unmatched, n, first);
}

void measure_report_unmatched(const Options *o, InputPart part)
{
    if (o->quiet || o->group.text == NULL)
        return;
    InputList none = {.n = 0};
    InputStream *const names = inputs_open(o, part, false);
    InputJobs *const jobs = input_jobs_create(o, part, names, &none);
    ImgstatJob job;
    Input input;
    size_t n = 0;
    for (; input_jobs_next(jobs, &job, &input); n++)
        input_release(&input);
    note_unmatched(o, jobs, n);
    input_jobs_destroy(jobs);
    inputs_close(names);
}

static bool complain(Run *run, ImgstatResult result, const ImgstatError *error)
{
    progress_clear(&run->progress);
    if (result == IMGSTAT_OK || run->part->follows)
        return result == IMGSTAT_OK;
    fprintf(stderr, "%s: %s\n", run->part->options->command, error->message);
    status_raise(result == IMGSTAT_ERR_ARG ? STATUS_USAGE : STATUS_FAILED);
    return false;
}

bool measure_dataset(PartRun *run, InputList *window, const ImgstatMeasure *how,
                     ImgstatDataset *into)
{
    const Options *const o = run->options;
    const ImgstatMeasure nothing = {.region = o->region};
    const ImgstatWork work = {.measure = how != NULL ? how : &nothing};
    InputJobs *const jobs = input_jobs_create(o, run->part, run->inputs, window);
    Run all = {.part = run};
    flights_init(&all.flights, jobs);
    all.progress = progress_begin("", window->n, o->quiet);
    all.device = plan_inputs(o, run->inputs, window, &work);
    const ImgstatJobStream stream = flights_stream(&all.flights);
    ImgstatMeasureBatch batch = batch_of(&all, work.measure);
    ImgstatError error;
    bool good = run->measured ||
                complain(&all, imgstat_dataset_measure(into, &batch, &stream, &error), &error);
    all.all = all.flights.begun;
    if (good && run->into == NULL)
        note_unmatched(o, jobs, all.all);
    else if (good && run->measured && !run->follows) /* no shard was about all names */
        measure_report_unmatched(o, (InputPart){0});
    batch.device = all.device.name;
    progress_clear(&all.progress);
    all.progress = progress_begin("read again: ", all.all, o->quiet || run->follows);
    if (good && how != NULL)
        good = complain(&all, imgstat_dataset_compute(into, &batch, &stream, &error), &error);
    run->complete = good;
    flights_release(&all.flights); /* there are some after an error */
    input_jobs_destroy(jobs);
    return good;
}
