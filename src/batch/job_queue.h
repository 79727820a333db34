/* SPDX-License-Identifier: MIT */
/* job_queue.h: the jobs of a batch: an array, or a stream that holds few at a time. */
#ifndef IMGSTAT_BATCH_JOB_QUEUE_H
#define IMGSTAT_BATCH_JOB_QUEUE_H

#include "base/error.h"

#include <stdatomic.h>

typedef struct JobQueue {
    const ImgstatJob *jobs;         /* NULL of a stream */
    const ImgstatJobStream *stream; /* NULL of an array */
    struct HeldJob *held;           /* job i of a stream is at i % capacity */
    size_t capacity;
    atomic_size_t n; /* jobs so far; those of an array, or of a stream that has ended, are all */
    bool ended;
    ImgstatError error; /* why a stream ended early; its code is IMGSTAT_OK: it did not */
} JobQueue;

/* Describes an array of jobs, which the caller has checked. */
void job_queue_of_array(const ImgstatJob *jobs, size_t n, JobQueue *out);

/* Holds as many jobs of a stream as fit: those that have not been reported, and those ahead. */
ImgstatResult job_queue_open(const ImgstatJobStream *stream, size_t capacity, JobQueue *out,
                             ImgstatError *err);
void job_queue_close(JobQueue *queue);

/* Takes jobs from a stream until there are n of them or it has ended. One call at a time. */
void job_queue_fill(JobQueue *queue, size_t n);

/* Returns job i; NULL if no such job is there. Any thread, while the job is held. */
const ImgstatJob *job_queue_at(const JobQueue *queue, size_t i);

#endif
