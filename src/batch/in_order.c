/* SPDX-License-Identifier: MIT */
/* in_order.c: a ring of outcomes between the threads that work and the thread that reports. */
#include "batch/in_order.h"

#include "base/thread_pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum {
    WORKERS_MAX = 256,
    FILES_OTHER = 16,  /* descriptors that the program has open besides */
    AHEAD_A_WORKER = 4 /* outcomes of each worker that may wait for the report of an earlier job */
};

ThreadShare thread_share(size_t n, unsigned threads, unsigned files)
{
    const unsigned total = threads ? threads : thread_pool_processors();
    size_t workers = n < total ? n : total;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        const uint64_t room = limit.rlim_cur > FILES_OTHER ? limit.rlim_cur - FILES_OTHER : 0;
        if (workers > room / files)
            workers = room / files;
    }
    workers = workers > WORKERS_MAX ? WORKERS_MAX : workers ? workers : 1;
    const unsigned share = total / (unsigned)workers;
    return (ThreadShare){.workers = (unsigned)workers, .threads = share ? share : 1};
}

size_t in_order_capacity(unsigned workers)
{
    return (size_t)AHEAD_A_WORKER * workers;
}

struct Ring {
    const InOrder *order;
    size_t capacity;
    pthread_mutex_t lock;   /* guards what follows */
    pthread_cond_t arrived; /* the outcome that is reported next, or a thread has ended */
    pthread_cond_t room;    /* an outcome has been reported */
    char *outcomes;         /* that of job i is at i % capacity */
    bool *done;             /* which of them are there */
    size_t next, reported;  /* first job not begun, first not reported */
    unsigned wakes;         /* calls of in_order_wake */
    bool stopped;
};

typedef struct Thread {
    Ring *ring;
    bool first;
    void *worker, *outcome;
    pthread_t id;
} Thread;

void in_order_wake(Ring *ring)
{
    pthread_mutex_lock(&ring->lock);
    ring->wakes++;
    pthread_cond_broadcast(&ring->room);
    pthread_mutex_unlock(&ring->lock);
}

/* Whether a worker may take a job, once there is room. Called with the lock held. */
static bool may_take(Ring *ring, void *worker)
{
    const InOrder *const order = ring->order;
    ring->stopped = ring->stopped || (order->stopped && order->stopped(order->context));
    return !ring->stopped && ring->next < order->n &&
           (!order->takes || order->takes(order->context, worker, order->n - ring->next));
}

static bool has_room(const Ring *ring)
{
    return ring->next - ring->reported < ring->capacity;
}

/* Begins the next job. False: there is none. Called with the lock held. */
static bool begin_job(Ring *ring, size_t *job)
{
    const InOrder *const order = ring->order;
    ring->stopped = order->begin && !order->begin(order->context, ring->next);
    if (!ring->stopped)
        *job = ring->next++;
    return !ring->stopped;
}

bool in_order_more(Ring *ring, void *worker, size_t *job)
{
    pthread_mutex_lock(&ring->lock);
    const bool taken = has_room(ring) && may_take(ring, worker) && begin_job(ring, job);
    pthread_mutex_unlock(&ring->lock);
    return taken;
}

/* Called with the lock held. */
static void hand_over(Ring *ring, size_t job, const void *outcome)
{
    const size_t bytes = ring->order->outcome_bytes, place = job % ring->capacity;
    memcpy(ring->outcomes + place * bytes, outcome, bytes);
    ring->done[place] = true;
    if (job == ring->reported) /* the reporting thread waits for no other */
        pthread_cond_signal(&ring->arrived);
}

void in_order_done(Ring *ring, size_t job, const void *outcome)
{
    pthread_mutex_lock(&ring->lock);
    hand_over(ring, job, outcome);
    pthread_mutex_unlock(&ring->lock);
}

/* Takes the next job. False: the worker takes no further job. Called with the lock held. */
static bool take_job(Thread *thread, size_t *job)
{
    Ring *const ring = thread->ring;
    const InOrder *const order = ring->order;
    while (may_take(ring, thread->worker)) {
        if (has_room(ring))
            return begin_job(ring, job);
        const unsigned wakes = ring->wakes;
        pthread_mutex_unlock(&ring->lock);
        if (order->wait)
            order->wait(order->context, thread->worker);
        pthread_mutex_lock(&ring->lock);
        while (!ring->stopped && !has_room(ring) && ring->wakes == wakes)
            pthread_cond_wait(&ring->room, &ring->lock);
    }
    return false;
}

static void *thread_main(void *context)
{
    Thread *const thread = context;
    Ring *const ring = thread->ring;
    const InOrder *const order = ring->order;
    size_t job;
    if (order->open && !thread->first)
        order->open(order->context, thread->worker);
    pthread_mutex_lock(&ring->lock);
    while (take_job(thread, &job)) {
        pthread_mutex_unlock(&ring->lock);
        memset(thread->outcome, 0, order->outcome_bytes);
        order->work(order->context, thread->worker, job, thread->outcome);
        pthread_mutex_lock(&ring->lock);
        hand_over(ring, job, thread->outcome);
    }
    pthread_cond_signal(&ring->arrived); /* jobs that are not begun will not arrive */
    pthread_mutex_unlock(&ring->lock);
    order->close(order->context, thread->worker);
    return NULL;
}

/* Waits for an outcome, and asks now and then whether the batch is stopped: the workers may be at
 * work for long, and the answer may be known on the calling thread alone. The lock is held before
 * and after. */
static void wait_for_arrival(Ring *ring)
{
    const InOrder *const order = ring->order;
    if (thread_wait_briefly(&ring->arrived, &ring->lock) || !order->stopped)
        return;
    pthread_mutex_unlock(&ring->lock);
    const bool stopped = order->stopped(order->context);
    pthread_mutex_lock(&ring->lock);
    ring->stopped |= stopped;
}

static void report_all(Ring *ring, char *outcome)
{
    const InOrder *const order = ring->order;
    pthread_mutex_lock(&ring->lock);
    for (size_t i = 0; i < order->n; i++) {
        const size_t place = i % ring->capacity;
        while (!ring->done[place] && !(ring->stopped && i >= ring->next))
            wait_for_arrival(ring);
        if (!ring->done[place])
            break;
        memcpy(outcome, ring->outcomes + place * order->outcome_bytes, order->outcome_bytes);
        ring->done[place] = false;
        ring->reported = i + 1;
        pthread_cond_signal(&ring->room);
        pthread_mutex_unlock(&ring->lock);
        const bool go_on = order->report(order->context, i, outcome);
        pthread_mutex_lock(&ring->lock);
        ring->stopped |= !go_on;
    }
    ring->stopped = true;
    pthread_cond_broadcast(&ring->room);
    pthread_mutex_unlock(&ring->lock);
}

static void run_serially(const InOrder *order, void *worker, char *outcome)
{
    bool go_on = true;
    for (size_t i = 0; i < order->n && go_on; i++) {
        if ((order->stopped && order->stopped(order->context)) ||
            (order->begin && !order->begin(order->context, i)))
            return;
        memset(outcome, 0, order->outcome_bytes);
        order->work(order->context, worker, i, outcome);
        go_on = order->report(order->context, i, outcome);
    }
}

/* Starts threads, reports, and waits for their end; without a thread the calling one works. */
static void run(Ring *ring, Thread *threads, char *outcome)
{
    const InOrder *const order = ring->order;
    unsigned started = 0;
    if (order->workers > 1 || order->beside)
        while (started < order->workers &&
               pthread_create(&threads[started].id, NULL, thread_main, &threads[started]) == 0)
            started++;
    if (started > 0) {
        report_all(ring, outcome);
    } else {
        ring->stopped = true; /* in_order_more has none: they are taken here */
        run_serially(order, threads[0].worker, outcome);
        order->close(order->context, threads[0].worker);
    }
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i].id, NULL);
}

ImgstatResult in_order_run(const InOrder *order, void *first, ImgstatError *err)
{
    Ring ring = {.order = order,
                 .capacity = order->ahead ? order->ahead : in_order_capacity(order->workers)};
    ring.outcomes = calloc(ring.capacity, order->outcome_bytes);
    ring.done = calloc(ring.capacity, sizeof *ring.done);
    Thread *const threads = calloc(order->workers, sizeof *threads);
    char *const workers = calloc(order->workers, order->worker_bytes);
    char *const outcomes = calloc(order->workers + 1u, order->outcome_bytes);
    ImgstatResult res = IMGSTAT_OK;
    if (ring.outcomes && ring.done && threads && workers && outcomes) {
        for (unsigned i = 0; i < order->workers; i++)
            threads[i] = (Thread){.ring = &ring,
                                  .first = i == 0,
                                  .worker = workers + i * order->worker_bytes,
                                  .outcome = outcomes + (i + 1) * order->outcome_bytes};
        memcpy(workers, first, order->worker_bytes);
        pthread_mutex_init(&ring.lock, NULL);
        pthread_cond_init(&ring.arrived, NULL);
        pthread_cond_init(&ring.room, NULL);
        if (order->ring)
            *order->ring = &ring;
        run(&ring, threads, outcomes);
        if (order->ring)
            *order->ring = NULL;
        pthread_cond_destroy(&ring.room);
        pthread_cond_destroy(&ring.arrived);
        pthread_mutex_destroy(&ring.lock);
    } else {
        res = error_memory(err, ring.capacity * order->outcome_bytes, "a batch");
        order->close(order->context, first);
    }
    free(outcomes);
    free(workers);
    free(threads);
    free(ring.done);
    free(ring.outcomes);
    return res;
}
