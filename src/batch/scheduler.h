/* SPDX-License-Identifier: MIT */
/* scheduler.h: many files: workers take jobs in order, the calling thread tells of them in order.
 */
#ifndef IMGSTAT_BATCH_SCHEDULER_H
#define IMGSTAT_BATCH_SCHEDULER_H

#include "batch/fall_back.h"
#include "batch/in_order.h"
#include "batch/memory_budget.h"
#include "transform/file.h"
#include "transform/page.h"

#include <stdatomic.h>

/* What became of one job. */
typedef struct Outcome {
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
    FallBack fall_back;
    InOrder *order; /* while jobs run; else NULL */
    Transfer *made;
    TransferInput *survey;      /* together, while it is made */
    const TransformWorker *own; /* that of the calling thread */
    ImgstatError **failed; /* together: n, why a job cannot be transformed; NULL where it can */
    pthread_mutex_t lock;  /* guards what follows */
    size_t measured;       /* together: in the first read */
    size_t next;           /* together: first job not taken */
} Jobs;

bool jobs_cancelled(void *context);
ImgstatResult jobs_worker(Jobs *jobs, TransformWorker *out, ImgstatError *err);
/* After a failure: whether it is the device's, and the batch allows the CPU to take over. Then the
 * worker has become the CPU's, and what failed may be done again. */
bool jobs_fall_back(Jobs *jobs, TransformWorker *worker, ImgstatResult result,
                    const ImgstatError *why);
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

/* Runs all jobs and reports them. worker: that of the calling thread, which is closed here. */
ImgstatResult jobs_run(Jobs *jobs, TransformWorker *worker, ImgstatError *err);

/* batch/shared_transfer.c: one transfer from all files. Fills jobs->failed and pipeline.transfer.
 */
ImgstatResult jobs_together(Jobs *jobs, TransformWorker *worker, ImgstatError *err);
void jobs_forget_failed(Jobs *jobs);

#endif
