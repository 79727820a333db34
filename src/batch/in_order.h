/* SPDX-License-Identifier: MIT */
/* in_order.h: jobs that threads begin in order and that the calling thread reports in order. */
#ifndef IMGSTAT_BATCH_IN_ORDER_H
#define IMGSTAT_BATCH_IN_ORDER_H

#include "base/error.h"

/* How the threads of a batch are divided. */
typedef struct ThreadShare {
    unsigned workers; /* jobs at a time */
    unsigned threads; /* of each job */
} ThreadShare;

/* Divides `threads` (0: as many as the process may run on) among n jobs. files: descriptors that a
 * job has open at a time; their limit may allow fewer workers. */
ThreadShare thread_share(size_t n, unsigned threads, unsigned files);

typedef struct Ring Ring; /* in_order.c */

typedef struct InOrder {
    size_t n;             /* jobs; SIZE_MAX where `begin` ends them */
    unsigned workers;     /* threads beside the calling one; 1: the calling thread does the work */
    bool beside;          /* reports take time: one worker has a thread as well */
    size_t ahead;         /* outcomes that may wait for the report of an earlier job; 0: a few for
                           * each worker, as in_order_capacity says */
    size_t worker_bytes;  /* size of a thread's own struct, which begins as zeros */
    size_t outcome_bytes; /* size of the struct that a job leaves, which begins as zeros */
    void *context;
    /* NULL, or opens the struct of a thread other than the first, when that thread starts. */
    void (*open)(void *context, void *worker);
    /* NULL, or called before a job begins, in ascending order, one call at a time. False: there is
     * no such job. */
    bool (*begin)(void *context, size_t job);
    /* NULL, or asked before a worker takes a job, one call at a time. left: jobs that have not
     * begun, as far as is known. False: it takes no more, and its thread ends. */
    bool (*takes)(void *context, void *worker, size_t left);
    /* Does a job. Any thread. */
    void (*work)(void *context, void *worker, size_t job, void *outcome);
    /* NULL, or called before a thread waits for the report of an earlier job, and again after each
     * in_order_wake. */
    void (*wait)(void *context, void *worker);
    /* Releases the contents of a thread's struct. */
    void (*close)(void *context, void *worker);
    /* Reports a job, and releases the contents of its outcome. Called on the calling thread for
     * every job that was begun, in ascending order. False: no further job begins. */
    bool (*report)(void *context, size_t job, void *outcome);
    /* NULL, or asked before a job begins, and often by the calling thread: true: no further job
     * begins. Any thread. */
    bool (*stopped)(void *context);
    /* NULL, or receives the ring of in_order_wake while threads work, and NULL afterwards. */
    Ring **ring;
} InOrder;

/* Returns how many outcomes wait for their report at most. */
size_t in_order_capacity(unsigned workers);

/* Makes the threads that wait for a report call `wait` once more. Any thread that works. */
void in_order_wake(Ring *ring);

/* Takes one more job for a worker that is at work on others. False: none may begin now. */
bool in_order_more(Ring *ring, void *worker, size_t *job);

/* Hands over the outcome of a job from in_order_more, before `work` returns. */
void in_order_done(Ring *ring, size_t job, const void *outcome);

/* Does and reports the jobs. first: the struct of the first thread; its contents are released in
 * any case. Allocation failure is the only error. */
ImgstatResult in_order_run(const InOrder *order, void *first, ImgstatError *err);

#endif
