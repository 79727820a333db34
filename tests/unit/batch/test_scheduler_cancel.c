/* SPDX-License-Identifier: MIT */
/* test_scheduler_cancel.c: batches that are cancelled at any moment, from any thread and in each
 * callback. Jobs are reported in order; what was reported is there; every file that is there is
 * what it is without a cancellation; nothing else is left. IMGSTAT_STRESS_JOBS: how many jobs. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* mkdtemp */
#endif
#include "imgstat.h"
#include "support.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { INPUTS = 6, WAYS = 4, MOST = 24, JOBS = 4000 };

static const char *const names[INPUTS] = {"good-rgb.png",    "good-gray16.png",  "good-tiled.tif",
                                          "good-planar.tif", "good-example.tif", "bad-cut.tif"};
static const ImgstatBatch ways[WAYS] = {
    {.method = {.transform = IMGSTAT_PERCENTILE}},
    {.method = {.transform = IMGSTAT_CLAHE, .tiles_x = 2, .tiles_y = 2}},
    {.method = {.transform = IMGSTAT_EQUALIZE}, .skip_existing = true},
    /* of one file many times over */
    {.method = {.transform = IMGSTAT_STRETCH}, .together = IMGSTAT_BY_ALL}};

typedef struct Bytes {
    uint8_t *at; /* NULL: the job fails */
    size_t n;
} Bytes;

static char folder[64], inputs[INPUTS][300], outputs[MOST][96];
static Bytes expected[WAYS][INPUTS];
static uint64_t state;

static Bytes read_whole(const char *path)
{
    Bytes bytes = {0};
    struct stat st;
    FILE *const file = fopen(path, "rb");
    if (!file)
        return bytes;
    cr_assert_eq(fstat(fileno(file), &st), 0);
    bytes.n = (size_t)st.st_size;
    bytes.at = malloc(bytes.n + 1);
    cr_assert(bytes.at && fread(bytes.at, 1, bytes.n, file) == bytes.n);
    fclose(file);
    return bytes;
}

static void begin(void)
{
    const char *const testdata = getenv("IMGSTAT_TESTDATA");
    strcpy(folder, access("/dev/shm", W_OK) == 0 ? "/dev/shm/cancel-XXXXXX" : "/tmp/cancel-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    for (size_t i = 0; i < MOST; i++)
        snprintf(outputs[i], sizeof outputs[i], "%s/%zu", folder, i);
    for (size_t i = 0; i < INPUTS; i++)
        snprintf(inputs[i], sizeof inputs[i], "%s/%s", testdata ? testdata : "testdata", names[i]);
    for (size_t way = 0; way < WAYS; way++)
        for (size_t i = 0; i < INPUTS; i++) {
            const ImgstatJob job = {.input = inputs[i], .output = outputs[0]};
            ImgstatBatch batch = ways[way];
            batch.threads = 1;
            ImgstatError err = {.code = IMGSTAT_OK};
            (void)!imgstat_batch_run(&batch, &job, 1, &err);
            expected[way][i] = read_whole(outputs[0]);
            cr_assert((expected[way][i].at != NULL) == (i != INPUTS - 1), "%s: %s", job.input,
                      err.message);
            (void)unlink(outputs[0]);
        }
}

static void end(void)
{
    for (size_t way = 0; way < WAYS; way++)
        for (size_t i = 0; i < INPUTS; i++)
            free(expected[way][i].at);
    cr_assert_eq(rmdir(folder), 0);
}

TestSuite(cancel, .init = begin, .fini = end);

/* When a batch is cancelled. 0: not by this. */
typedef struct Moment {
    size_t asked_at;               /* call of `cancelled` */
    size_t reported_at, agreed_at; /* calls that return false */
    long after_ns;                 /* from another thread */
    size_t reported, agreed;       /* calls so far */
    size_t next;                   /* the least job that may be reported */
    atomic_size_t asked;
    atomic_bool now;
    size_t job_of[MOST]; /* inputs */
    bool is_good[MOST];
} Moment;

static bool on_cancelled(void *context)
{
    Moment *const moment = context;
    const size_t asked = atomic_fetch_add(&moment->asked, 1) + 1;
    return atomic_load(&moment->now) || (moment->asked_at > 0 && asked >= moment->asked_at);
}

static bool on_progress(void *context, const ImgstatDone *done)
{
    Moment *const moment = context;
    cr_assert_geq(done->job, moment->next, "in order"); /* but for those that were cancelled */
    moment->next = done->job + 1;
    cr_assert_eq(done->result == IMGSTAT_OK, moment->job_of[done->job] != INPUTS - 1, "%s",
                 done->message);
    moment->is_good[done->job] = done->result == IMGSTAT_OK;
    return ++moment->reported != moment->reported_at;
}

static bool on_agreed(void *context, const ImgstatTransfer *transfer)
{
    Moment *const moment = context;
    (void)transfer;
    return ++moment->agreed != moment->agreed_at;
}

static void *cancel_later(void *context)
{
    Moment *const moment = context;
    nanosleep(&(struct timespec){.tv_nsec = moment->after_ns}, NULL);
    atomic_store(&moment->now, true);
    return NULL;
}

/* Removes the outputs, and checks them. */
static void sweep(size_t way, const Moment *moment, size_t n)
{
    size_t there = 0, entries = 0;
    for (size_t i = 0; i < n; i++) {
        const Bytes *const should = &expected[way][moment->job_of[i]];
        Bytes is = read_whole(outputs[i]);
        cr_assert(is.at || !moment->is_good[i], "%s is reported and not there", outputs[i]);
        cr_assert(!is.at || (is.n == should->n && memcmp(is.at, should->at, is.n) == 0),
                  "%s of %s is not whole", outputs[i], inputs[moment->job_of[i]]);
        there += is.at != NULL;
        free(is.at);
    }
    DIR *const dir = opendir(folder);
    for (const struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir))
        entries += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(dir);
    cr_assert_eq(entries, there, "%zu files, %zu outputs", entries, there);
    for (size_t i = 0; i < n; i++)
        (void)unlink(outputs[i]);
}

static Moment draw_moment(size_t way, size_t n)
{
    Moment moment = {.asked = 0};
    switch (splitmix64(&state) % 5) {
    case 0:
        moment.asked_at = 1 + splitmix64(&state) % (8 * n);
        break;
    case 1:
        moment.reported_at = 1 + splitmix64(&state) % n;
        break;
    case 2:
        moment.after_ns = (long)(splitmix64(&state) % (200000 * n));
        break;
    case 3:
        moment.agreed_at = 1;
        break;
    default: /* not at all */
        break;
    }
    /* One file alone where all have one transfer; and none that fails, which would end it. */
    const size_t only = splitmix64(&state) % (INPUTS - 1);
    for (size_t i = 0; i < n; i++)
        moment.job_of[i] =
            ways[way].together == IMGSTAT_BY_ALL ? only : splitmix64(&state) % INPUTS;
    return moment;
}

/* Returns whether it was cancelled. */
static bool run_one(size_t way, size_t n)
{
    ImgstatJob jobs[MOST];
    Moment moment = draw_moment(way, n);
    for (size_t i = 0; i < n; i++)
        jobs[i] = (ImgstatJob){.input = inputs[moment.job_of[i]], .output = outputs[i]};
    ImgstatBatch batch = ways[way];
    batch.threads = 1 + (unsigned)(splitmix64(&state) % 4);
    batch.cancelled = on_cancelled;
    batch.progress = on_progress;
    batch.agreed = on_agreed;
    batch.context = &moment;
    pthread_t thread;
    const bool later = moment.after_ns > 0;
    cr_assert(!later || pthread_create(&thread, NULL, cancel_later, &moment) == 0);
    ImgstatError err = {.code = IMGSTAT_OK};
    const ImgstatResult result = imgstat_batch_run(&batch, jobs, n, &err);
    if (later)
        pthread_join(thread, NULL);
    cr_assert(result == IMGSTAT_OK || result == IMGSTAT_ERR_CANCELLED, "%s", err.message);
    cr_assert_eq(result, err.code);
    cr_assert(result != IMGSTAT_OK || moment.reported == n ||
              moment.reported == moment.reported_at);
    sweep(way, &moment, n);
    return moment.reported < n;
}

Test(cancel, at_any_moment)
{
    const char *const wanted = getenv("IMGSTAT_STRESS_JOBS"), *const seed = getenv("IMGSTAT_SEED");
    const size_t jobs = wanted ? strtoull(wanted, NULL, 10) : all_run() ? JOBS : JOBS / 8;
    size_t done = 0, batches = 0, cancelled = 0;
    state = seed ? strtoull(seed, NULL, 10) : 1;
    while (done < jobs) {
        const size_t n = 1 + splitmix64(&state) % MOST;
        cancelled += run_one(batches++ % WAYS, n);
        done += n;
    }
    fprintf(stderr, "%zu jobs in %zu batches, %zu cancelled\n", done, batches, cancelled);
    cr_assert(cancelled > batches / 8);
}
