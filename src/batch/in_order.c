/* SPDX-License-Identifier: MIT */
/* in_order.c: a ring of outcomes between the threads that work and the one that reports. */
#include "batch/in_order.h"

#include "base/thread_pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum {
    WORKERS_MAX = 256,
    FILES_OTHER = 16,  /* descriptors that the program has open besides */
    AHEAD_A_WORKER = 4 /* outcomes wait for an earlier job at most so many jobs a worker */
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

typedef struct Ring {
    const InOrder *order;
    const void *first; /* worker that is still to be handed out; else NULL */
    pthread_mutex_t lock;
    pthread_cond_t arrived; /* the outcome that is reported next */
    pthread_cond_t room;    /* in the ring */
    char *outcomes;         /* job i is at i % capacity */
    bool *done;
    size_t capacity;
    size_t next, reported; /* first job not taken, first not reported */
    bool stopped;
} Ring;

static void *worker_main(void *context)
{
    Ring *const ring = context;
    const InOrder *const order = ring->order;
    void *const worker = calloc(1, order->worker_bytes);
    char *const outcome = malloc(order->outcome_bytes);
    pthread_mutex_lock(&ring->lock);
    if (worker && ring->first) {
        memcpy(worker, ring->first, order->worker_bytes);
        ring->first = NULL;
    }
    while (worker && outcome && !ring->stopped && ring->next < order->n) {
        if (ring->next - ring->reported >= ring->capacity) {
            pthread_cond_wait(&ring->room, &ring->lock);
            continue;
        }
        const size_t job = ring->next++;
        pthread_mutex_unlock(&ring->lock);
        memset(outcome, 0, order->outcome_bytes);
        order->work(order->context, worker, job, outcome);
        pthread_mutex_lock(&ring->lock);
        memcpy(ring->outcomes + job % ring->capacity * order->outcome_bytes, outcome,
               order->outcome_bytes);
        ring->done[job % ring->capacity] = true;
        if (job == ring->reported) /* nobody waits for the others */
            pthread_cond_signal(&ring->arrived);
    }
    pthread_mutex_unlock(&ring->lock);
    if (worker)
        order->close(order->context, worker);
    free(outcome);
    free(worker);
    return NULL;
}

static void report_all(Ring *ring, char *outcome)
{
    const InOrder *const order = ring->order;
    bool go_on = true;
    for (size_t i = 0; i < order->n && go_on; i++) {
        const size_t place = i % ring->capacity;
        pthread_mutex_lock(&ring->lock);
        while (!ring->done[place])
            pthread_cond_wait(&ring->arrived, &ring->lock);
        memcpy(outcome, ring->outcomes + place * order->outcome_bytes, order->outcome_bytes);
        ring->done[place] = false;
        ring->reported = i + 1;
        pthread_cond_signal(&ring->room);
        pthread_mutex_unlock(&ring->lock);
        go_on = order->report(order->context, i, outcome);
    }
    pthread_mutex_lock(&ring->lock);
    ring->stopped = true;
    pthread_cond_broadcast(&ring->room);
    pthread_mutex_unlock(&ring->lock);
}

static void run_serially(const InOrder *order, void *worker, char *outcome)
{
    bool go_on = true;
    for (size_t i = 0; i < order->n && go_on; i++) {
        memset(outcome, 0, order->outcome_bytes);
        order->work(order->context, worker, i, outcome);
        go_on = order->report(order->context, i, outcome);
    }
}

ImgstatResult in_order_run(const InOrder *order, const void *first, ImgstatError *err)
{
    Ring ring = {
        .order = order, .first = first, .capacity = (size_t)AHEAD_A_WORKER * order->workers};
    ring.outcomes = calloc(ring.capacity, order->outcome_bytes);
    ring.done = calloc(ring.capacity, sizeof *ring.done);
    char *const outcome = malloc(order->outcome_bytes);
    void *const own = calloc(1, order->worker_bytes);
    pthread_t *const thread = calloc(order->workers, sizeof *thread);
    pthread_mutex_init(&ring.lock, NULL);
    pthread_cond_init(&ring.arrived, NULL);
    pthread_cond_init(&ring.room, NULL);
    ImgstatResult res = IMGSTAT_OK;
    unsigned started = 0;
    if (!ring.outcomes || !ring.done || !outcome || !own || !thread)
        res = error_memory(err, ring.capacity * order->outcome_bytes, "a batch");
    if (res == IMGSTAT_OK && order->workers > 1)
        while (started < order->workers &&
               pthread_create(&thread[started], NULL, worker_main, &ring) == 0)
            started++;
    if (res == IMGSTAT_OK && started > 0)
        report_all(&ring, outcome);
    for (unsigned i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    if (ring.first && own) { /* no thread took it */
        memcpy(own, ring.first, order->worker_bytes);
        if (res == IMGSTAT_OK && started == 0)
            run_serially(order, own, outcome);
        order->close(order->context, own);
    }
    pthread_cond_destroy(&ring.room);
    pthread_cond_destroy(&ring.arrived);
    pthread_mutex_destroy(&ring.lock);
    free(thread);
    free(own);
    free(outcome);
    free(ring.done);
    free(ring.outcomes);
    return res;
}
