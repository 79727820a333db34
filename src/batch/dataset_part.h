/* SPDX-License-Identifier: MIT */
/* dataset_part.h: what one worker adds to a data set. What a job gives waits until the job has
 * ended, as it may start again; records of the latest groups stay with the worker, so that workers
 * do not wait for each other. */
#ifndef IMGSTAT_BATCH_DATASET_PART_H
#define IMGSTAT_BATCH_DATASET_PART_H

#include "batch/job.h"
#include "record/dataset.h"

#include <time.h>

enum { PART_RECORDS = 8 };

typedef struct DatasetPart {
    ImgstatDataset *dataset;
    Digest state; /* of the file of the job at hand, */
    bool has_state;
    ImgstatRecord **job; /* n_job records of the job at hand: one for each group and kind */
    size_t n_job, job_capacity;
    struct PartFailure *failures;      /* of the job at hand, the latest first */
    ImgstatRecord *kept[PART_RECORDS]; /* of the jobs before */
    size_t next;                       /* place of the next one that is kept */
} DatasetPart;

/* Adds a hash of the size and the times of a file. *changed: when it changed last, by the file
 * system's clock. False: it is no regular file, or there is none. */
bool job_add_state(const ImgstatJob *job, Digest *states, struct timespec *changed);

/* Of several files the one that changed last. If any changed after a first read of all, this one
 * did. */
typedef struct Latest {
    char *name; /* owned; NULL: none */
    struct timespec at;
} Latest;

void latest_add(Latest *latest, const char *name, struct timespec changed);

/* Begins a job, or begins it again. */
void part_begin(DatasetPart *part, const ImgstatJob *job);

/* Adds the record of a page of the job, which is taken over whatever happens. group: NULL is "". */
ImgstatResult part_add(DatasetPart *part, const char *group, ImgstatRecord *record,
                       ImgstatError *err);

/* Adds a failure of the job. */
ImgstatResult part_fail(DatasetPart *part, const ImgstatError *failure, ImgstatError *err);

/* Ends a job: counts its file, and adds what it gave. */
ImgstatResult part_end(DatasetPart *part, const char *name, ImgstatError *err);

/* Adds what is kept to the data set. */
ImgstatResult part_flush(DatasetPart *part, ImgstatError *err);

/* Drops what is left. */
void part_release(DatasetPart *part);

#endif
