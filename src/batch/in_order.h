/* SPDX-License-Identifier: MIT */
/* in_order.h: jobs that threads take in order, and that the calling thread reports in order. */
#ifndef IMGSTAT_BATCH_IN_ORDER_H
#define IMGSTAT_BATCH_IN_ORDER_H

#include "base/error.h"

/* Threads for jobs at once, and those that each of these jobs has for itself. */
typedef struct ThreadShare {
    unsigned workers, threads;
} ThreadShare;

/* Shares `threads` (0: as many as the process may run on) among n jobs, each of which has so many
 * files open. */
ThreadShare thread_share(size_t n, unsigned threads, unsigned files);

typedef struct InOrder {
    size_t n;
    unsigned workers; /* 1: the calling thread does everything */
    void *context;
    size_t worker_bytes;  /* of a worker's own memory, zeroed */
    size_t outcome_bytes; /* of what a job leaves, zeroed */
    /* NULL, or called for every worker but the first before its first job. */
    void (*open)(void *context, void *worker);
    /* Does a job. Any thread. */
    void (*work)(void *context, void *worker, size_t job, void *outcome);
    /* Releases what a worker has, before its thread ends. */
    void (*close)(void *context, void *worker);
    /* NULL, or called before a worker waits until earlier jobs are reported. */
    void (*idle)(void *context, void *worker);
    /* NULL, or asked before a job is begun; true: no more are. Those that were begun are reported.
     */
    bool (*stopped)(void *context);
    /* The calling thread, for each job in ascending order. False: no more jobs are begun, and none
     * is reported. */
    bool (*report)(void *context, size_t job, void *outcome);
    struct Ring *ring; /* while it runs */
} InOrder;

/* first: worker_bytes of the worker of the calling thread, or of the first other one; it is closed,
 * and its bytes are then zero. */
ImgstatResult in_order_run(InOrder *order, void *first, ImgstatError *err);
/* Lets workers that wait call `idle` again. NULL is allowed, and an order that does not run. */
void in_order_wake(const InOrder *order);

#endif
