/* SPDX-License-Identifier: MIT */
/* test_feeding.c: batches that a device decodes for (a stand-in, stand_in.c), and what becomes of
 * them if it is lost and the processor may take over. */
#include "batch/feeding.h"

#include "batch/job.h"
#include "batch/seats.h"
#include "imgstat.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { JOBS = 40 };

static const char *const names[] = {"good-rgb.png", "good-gray16.png", "good-palette.png",
                                    "good-interlaced.png", "bad-crc.png"};
enum { NAMES = sizeof names / sizeof *names };
static char path[NAMES][512];

static void begin(void)
{
    const char *const module = getenv("IMGSTAT_STAND_IN"), *folder = getenv("IMGSTAT_TESTDATA");
    if (!module)
        cr_skip_test("IMGSTAT_STAND_IN names no module");
    setenv("IMGSTAT_CUDA_MODULE", module, 1);
    setenv("IMGSTAT_STAND_IN_GPUS", "1", 1);
    setenv("IMGSTAT_DECODE", "threads", 1);
    for (size_t i = 0; i < NAMES; i++)
        snprintf(path[i], sizeof path[i], "%s/%s", folder ? folder : "testdata", names[i]);
}

TestSuite(feeding, .init = begin);

typedef struct Told {
    size_t reports, good, bad, out_of_order, device;
    double mean[JOBS];
} Told;

static void on_fallen(void *context, const char *why)
{
    Told *const told = context;
    cr_expect(strstr(why, "cuda:0: it was unplugged"), "%s", why); /* behind a name, or not */
    told->reports++;
}

static bool on_page(void *context, const ImgstatMeasured *measured)
{
    Told *const told = context;
    ImgstatStats stats;
    if (measured->record) {
        imgstat_record_stats(measured->record, 0, &stats);
        told->mean[measured->job] = stats.mean;
    }
    return true;
}

static bool on_done(void *context, const ImgstatDone *done)
{
    Told *const told = context;
    told->out_of_order += done->job != told->good + told->bad;
    told->good += done->result == IMGSTAT_OK;
    told->bad += done->result != IMGSTAT_OK;
    told->device += done->result == IMGSTAT_ERR_DEVICE;
    return true;
}

static bool next_job(void *context, ImgstatJob *job)
{
    size_t *const at = context;
    *job = (ImgstatJob){.input = path[*at % NAMES]};
    return (*at)++ < JOBS;
}

/* Of an array, or of a stream. */
static ImgstatResult measure_jobs(const char *device, const char *fault, bool reports, bool streams,
                                  Told *told)
{
    ImgstatJob jobs[JOBS];
    ImgstatError error;
    size_t at = 0;
    const ImgstatJobStream stream = {.next = next_job, .context = &at};
    *told = (Told){0};
    setenv("IMGSTAT_STAND_IN_FAULT", fault, 1);
    for (size_t i = 0; i < JOBS; i++)
        jobs[i] = (ImgstatJob){.input = path[i % NAMES]};
    const ImgstatMeasureBatch batch = {.device = device,
                                       .threads = 2,
                                       .fallen_back = reports ? on_fallen : NULL,
                                       .page = on_page,
                                       .progress = on_done,
                                       .context = told};
    const ImgstatResult res = streams ? imgstat_batch_measure_stream(&batch, &stream, &error)
                                      : imgstat_batch_measure(&batch, jobs, JOBS, &error);
    cr_expect_eq(told->out_of_order, 0);
    return res;
}

static ImgstatResult measure(const char *device, const char *fault, bool reports, Told *told)
{
    return measure_jobs(device, fault, reports, false, told);
}

Test(feeding, the_processor_takes_over)
{
    Told cpu, told;
    cr_assert_eq(measure("cpu", "", true, &cpu), IMGSTAT_OK);
    cr_assert_eq(cpu.bad, JOBS / NAMES);
    static const char *const faults[] = {"", "0:0", "0:1", "0:2", "0:3", "0:4"};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        cr_assert_eq(measure("cuda", faults[i], true, &told), IMGSTAT_OK);
        cr_expect_eq(told.reports, i > 0, "%s: %zu reports", faults[i], told.reports);
        cr_expect(told.good == cpu.good && told.bad == cpu.bad, "%s: %zu failed", faults[i],
                  told.bad);
        cr_expect_eq(memcmp(told.mean, cpu.mean, sizeof cpu.mean), 0, "%s", faults[i]);
        cr_assert_eq(measure_jobs("cuda", faults[i], true, true, &told), IMGSTAT_OK);
        cr_expect(told.reports == (i > 0) && told.good == cpu.good && told.bad == cpu.bad,
                  "%s: a stream", faults[i]);
        cr_expect_eq(memcmp(told.mean, cpu.mean, sizeof cpu.mean), 0, "%s: a stream", faults[i]);
    }
}

/* Each worker that feeds loses its pages with its device, also in a job of the processor's while it
 * fills a batch: it crashed there. */
Test(feeding, the_processor_writes_what_a_lost_device_had)
{
    enum { FAULTS = 30 };
    static char output[JOBS][64];
    ImgstatJob jobs[JOBS];
    Told told;
    char folder[] = "/tmp/imgstat-feeding-XXXXXX";
    cr_assert_not_null(mkdtemp(folder));
    for (size_t i = 0; i < JOBS; i++) {
        snprintf(output[i], sizeof output[i], "%s/%zu.png", folder, i);
        jobs[i] = (ImgstatJob){.input = path[i % NAMES], .output = output[i]};
    }
    const ImgstatBatch batch = {.device = "cuda",
                                .method = {.transform = IMGSTAT_STRETCH},
                                .threads = 2,
                                .write = {.replace = true},
                                .fallen_back = on_fallen,
                                .progress = on_done,
                                .context = &told};
    for (int at = 1; at <= FAULTS; at += 3) {
        char fault[16];
        snprintf(fault, sizeof fault, "0:%d", at);
        setenv("IMGSTAT_STAND_IN_FAULT", fault, 1);
        told = (Told){0};
        cr_expect_eq(imgstat_batch_run(&batch, jobs, JOBS, NULL), IMGSTAT_OK);
        cr_expect(told.bad == JOBS / NAMES && told.good == JOBS - told.bad && told.reports == 1,
                  "%s: %zu are written, %zu reports", fault, told.good, told.reports);
    }
    for (size_t i = 0; i < JOBS; i++)
        (void)remove(output[i]);
    cr_expect_eq(rmdir(folder), 0);
}

Test(feeding, a_named_device_that_is_lost_fails_its_jobs)
{
    Told told;
    for (int opened = 0; opened < 3; opened++) { /* two calls prepare it */
        const char fault[] = {'0', ':', (char)('0' + opened), '\0'};
        cr_expect_eq(measure("cuda", fault, false, &told), IMGSTAT_ERR_DEVICE);
        cr_expect_eq(told.good + told.bad, 0);
    }
    cr_assert_eq(measure("cuda", "0:3", false, &told), IMGSTAT_OK);
    cr_expect(told.device > 0 && told.good + told.bad == JOBS, "%zu of them", told.device);
}

/* ---- The last jobs ---- */

enum { LAST_JOBS = 30, SECONDS = 20 };

typedef struct Last {
    Told told;
    DeviceList devices;
    Feeding *feeding;
    atomic_size_t fed;              /* jobs whose page the device has decoded */
    atomic_bool waits, alone_ended; /* a worker that fills a second batch; the one that does not */
    double end;
    size_t done;
} Last;

typedef struct LastWorker {
    Feeder feeder;
    bool holds;
} LastWorker;

static void wait_for(const Last *last, const atomic_bool *what)
{
    while (!atomic_load(what) && job_clock() < last->end)
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static bool open_last(void *context, size_t job, bool *unusual, ImgstatFile **file)
{
    Last *const last = context;
    const ImgstatJob what = {.input = path[0]};
    const ImgstatOpen how = {.warn = NULL};
    (void)job;
    if (atomic_load(&last->fed) > 0) {
        atomic_store(&last->waits, true);
        wait_for(last, &last->alone_ended);
    }
    return feeding_open_job(&what, &how, false, NULL, unusual, file);
}

static double work_last(void *context, void *worker, size_t job, const FedPages *pages,
                        void *outcome)
{
    Last *const last = context;
    (void)job;
    if (pages)
        atomic_fetch_add(&last->fed, 1);
    else if (!((LastWorker *)worker)->feeder.feeds)
        wait_for(last, &last->waits);
    *(bool *)outcome = true;
    return 1000; /* seconds that it took: the device does what is left before */
}

static void fail_last(void *context, void *worker, size_t job, const ImgstatError *why,
                      void *outcome)
{
    (void)context, (void)worker, (void)job, (void)outcome;
    cr_expect(false, "%s", why->message);
}

static void open_last_worker(void *context, void *worker)
{
    feeding_open_worker(((Last *)context)->feeding, &((LastWorker *)worker)->feeder, false);
}

static bool takes_last(void *context, void *worker, size_t left)
{
    return feeding_takes(((Last *)context)->feeding, &((LastWorker *)worker)->feeder, left);
}

static void do_last(void *context, void *worker, size_t job, void *outcome)
{
    feeding_work(((Last *)context)->feeding, &((LastWorker *)worker)->feeder, worker, job, outcome);
}

static void close_last_worker(void *context, void *worker)
{
    Last *const last = context;
    Feeder *const feeder = &((LastWorker *)worker)->feeder;
    if (!feeder->feeds)
        atomic_store(&last->alone_ended, true);
    feeding_end_worker(last->feeding, feeder);
    feeder_release(feeder);
}

static bool report_last(void *context, size_t job, void *outcome)
{
    Last *const last = context;
    (void)job;
    last->done += *(bool *)outcome;
    return true;
}

static bool is_late(void *context)
{
    return job_clock() > ((Last *)context)->end;
}

/* Has two workers do the jobs, of which one feeds. */
static void do_jobs(Last *last, const FedJobs *jobs, void (*open)(void *context, void *worker))
{
    LastWorker first = {.feeder = {0}};
    cr_assert_eq(feeding_create(jobs, &last->feeding, NULL), IMGSTAT_OK);
    cr_assert_not_null(last->feeding);
    InOrder order = {.n = jobs->n,
                     .context = last,
                     .worker_bytes = sizeof(LastWorker),
                     .outcome_bytes = sizeof(bool),
                     .open = open,
                     .takes = takes_last,
                     .work = do_last,
                     .close = close_last_worker,
                     .report = report_last,
                     .stopped = is_late};
    feeding_order(last->feeding, &order, jobs->n);
    order.workers = 2;
    if (jobs->whole_jobs)
        open(last, &first);
    else
        feeding_open_worker(last->feeding, &first.feeder, true);
    cr_assert_eq(in_order_run(&order, &first, NULL), IMGSTAT_OK);
    cr_expect_eq(last->done, jobs->n, "%zu jobs are done", last->done);
    feeding_destroy(last->feeding);
}

/* The others have ended, since the device was to do what is left: a worker that feeds does it. All
 * had ended, and the batch waited for ever. */
Test(feeding, who_is_left_does_the_jobs_of_a_lost_device)
{
    Last last = {.end = job_clock() + SECONDS};
    unsetenv("IMGSTAT_DECODE");
    setenv("IMGSTAT_STAND_IN_FAULT", "0:4", 1); /* two calls prepare it; in its second batch */
    cr_assert_eq(device_list_init(&last.devices, "cuda", on_fallen, &last.told, NULL), IMGSTAT_OK);
    const FedJobs jobs = {.context = &last,
                          .devices = &last.devices,
                          .share = {.workers = 2, .threads = 1},
                          .n = LAST_JOBS,
                          .more = true, /* they are worth while */
                          .outcome_bytes = sizeof(bool),
                          .open = open_last,
                          .work = work_last,
                          .fail = fail_last};
    do_jobs(&last, &jobs, open_last_worker);
    cr_expect_gt(atomic_load(&last.fed), 0);
    device_list_report(&last.devices);
    cr_expect_eq(last.told.reports, 1);
    device_list_release(&last.devices);
}

/* ---- Memory ---- */

enum { HOLDING_JOBS = BATCH_PAGES + 24, REFUSED = BATCH_PAGES + 10, HOLDS_SECONDS = 5 };

static atomic_int holding; /* workers that keep memory of their last job */

static bool open_holding(void *context, size_t job, bool *unusual, ImgstatFile **file)
{
    const ImgstatJob what = {.input = path[job == REFUSED ? NAMES - 1 : 0]};
    const ImgstatOpen how = {.warn = NULL};
    (void)context;
    return feeding_open_job(&what, &how, false, NULL, unusual, file);
}

static void give_up(void *context, void *worker)
{
    LastWorker *const own = worker;
    (void)context;
    atomic_fetch_sub(&holding, own->holds);
    own->holds = false;
}

static double work_holding(void *context, void *worker, size_t job, const FedPages *pages,
                           void *outcome)
{
    Last *const last = context;
    LastWorker *const own = worker;
    const double end = job_clock() + HOLDS_SECONDS;
    (void)pages;
    give_up(context, worker);
    while (job == REFUSED && (atomic_load(&last->fed) < BATCH_PAGES || atomic_load(&holding) > 0) &&
           job_clock() < end)
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    *(bool *)outcome = job != REFUSED || atomic_load(&holding) == 0;
    own->holds = true;
    atomic_fetch_add(&holding, 1);
    atomic_fetch_add(&last->fed, 1);
    return 0;
}

static void open_holding_worker(void *context, void *worker)
{
    Last *const last = context;
    Feeder *const feeder = &((LastWorker *)worker)->feeder;
    const char *name;
    feeding_open_worker(last->feeding, feeder, false);
    cr_assert_eq(device_list_open(&last->devices, 1, &name, &feeder->device, NULL), IMGSTAT_OK);
    feeder->owned = true;
}

/* A worker that fills a batch has the only seat, and a job that the device refuses waits there for
 * the memory of others: they waited for the seat, and kept it. */
Test(feeding, nobody_keeps_memory_while_another_fills_a_batch)
{
    Last last = {.end = job_clock() + SECONDS};
    cr_assert_eq(device_list_init(&last.devices, "cuda", on_fallen, &last.told, NULL), IMGSTAT_OK);
    const FedJobs jobs = {.context = &last,
                          .devices = &last.devices,
                          .share = {.workers = 1, .threads = 1},
                          .n = HOLDING_JOBS,
                          .outcome_bytes = sizeof(bool),
                          .whole_jobs = true,
                          .open = open_holding,
                          .work = work_holding,
                          .idle = give_up,
                          .fail = fail_last};
    do_jobs(&last, &jobs, open_holding_worker);
    device_list_release(&last.devices);
}

/* ---- Seats ---- */

typedef struct Sitting {
    Seats *seats;
    bool first;
    atomic_bool sits, *may_go;
} Sitting;

static void *sit(void *context)
{
    Sitting *const own = context;
    seat_acquire(own->seats, own->first);
    atomic_store(&own->sits, true);
    while (!atomic_load(own->may_go))
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    seat_release(own->seats);
    return NULL;
}

/* Two seats become free before the thread that goes first wakes: the other one got none until that
 * thread had left. */
Test(seats, nobody_waits_beside_a_free_seat)
{
    enum { ROUNDS = 20 };
    size_t waiting = 0;
    for (int round = 0; round < ROUNDS; round++) {
        Seats seats;
        atomic_bool may_go = false;
        Sitting sitting[2] = {{.seats = &seats, .first = true, .may_go = &may_go},
                              {.seats = &seats, .may_go = &may_go}};
        pthread_t thread[2];
        seats_init(&seats, 2);
        seat_acquire(&seats, false);
        seat_acquire(&seats, false);
        for (int i = 0; i < 2; i++)
            cr_assert_eq(pthread_create(&thread[i], NULL, sit, &sitting[i]), 0);
        (void)nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL); /* they wait */
        seat_release(&seats);
        seat_release(&seats);
        const double end = job_clock() + 1;
        while (!(atomic_load(&sitting[0].sits) && atomic_load(&sitting[1].sits)) &&
               job_clock() < end)
            (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        waiting += !atomic_load(&sitting[0].sits) || !atomic_load(&sitting[1].sits);
        atomic_store(&may_go, true);
        for (int i = 0; i < 2; i++)
            pthread_join(thread[i], NULL);
        seats_release(&seats);
    }
    cr_expect_eq(waiting, 0, "in %zu of %d rounds", waiting, (int)ROUNDS);
}

/* 16 threads that take 50 ms for a job do 64 in the 0.2 s of a batch; feeders that do 200 a second
 * do 10 while one of these is done. */
Test(feeding_choice, who_does_the_last_jobs)
{
    FeedingPace pace = {.alone_seconds = 0.05, .alone_workers = 16, .latency = 0.2};
    cr_expect_eq(feeding_rest(&pace, true, 63), REST_ALONE);
    cr_expect_eq(feeding_rest(&pace, true, 65), REST_OPEN);
    cr_expect_eq(feeding_rest(&pace, false, 1), REST_OPEN);
    pace.fed_a_second = 200;
    cr_expect_eq(feeding_rest(&pace, false, 9), REST_FED);
    cr_expect_eq(feeding_rest(&pace, false, 11), REST_OPEN);
}
