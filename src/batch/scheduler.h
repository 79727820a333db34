/* SPDX-License-Identifier: MIT */
/* scheduler.h: the jobs of a batch that transforms files: workers, their memory, one job. */
#ifndef IMGSTAT_BATCH_SCHEDULER_H
#define IMGSTAT_BATCH_SCHEDULER_H

#include "batch/device_list.h"
#include "batch/feeding.h"
#include "batch/in_order.h"
#include "batch/shared_groups.h"
#include "batch/synced_outputs.h"
#include "transform/file.h"
#include "transform/page.h"

#include <stdatomic.h>

/* What was found while a file was read, until it is reported. All zero: nothing. */
typedef struct JobNotes {
    KeptWarnings warnings;
    uint64_t lost_rows;
} JobNotes;

/* An ImgstatWarn. notes: JobNotes. */
static inline void job_notes_warn(void *notes, const char *sentence)
{
    kept_warnings_add(&((JobNotes *)notes)->warnings, sentence);
}

/* Frees the contents; nothing is left. */
static inline void job_notes_clear(JobNotes *notes)
{
    kept_warnings_release(&notes->warnings);
    notes->lost_rows = 0;
}

/* A number of bytes that workers reserve parts of: batch/job_memory.c. */
typedef struct MemoryBudget {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t total, used;
    unsigned waiting; /* workers that wait for bytes */
} MemoryBudget;

void memory_budget_init(MemoryBudget *budget, uint64_t bytes);

/* Releases the contents; nothing is reserved. */
void memory_budget_release(MemoryBudget *budget);

typedef struct Jobs {
    const ImgstatBatch *batch;
    const ImgstatJob *job; /* n of them */
    size_t n;
    ThreadShare share;
    unsigned at_once; /* workers that share the memory */
    Cancel cancel;
    ImgstatMethod method;
    ImgstatOpen open; /* how inputs are opened; warn is not used */
    Pipeline pipeline;
    MemoryBudget budget;
    Ring *ring; /* NULL: no worker waits for a report */
    DeviceList devices;
    Feeding *feeding; /* NULL: the device does not decode */
    SyncedOutputs outputs;
    atomic_bool stop; /* nothing more is begun */
    bool grouped;     /* a job has a group */
    bool any_only_mapped;
    Transfer *made; /* of a single file, or a set that is shared by all */
    /* While a shared transfer is made: */
    const TransformWorker *own; /* the worker of the calling thread */
    ImgstatError **failed;      /* n, why a job cannot be transformed, error_bytes() of each; NULL
                                 * where it can. Or NULL */
    JobNotes *notes;            /* n, of the first read; or NULL */
    pthread_mutex_t lock;       /* guards what follows */
    JobNotes of_reference;      /* warnings that are not reported yet */
    SharedGroups groups;
    size_t measured;       /* jobs that the first read is done with */
    size_t next;           /* first job that jobs_for_each has not begun */
    ImgstatError unopened; /* why a device could not be opened, if nobody has reported it */
} Jobs;

/* Whether the batch is cancelled, or stops. context: Jobs. */
bool jobs_cancelled(void *context);

/* batch/fed_jobs.c: begins to open a device that decodes, if that is worthwhile. */
ImgstatResult jobs_begin_feeding(Jobs *jobs, ImgstatError *err);

/* batch/fed_jobs.c: opens a worker of a batch whose device decodes. first: of the first thread. */
ImgstatResult jobs_open_fed(Jobs *jobs, TransformWorker *out, bool first, ImgstatError *err);

/* Does a job on a worker's device, or the next one if it fails. outcome: of jobs_outcome_bytes, all
 * zero. Returns the seconds that it took. */
double jobs_work(Jobs *jobs, TransformWorker *worker, size_t index, void *outcome);

/* Makes an outcome of a device's failure. */
void jobs_fail(Jobs *jobs, size_t index, const ImgstatError *why, void *outcome);

size_t jobs_outcome_bytes(void);

/* Opens a worker on the next device of the batch. */
ImgstatResult jobs_open_worker(Jobs *jobs, TransformWorker *out, ImgstatError *err);

/* Returns why a device could not be opened for a thread, once: its caller reports it. */
ImgstatResult jobs_take_unopened(Jobs *jobs, ImgstatError *err);

/* After a failure `result` of a worker: whether the work may be done again. If so, the worker has
 * another device on return. */
bool jobs_fall_back(Jobs *jobs, TransformWorker *worker, ImgstatResult result,
                    const ImgstatError *why);

/* Opens the file of a job and selects its first page. warn: NULL, or receives the file's warnings.
 */
ImgstatResult jobs_open(const Jobs *jobs, size_t index, ImgstatWarn warn, void *warn_context,
                        ImgstatFile **out, ImgstatError *err);

/* batch/job_memory.c: blocks until the memory for `file` is reserved. Buffers that the worker keeps
 * from its last file count towards it. */
ImgstatResult jobs_reserve_memory(Jobs *jobs, TransformWorker *worker, size_t index,
                                  ImgstatFile *file, ImgstatError *err);

/* batch/job_memory.c: returns the worker's reservation, and frees the buffers that it keeps. */
void jobs_return_memory(Jobs *jobs, TransformWorker *worker);

/* batch/job_memory.c: calls jobs_return_memory if other workers wait for memory. The worker has no
 * file open. */
void jobs_yield_memory(Jobs *jobs, TransformWorker *worker);

/* Calls `work` for every job, in any order, on all workers. worker: the calling thread's. */
void jobs_for_each(Jobs *jobs, TransformWorker *worker,
                   void (*work)(Jobs *jobs, TransformWorker *worker, size_t index));

/* Transforms and reports all jobs. worker: that of the first thread; it is closed on return. */
ImgstatResult jobs_run(Jobs *jobs, TransformWorker *worker, ImgstatError *err);

/* Reports warnings about the reference that are kept. On the calling thread. */
void jobs_report_reference(Jobs *jobs);

/* batch/shared_transfer.c: makes one transfer from all files, or one of each of their channels and
 * depths. Fills `failed`, `notes`, `made` and pipeline.transfer. */
ImgstatResult jobs_share_transfer(Jobs *jobs, TransformWorker *worker, ImgstatError *err);

/* batch/shared_transfer.c: a job cannot be transformed. Under the lock, or on one thread. */
void jobs_note_failure(Jobs *jobs, size_t index, const ImgstatError *error);

/* batch/shared_peers.c: gives every process of the batch what all of them measured, and the first
 * failure of one. own, err: whether this process failed. */
ImgstatResult jobs_share_measured(Jobs *jobs, ImgstatResult own, ImgstatError *err);

/* batch/shared_transfer.c: frees `failed` and `notes`. */
void jobs_forget_measured(Jobs *jobs);

#endif
