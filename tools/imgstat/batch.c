/* SPDX-License-Identifier: MIT */
/* batch.c: workers take inputs in order, the calling thread hands results on in order. */
#include "batch.h"
#include "codec/prefetch.h"
#include "plan.h"
#include "progress.h"
#include "status.h"
#include "text.h"
#include "warm_up.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

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
    PlanDevice device;
    unsigned threads;
    size_t workers;
    pthread_mutex_t lock;   /* guards what follows */
    pthread_cond_t arrived; /* the outcome that is handed on next */
    pthread_cond_t room;    /* in outcomes */
    Outcome *outcomes;      /* a ring: input i is at i % capacity */
    size_t capacity;
    size_t next, printed;  /* first input not taken, first not handed on */
    ImgstatDevice *opened; /* for the worker that comes first */
} Run;

/* ---- One input ------------------------------------------------------------------------------- */

/* A worker's device, opened at its first use. */
typedef struct Worker {
    ImgstatDevice *device;
    bool fell_back; /* from a chosen device to the CPU, for good */
} Worker;

static bool may_fall_back(const Run *run, const Worker *worker)
{
    return run->device.chosen && strcmp(run->device.name, "cpu") != 0 && !worker->fell_back;
}

static bool ensure_device(const Run *run, Worker *worker, const char *path, FILE *err)
{
    const char *const name = worker->fell_back ? "cpu" : run->device.name;
    if (worker->device != NULL)
        return true;
    ImgstatError error;
    if (imgstat_device_open(name, run->threads, &worker->device, &error) == IMGSTAT_OK)
        return true;
    char *const shown = text_display(path);
    fprintf(err, "%s: %s\n", shown, error.message);
    free(shown);
    return false;
}

static Outcome handle(const Run *run, Worker *worker, size_t index)
{
    const Input *const input = &run->batch->inputs->items[index];
    Outcome outcome = {0};
    FILE *const out = open_memstream(&outcome.out, &outcome.out_bytes);
    FILE *const err = open_memstream(&outcome.err, &outcome.err_bytes);
    if (out == NULL || err == NULL) {
        fputs("imgstat: out of memory\n", stderr);
        exit(STATUS_FAILED);
    }
    outcome.ok = ensure_device(run, worker, input->path, err) &&
                 run->batch->work(run->batch->context, worker->device, input, out, err);
    if (fclose(out) != 0 || fclose(err) != 0) {
        fputs("imgstat: out of memory\n", stderr);
        exit(STATUS_FAILED);
    }
    return outcome;
}

static void drop(Outcome *outcome)
{
    free(outcome->out);
    free(outcome->err);
    *outcome = (Outcome){0};
}

/* An input that fails on a chosen GPU, for want of memory or because the GPU is lost, may succeed
 * on the CPU, whose word on it counts. Then the worker stays with the CPU. Standard input is gone.
 */
static Outcome handle_somehow(const Run *run, Worker *worker, size_t index)
{
    Outcome outcome = handle(run, worker, index);
    const Input *const input = &run->batch->inputs->items[index];
    if (outcome.ok || !may_fall_back(run, worker) || strcmp(input->path, "-") == 0)
        return outcome;
    Worker spare = {.fell_back = true};
    Outcome again = handle(run, &spare, index);
    if (!again.ok) {
        imgstat_device_close(spare.device);
    } else {
        if (run->batch->options->verbose)
            fprintf(stderr, "%s: %.*s; the CPU measures from here on\n",
                    run->batch->options->command,
                    (int)strcspn(outcome.err != NULL ? outcome.err : "", "\n"), outcome.err);
        imgstat_device_close(worker->device);
        *worker = spare;
    }
    drop(&outcome);
    return again;
}

/* The file that will be taken when this one is done, about. */
static void advise(const Run *run, size_t index)
{
    const InputList *const inputs = run->batch->inputs;
    const size_t next = index + run->workers;
    if (next < inputs->n && inputs->items[next].problem == NULL)
        (void)advise_soon(inputs->items[next].path, ADVISE_BYTES);
}

static void *worker_main(void *context)
{
    Run *const run = context;
    pthread_mutex_lock(&run->lock);
    Worker worker = {.device = run->opened};
    run->opened = NULL;
    while (run->next < run->batch->inputs->n) {
        if (run->next - run->printed >= run->capacity) {
            pthread_cond_wait(&run->room, &run->lock);
            continue;
        }
        const size_t index = run->next++;
        pthread_mutex_unlock(&run->lock);
        advise(run, index);

        Outcome outcome = handle_somehow(run, &worker, index);

        pthread_mutex_lock(&run->lock);
        outcome.done = true;
        run->outcomes[index % run->capacity] = outcome;
        if (index == run->printed) /* nobody waits for the others */
            pthread_cond_signal(&run->arrived);
    }
    pthread_mutex_unlock(&run->lock);
    imgstat_device_close(worker.device);
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
    drop(outcome);
}

static size_t collect(Run *run)
{
    const Batch *const batch = run->batch;
    const size_t n = batch->inputs->n;
    Progress progress = progress_begin("", n, batch->options->quiet);
    size_t failed = 0;
    for (size_t i = 0; i < n; i++) {
        pthread_mutex_lock(&run->lock);
        while (!run->outcomes[i % run->capacity].done)
            pthread_cond_wait(&run->arrived, &run->lock);
        Outcome outcome = run->outcomes[i % run->capacity];
        run->outcomes[i % run->capacity] = (Outcome){0};
        run->printed = i + 1;
        pthread_cond_signal(&run->room);
        pthread_mutex_unlock(&run->lock);

        if (outcome.out_bytes + outcome.err_bytes > 0)
            progress_clear(&progress);
        failed += !outcome.ok;
        hand_on(batch, &outcome);
        progress_show(&progress, i + 1, n);
    }
    pthread_mutex_lock(&run->lock);
    pthread_cond_broadcast(&run->room); /* there is nothing left to take */
    pthread_mutex_unlock(&run->lock);
    progress_clear(&progress);
    return failed;
}

/* One worker needs no thread of its own. */
static size_t run_serially(Run *run)
{
    const Batch *const batch = run->batch;
    const size_t n = batch->inputs->n;
    Progress progress = progress_begin("", n, batch->options->quiet);
    Worker worker = {.device = run->opened};
    run->opened = NULL;
    size_t failed = 0;
    for (size_t i = 0; i < n; i++) {
        Outcome outcome = {0};
        if (batch->emit == NULL && !may_fall_back(run, &worker)) {
            /* Straight to the streams: a file of many pages needs no memory for its results. */
            progress_clear(&progress);
            advise(run, i);
            outcome.ok = ensure_device(run, &worker, batch->inputs->items[i].path, stderr) &&
                         batch->work(batch->context, worker.device, &batch->inputs->items[i],
                                     stdout, stderr);
            status_flush_stdout();
        } else {
            outcome = handle_somehow(run, &worker, i);
            progress_clear(&progress);
        }
        failed += !outcome.ok;
        hand_on(batch, &outcome);
        progress_show(&progress, i + 1, n);
    }
    progress_clear(&progress);
    imgstat_device_close(worker.device);
    return failed;
}

static size_t run_in_parallel(Run *run, size_t n_workers)
{
    run->capacity = AHEAD_A_WORKER * n_workers;
    run->outcomes = text_alloc(run->capacity * sizeof *run->outcomes);
    for (size_t i = 0; i < run->capacity; i++)
        run->outcomes[i] = (Outcome){0};
    pthread_mutex_init(&run->lock, NULL);
    pthread_cond_init(&run->arrived, NULL);
    pthread_cond_init(&run->room, NULL);

    pthread_t *const workers = text_alloc(n_workers * sizeof *workers);
    size_t started = 0;
    while (started < n_workers && pthread_create(&workers[started], NULL, worker_main, run) == 0)
        started++;
    /* Fewer threads than asked for do the same work; without any there is no parallel run. */
    const size_t failed = started > 0 ? collect(run) : run_serially(run);
    for (size_t i = 0; i < started; i++)
        pthread_join(workers[i], NULL);

    free(workers);
    pthread_cond_destroy(&run->room);
    pthread_cond_destroy(&run->arrived);
    pthread_mutex_destroy(&run->lock);
    free(run->outcomes);
    return failed;
}

void batch_run(const Batch *batch)
{
    const PlanThreads plan = plan_threads(batch->options, batch->inputs);
    const ImgstatWork work = {.measure = batch->how};
    Run run = {.batch = batch,
               .device = plan_device(batch->options, batch->inputs, &work),
               .threads = plan.threads_a_worker,
               .workers = plan.workers};
    /* A device that cannot be opened is one error, not one per input. */
    run.opened = warm_up(batch->options, batch->inputs, run.threads, &run.device);
    if (run.opened == NULL)
        return;
    if (batch->options->verbose)
        fprintf(stderr, "%s: device %s: %s\n", batch->options->command, run.device.name,
                run.device.why);
    const size_t n = batch->inputs->n;
    const size_t failed =
        plan.workers > 1 ? run_in_parallel(&run, plan.workers) : run_serially(&run);
    if (n > 1 && failed > 0)
        fprintf(stderr, "%zu measured, %zu failed\n", n - failed, failed);
}
