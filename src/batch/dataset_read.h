/* SPDX-License-Identifier: MIT */
/* dataset_read.h: one more read of all files of a data set, for several of its records. */
#ifndef IMGSTAT_BATCH_DATASET_READ_H
#define IMGSTAT_BATCH_DATASET_READ_H

#include "batch/dataset_part.h"
#include "batch/device_list.h"
#include "batch/measure_batch.h"

enum { READ_RECORDS = 64 }; /* that are read for at a time */

/* What is read for a record. */
typedef struct RecordRead {
    const ImgstatRecord *record;
    const ReadRequest *request; /* NULL: none this time */
    pthread_mutex_t lock;       /* of what the request adds to */
    atomic_uint_fast64_t pages; /* that were read */
} RecordRead;

typedef struct DatasetRead {
    ImgstatDataset *dataset;
    const ImgstatMeasureBatch *batch;
    const ImgstatMeasure *how;
    const ImgstatJobStream *stream;
    DeviceList *devices;
    atomic_bool again;              /* a device has failed, and another may do all of it again */
    const ImgstatFailure *failures; /* of the first read, in order of names */
    size_t n_failures;
    bool more_failures; /* that are not listed */
    RecordRead item[READ_RECORDS];
    size_t n;
    pthread_mutex_t lock; /* of what workers add up */
    JobQueue *jobs;
    ThreadShare share;
    Digest states;
    uint64_t n_states;
    Latest latest;
    ImgstatError error; /* of the first file that failed */
} DatasetRead;

/* Reads all files once for the requests of all items. */
ImgstatResult dataset_read_files(DatasetRead *read, ImgstatError *err);

#endif
