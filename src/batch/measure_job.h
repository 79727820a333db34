/* SPDX-License-Identifier: MIT */
/* measure_job.h: a worker of imgstat_batch_measure or imgstat_dataset_measure, and its work on one
 * job. */
#ifndef IMGSTAT_BATCH_MEASURE_JOB_H
#define IMGSTAT_BATCH_MEASURE_JOB_H

#include "batch/dataset_part.h"
#include "batch/feeding.h"
#include "batch/in_order.h"
#include "batch/job_queue.h"

#include <stdatomic.h>

/* What the workers share. */
typedef struct MeasureRun {
    const ImgstatMeasureBatch *batch;
    JobQueue *jobs;
    ImgstatDataset *into; /* NULL: records go to the program */
    ThreadShare share;
    DeviceList devices;
    atomic_bool broken; /* the data set lacks something: memory ran out */
    pthread_mutex_t lock;
    ImgstatError why; /* broken; guarded by the lock */
} MeasureRun;

/* What a thread has. */
typedef struct MeasureWorker {
    ImgstatDevice *device; /* NULL: none is open yet */
    const char *name;      /* that it was opened by */
    ImgstatDeviceInfo info;
    DatasetPart part;
    Feeder feeder; /* where a device decodes: `device` is the CPU then */
} MeasureWorker;

/* What became of a job. */
typedef struct Outcome {
    ImgstatResult result;
    ImgstatError error;
    uint64_t lost_rows;
    double seconds;
    bool cut; /* the program ended it: a data set has nothing of it */
} Outcome;

/* Opens the next device of the batch for a worker. err is not NULL. */
ImgstatResult measure_open_worker(MeasureRun *run, MeasureWorker *worker, ImgstatError *err);
void measure_close_worker(MeasureRun *run, MeasureWorker *worker);

/* Measures the pages of a job. counted: NULL, or what is used in place of a first read of the only
 * page. */
void measure_work(MeasureRun *run, MeasureWorker *worker, size_t job, const FedPages *counted,
                  Outcome *outcome);

/* Reports that a job has failed. */
void measure_fail(MeasureRun *run, MeasureWorker *worker, size_t job, const ImgstatError *why,
                  Outcome *outcome);

#endif
