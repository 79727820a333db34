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
    /* Does a job. Any thread. */
    void (*work)(void *context, void *worker, size_t job, void *outcome);
    /* Releases what a worker has, before its thread ends. */
    void (*close)(void *context, void *worker);
    /* The calling thread, for each job in ascending order. False: no more jobs are begun, and none
     * is reported. */
    bool (*report)(void *context, size_t job, void *outcome);
} InOrder;

/* first: the worker of the calling thread or of the first other thread, worker_bytes of it; `close`
 * is called for it. */
ImgstatResult in_order_run(const InOrder *order, const void *first, ImgstatError *err);

#endif
