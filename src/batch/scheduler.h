/* SPDX-License-Identifier: MIT */
/* scheduler.h: many files: workers take jobs in order, the calling thread tells of them in order.
 */
#ifndef IMGSTAT_BATCH_SCHEDULER_H
#define IMGSTAT_BATCH_SCHEDULER_H

#include "batch/memory_budget.h"
#include "transform/file.h"
#include "transform/page.h"

#include <stdatomic.h>

/* What became of one job. */
typedef struct Outcome {
    bool done;
    ImgstatDone told;
    ImgstatError error;
    char *warnings; /* sentences, each with its NUL */
    size_t warnings_bytes;
} Outcome;

typedef struct Jobs {
    const ImgstatBatch *batch;
    const ImgstatJob *job; /* n of them */
    Cancel cancel;
    size_t n;
    ImgstatMethod method;
    ImgstatOpen open; /* of files: limits */
    Pipeline pipeline;
    MemoryBudget budget;
    unsigned n_workers, threads; /* threads: of each worker */
    atomic_bool stop;
    atomic_bool fallen; /* the batch's device has failed: the CPU does what is left */
    Transfer *made;
    TransferInput *survey;      /* together, while it is made */
    const TransformWorker *own; /* that of the calling thread */
    ImgstatError **failed;  /* together: n, why a job cannot be transformed; NULL where it can */
    pthread_mutex_t lock;   /* guards what follows */
    pthread_cond_t arrived; /* the outcome that is told next, or a worker has ended */
    pthread_cond_t room;    /* in outcome, or memory is wanted */
    ImgstatError why;       /* of fallen */
    bool fallen_told;
    Outcome *outcome; /* a ring: job i is at i % capacity */
    size_t capacity;
    size_t measured;   /* together: in the first read */
    size_t next, told; /* first job not taken, first not told of */
} Jobs;

bool jobs_cancelled(void *context);
ImgstatResult jobs_worker(Jobs *jobs, TransformWorker *out, ImgstatError *err);
/* After a failure: whether it is the device's, and the batch allows the CPU to take over. Then the
 * worker has become the CPU's, and what failed may be done again. */
bool jobs_fall_back(Jobs *jobs, TransformWorker *worker, ImgstatResult result,
                    const ImgstatError *why);
void jobs_tell_fallen(Jobs *jobs); /* the batch, once; on the calling thread */
/* Opens a job's file; its warnings go to outcome, or nowhere. */
ImgstatResult jobs_open(const Jobs *jobs, size_t index, Outcome *outcome, ImgstatFile **out,
                        ImgstatError *err);
/* Waits for the memory that transforming `file` takes: the worker's share, of which what it has
 * kept is part, until it takes another file or others wait. */
ImgstatResult jobs_enter(Jobs *jobs, TransformWorker *worker, size_t index, ImgstatFile *file,
                         ImgstatError *err);
/* The worker has no file open: its share is for others who wait. */
void jobs_leave(Jobs *jobs, TransformWorker *worker);
/* The worker's share goes back, and all that it keeps. */
void jobs_give_share(Jobs *jobs, TransformWorker *worker);
/* Calls work for every job, on n_workers threads; worker: that of the calling
 * thread. */
void jobs_share(Jobs *jobs, TransformWorker *worker,
                void (*work)(Jobs *jobs, TransformWorker *worker, size_t index));

/* Runs all jobs and tells of them. worker: where no threads are started. */
ImgstatResult jobs_run(Jobs *jobs, TransformWorker *worker, ImgstatError *err);

/* batch/shared_transfer.c: one transfer from all files. Fills jobs->failed and pipeline.transfer.
 */
ImgstatResult jobs_together(Jobs *jobs, TransformWorker *worker, ImgstatError *err);
void jobs_forget_failed(Jobs *jobs);

#endif
