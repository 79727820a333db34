/* SPDX-License-Identifier: MIT */
/* measure_dataset.c: a batch of the library that merges what it measures; what is printed about an
 * input waits for its turn. */
#include "measure_dataset.h"
#include "input_jobs.h"
#include "memory_stream.h"
#include "plan.h"
#include "print_json.h"
#include "progress.h"
#include "status.h"
#include "text.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* An input that is being measured, and what there is to print about it. */
typedef struct Flight {
    struct Flight *next;
    Input input;
    FILE *out, *err; /* NULL: nothing yet */
    char *out_text, *err_text;
    size_t out_bytes, err_bytes;
} Flight;

typedef struct Run {
    PartRun *part;
    InputJobs *jobs;
    PlanDevice device;
    Progress progress;
    pthread_mutex_t lock; /* guards the list and `expected` */
    Flight *first, *last;
    size_t expected;        /* inputs that this read will have; 0: not known */
    size_t begun, reported; /* inputs of this read; `first` is the one numbered `reported` */
    size_t all;             /* inputs that the first read had */
} Run;

/* ---- Texts ----------------------------------------------------------------------------------- */

static void add_flight(Run *run, const Input *input)
{
    Flight *const flight = text_alloc(sizeof *flight);
    *flight = (Flight){.input = *input};
    pthread_mutex_lock(&run->lock);
    if (run->last != NULL)
        run->last->next = flight;
    else
        run->first = flight;
    run->last = flight;
    run->begun++;
    pthread_mutex_unlock(&run->lock);
}

/* Few are under way at a time. */
static Flight *flight_of(Run *run, size_t job)
{
    pthread_mutex_lock(&run->lock);
    Flight *flight = run->first;
    for (size_t i = run->reported; i < job; i++)
        flight = flight->next;
    pthread_mutex_unlock(&run->lock);
    return flight;
}

static void open_texts(Flight *flight)
{
    if (flight->out != NULL)
        return;
    flight->out = memory_stream_open(&flight->out_text, &flight->out_bytes);
    flight->err = memory_stream_open(&flight->err_text, &flight->err_bytes);
}

static void close_texts(Flight *flight)
{
    if (flight->out != NULL) {
        memory_stream_close(flight->out);
        memory_stream_close(flight->err);
    }
    flight->out = flight->err = NULL;
}

static void drop_texts(Flight *flight)
{
    close_texts(flight);
    free(flight->out_text);
    free(flight->err_text);
    flight->out_text = flight->err_text = NULL;
    flight->out_bytes = flight->err_bytes = 0;
}

static void drop_flight(Flight *flight)
{
    drop_texts(flight);
    input_release(&flight->input);
    free(flight);
}

/* Takes the first one off the list. expected: NULL, or receives the number of inputs. */
static Flight *land(Run *run, size_t *expected)
{
    pthread_mutex_lock(&run->lock);
    Flight *const flight = run->first;
    run->first = flight->next;
    run->last = run->first != NULL ? run->last : NULL;
    run->reported++;
    if (expected != NULL)
        *expected = run->expected;
    pthread_mutex_unlock(&run->lock);
    return flight;
}

static void drop_flights(Run *run)
{
    while (run->first != NULL)
        drop_flight(land(run, NULL));
}

/* ---- What the library asks and reports, on any thread ---------------------------------------- */

/* For the thread that reports: the stream is of the one that takes jobs. */
static void note_expected(Run *run)
{
    size_t n;
    const bool known = input_jobs_count(run->jobs, &n);
    pthread_mutex_lock(&run->lock);
    run->expected = known ? n : 0;
    pthread_mutex_unlock(&run->lock);
}

static bool next_job(void *context, ImgstatJob *job)
{
    Run *const run = context;
    Input input;
    const bool more = input_jobs_next(run->jobs, job, &input);
    note_expected(run);
    if (more)
        add_flight(run, &input);
    return more;
}

static bool restart_jobs(void *context)
{
    Run *const run = context;
    drop_flights(run);
    run->begun = run->reported = 0;
    return input_jobs_restart(run->jobs);
}

static bool on_page(void *context, const ImgstatMeasured *measured)
{
    Run *const run = context;
    const Options *const o = run->part->options;
    if (measured->result == IMGSTAT_OK) {
        if (!o->verbose)
            return true;
        Flight *const flight = flight_of(run, measured->job);
        open_texts(flight);
        char *const name = text_display(flight->input.path);
        fprintf(flight->err, "%s: page %u, %s: %.1f ms\n", name, (unsigned)measured->number,
                measured->device, 1e3 * measured->seconds);
        free(name);
        return true;
    }
    if (run->part->silent)
        return true;
    Flight *const flight = flight_of(run, measured->job);
    open_texts(flight);
    fprintf(flight->err, "%s\n", measured->message);
    if (o->style == OUTPUT_JSON)
        print_json_error(flight->out, flight->input.path,
                         measured->has_number ? &measured->number : NULL,
                         imgstat_result_name(measured->result), measured->message);
    return true;
}

static void on_warned(void *context, size_t job, const char *sentence)
{
    Run *const run = context;
    if (run->part->options->quiet)
        return;
    Flight *const flight = flight_of(run, job);
    open_texts(flight);
    text_put_file_warning(flight->err, flight->input.path, sentence);
}

static void on_restarted(void *context, size_t job)
{
    drop_texts(flight_of(context, job));
}

/* ---- In order, on the calling thread --------------------------------------------------------- */

static bool on_done(void *context, const ImgstatDone *done)
{
    Run *const run = context;
    size_t expected;
    Flight *const flight = land(run, &expected);
    close_texts(flight);
    if (flight->out_bytes + flight->err_bytes > 0) {
        progress_clear(&run->progress);
        fwrite(flight->out_text, 1, flight->out_bytes, stdout);
        status_flush_stdout();
        fwrite(flight->err_text, 1, flight->err_bytes, stderr);
    }
    if (done->result != IMGSTAT_OK) {
        run->part->failed++;
        status_raise(STATUS_FAILED);
    } else {
        run->part->done++;
    }
    drop_flight(flight);
    progress_show(&run->progress, run->reported, expected);
    return status_interrupted() == 0;
}

static bool on_reading(void *context, size_t files)
{
    Run *const run = context;
    drop_flight(land(run, NULL));
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

static PlanDevice plan(const Options *o, const InputList *window, const ImgstatMeasure *how)
{
    const ImgstatWork work = {.measure = how};
    ImgstatJob *const jobs = text_alloc(window->n * sizeof *jobs);
    size_t n = 0;
    for (size_t i = 0; i < window->n; i++)
        if (window->items[i].problem == NULL)
            jobs[n++] = input_job(&window->items[i]);
    const PlanDevice device = plan_device(o, jobs, n, &work);
    free(jobs);
    return device;
}

static void report_unmatched(const Run *run)
{
    const Options *const o = run->part->options;
    const char *first;
    const size_t n = input_jobs_unmatched(run->jobs, &first);
    if (n > 0 && !o->quiet)
        group_name_report(&o->group, o->command, n, run->all, first);
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
    Run all = {.part = run, .jobs = input_jobs_create(o, run->part, run->inputs, window)};
    pthread_mutex_init(&all.lock, NULL);
    all.progress = progress_begin("", window->n, o->quiet);
    all.device = plan(o, window, how != NULL ? how : &nothing);
    const ImgstatJobStream stream = {.next = next_job, .restart = restart_jobs, .context = &all};
    ImgstatMeasureBatch batch = batch_of(&all, how != NULL ? how : &nothing);
    ImgstatError error;
    bool good = run->measured ||
                complain(&all, imgstat_dataset_measure(into, &batch, &stream, &error), &error);
    all.all = all.begun;
    if (good && !run->measured)
        report_unmatched(&all);
    batch.device = all.device.name;
    progress_clear(&all.progress);
    all.progress = progress_begin("read again: ", all.all, o->quiet || run->follows);
    if (good && how != NULL)
        good = complain(&all, imgstat_dataset_compute(into, &batch, &stream, &error), &error);
    run->complete = good;
    drop_flights(&all); /* there are some after an error */
    input_jobs_destroy(all.jobs);
    pthread_mutex_destroy(&all.lock);
    return good;
}
