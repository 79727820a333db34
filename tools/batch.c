/* SPDX-License-Identifier: MIT */
/* batch.c: workers take inputs in order, the calling thread hands results on in order. */
#include "batch.h"
#include "plan.h"
#include "status.h"
#include "text.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Results wait for an earlier input at most this many inputs per worker: that bounds memory. */
enum { AHEAD_A_WORKER = 4 };

/* What one input gave. */
typedef struct Outcome {
    bool done, ok;
    char *out, *err;
    size_t out_bytes, err_bytes;
} Outcome;

typedef struct Run {
    const Batch *batch;
    const char *device_name;
    unsigned threads;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    Outcome *outcomes; /* a ring: input i is at i % capacity */
    size_t capacity;
    size_t next, printed; /* first input not taken, first not handed on */
} Run;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- Progress, where standard error is a terminal -------------------------------------------- */

typedef struct Progress {
    bool shown, wanted;
    double start, last;
} Progress;

static void progress_clear(Progress *progress)
{
    if (progress->shown)
        fputs("\r\033[K", stderr);
    progress->shown = false;
}

static void progress_show(Progress *progress, size_t done, size_t n)
{
    const double time = now();
    if (!progress->wanted || done == 0 || time - progress->last < 0.2)
        return;
    progress->last = time;
    const double rate = (double)done / (time - progress->start);
    fprintf(stderr, "\r%zu of %zu, %.3g a second, %.0f s left\033[K", done, n, rate,
            (double)(n - done) / rate);
    progress->shown = true;
}

/* ---- One input ------------------------------------------------------------------------------- */

/* Opens the worker's device at its first use. */
static bool ensure_device(const Run *run, ImgstatDevice **device, const char *path, FILE *err)
{
    if (*device != NULL)
        return true;
    ImgstatError error;
    if (imgstat_device_open(run->device_name, run->threads, device, &error) == IMGSTAT_OK)
        return true;
    char *const name = text_display(path);
    fprintf(err, "%s: %s\n", name, error.message);
    free(name);
    return false;
}

static void handle(const Run *run, ImgstatDevice **device, size_t index, Outcome *outcome)
{
    const Input *const input = &run->batch->inputs->items[index];
    FILE *const out = open_memstream(&outcome->out, &outcome->out_bytes);
    FILE *const err = open_memstream(&outcome->err, &outcome->err_bytes);
    if (out == NULL || err == NULL) {
        fputs("imgstat: out of memory\n", stderr);
        exit(STATUS_FAILED);
    }
    outcome->ok = ensure_device(run, device, input->path, err) &&
                  run->batch->work(run->batch->context, *device, input, out, err);
    if (fclose(out) != 0 || fclose(err) != 0) {
        fputs("imgstat: out of memory\n", stderr);
        exit(STATUS_FAILED);
    }
}

static void *worker_main(void *context)
{
    Run *const run = context;
    ImgstatDevice *device = NULL;
    pthread_mutex_lock(&run->lock);
    while (run->next < run->batch->inputs->n) {
        if (run->next - run->printed >= run->capacity) {
            pthread_cond_wait(&run->changed, &run->lock);
            continue;
        }
        const size_t index = run->next++;
        pthread_mutex_unlock(&run->lock);

        Outcome outcome = {0};
        handle(run, &device, index, &outcome);

        pthread_mutex_lock(&run->lock);
        outcome.done = true;
        run->outcomes[index % run->capacity] = outcome;
        pthread_cond_broadcast(&run->changed);
    }
    pthread_mutex_unlock(&run->lock);
    imgstat_device_close(device);
    return NULL;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static void hand_on(const Batch *batch, Outcome *outcome)
{
    if (outcome->out_bytes > 0) {
        if (batch->emit != NULL)
            batch->emit(batch->context, outcome->out, outcome->out_bytes);
        else
            fwrite(outcome->out, 1, outcome->out_bytes, stdout);
        status_flush_stdout();
    }
    if (outcome->err_bytes > 0)
        fwrite(outcome->err, 1, outcome->err_bytes, stderr);
    if (!outcome->ok)
        status_raise(STATUS_FAILED);
    free(outcome->out);
    free(outcome->err);
}

static size_t collect(Run *run)
{
    const Batch *const batch = run->batch;
    const size_t n = batch->inputs->n;
    Progress progress = {.wanted = n > 1 && !batch->options->quiet && isatty(STDERR_FILENO) == 1,
                         .start = now()};
    size_t failed = 0;
    for (size_t i = 0; i < n; i++) {
        pthread_mutex_lock(&run->lock);
        while (!run->outcomes[i % run->capacity].done)
            pthread_cond_wait(&run->changed, &run->lock);
        Outcome outcome = run->outcomes[i % run->capacity];
        run->outcomes[i % run->capacity] = (Outcome){0};
        run->printed = i + 1;
        pthread_cond_broadcast(&run->changed);
        pthread_mutex_unlock(&run->lock);

        if (outcome.out_bytes + outcome.err_bytes > 0)
            progress_clear(&progress);
        failed += !outcome.ok;
        hand_on(batch, &outcome);
        progress_show(&progress, i + 1, n);
    }
    progress_clear(&progress);
    return failed;
}

/* One worker needs no thread of its own. */
static size_t run_serially(Run *run)
{
    const Batch *const batch = run->batch;
    const size_t n = batch->inputs->n;
    Progress progress = {.wanted = n > 1 && !batch->options->quiet && isatty(STDERR_FILENO) == 1,
                         .start = now()};
    ImgstatDevice *device = NULL;
    size_t failed = 0;
    for (size_t i = 0; i < n; i++) {
        Outcome outcome = {0};
        if (batch->emit == NULL) {
            /* Straight to the streams: a file of many pages needs no memory for its results. */
            progress_clear(&progress);
            outcome.ok =
                ensure_device(run, &device, batch->inputs->items[i].path, stderr) &&
                batch->work(batch->context, device, &batch->inputs->items[i], stdout, stderr);
            status_flush_stdout();
        } else {
            handle(run, &device, i, &outcome);
            progress_clear(&progress);
        }
        failed += !outcome.ok;
        hand_on(batch, &outcome);
        progress_show(&progress, i + 1, n);
    }
    progress_clear(&progress);
    imgstat_device_close(device);
    return failed;
}

static size_t run_in_parallel(Run *run, size_t n_workers)
{
    run->capacity = AHEAD_A_WORKER * n_workers;
    run->outcomes = text_alloc(run->capacity * sizeof *run->outcomes);
    for (size_t i = 0; i < run->capacity; i++)
        run->outcomes[i] = (Outcome){0};
    pthread_mutex_init(&run->lock, NULL);
    pthread_cond_init(&run->changed, NULL);

    pthread_t *const workers = text_alloc(n_workers * sizeof *workers);
    size_t started = 0;
    while (started < n_workers && pthread_create(&workers[started], NULL, worker_main, run) == 0)
        started++;
    /* Fewer threads than asked for do the same work; without any there is no parallel run. */
    const size_t failed = started > 0 ? collect(run) : run_serially(run);
    for (size_t i = 0; i < started; i++)
        pthread_join(workers[i], NULL);

    free(workers);
    pthread_cond_destroy(&run->changed);
    pthread_mutex_destroy(&run->lock);
    free(run->outcomes);
    return failed;
}

/* A device that cannot be opened is one error, not one per input. */
static bool try_device(const Run *run)
{
    ImgstatDevice *device = NULL;
    ImgstatError error;
    const ImgstatResult result =
        imgstat_device_open(run->device_name, run->threads, &device, &error);
    imgstat_device_close(device);
    if (result == IMGSTAT_OK)
        return true;
    fprintf(stderr, "%s: %s\n", run->batch->options->command, error.message);
    status_raise(result == IMGSTAT_ERR_ARG ? STATUS_USAGE : STATUS_FAILED);
    return false;
}

void batch_run(const Batch *batch)
{
    const PlanThreads plan = plan_threads(batch->options, batch->inputs);
    Run run = {.batch = batch,
               .device_name = plan_device(batch->options, batch->inputs),
               .threads = plan.threads_a_worker};
    /* The CPU is always there; opening it once more would only cost time. */
    if (strcmp(run.device_name, "cpu") != 0 && !try_device(&run))
        return;
    const size_t n = batch->inputs->n;
    const size_t failed =
        plan.workers > 1 ? run_in_parallel(&run, plan.workers) : run_serially(&run);
    if (n > 1 && failed > 0)
        fprintf(stderr, "%zu measured, %zu failed\n", n - failed, failed);
}
