/* SPDX-License-Identifier: MIT */
/* dataset.h: struct ImgstatDataset of the public header: records by group and kind, filled by
 * several threads at once, and the account of the files. */
#ifndef IMGSTAT_RECORD_DATASET_H
#define IMGSTAT_RECORD_DATASET_H

#include "record/image_record.h"

#include <pthread.h>

/* A record of the set. A thread that merges into it holds the lock. */
typedef struct DatasetEntry {
    pthread_mutex_t mutex;
    ImgstatRecord *record; /* never replaced */
    SharedText *source;    /* the file of records that it was loaded from first; NULL: none */
} DatasetEntry;

/* The shards of a set of n that a data set holds. n is 0 if it is no part of a set. */
typedef struct ShardsDone {
    uint32_t n, n_done;
    uint8_t *done; /* bit k % 8 of byte k / 8 */
    uint8_t set[16];
} ShardsDone;

enum { SHARDS_MOST = 16777216 };

struct ImgstatDataset {
    pthread_mutex_t mutex;  /* guards what follows, except what a DatasetEntry guards */
    void *tree;             /* a tree of tsearch: entries by group and kind */
    DatasetEntry **entries; /* n of them */
    size_t n, capacity;
    bool sorted; /* the entries are in order */
    uint64_t files;
    Digest names;
    uint64_t failed;          /* files */
    ImgstatFailure *failures; /* n_failures of them; `name` begins a block that holds both texts */
    size_t n_failures, failures_capacity;
    size_t failures_most;  /* the most that are listed; twice as many may wait to be sorted */
    uint64_t all_failures; /* listed or not */
    bool failures_sorted;
    uint16_t version[3];
    ShardsDone shards;
    /* Hashes of the sizes and times of n_states files when this process measured them. They are not
     * saved. */
    Digest states;
    uint64_t n_states;
    SharedText *source; /* the file of records that it was loaded from; NULL: none */
};

/* ---- Filling: threads may call these at once ---- */

/* Counts a file that is to be measured. failed: it has failures. state: NULL if that is unknown. */
void dataset_add_file(ImgstatDataset *dataset, const char *name, bool failed, const Digest *state);

/* Merges a record into the record of its kind in its group. Takes it over whatever happens, and
 * drops its computed statistics. Threads that add to one record wait for each other only while they
 * merge. source: NULL, or the file of records that it was loaded from. */
ImgstatResult dataset_add(ImgstatDataset *dataset, ImgstatRecord *record, SharedText *source,
                          ImgstatError *err);

/* Adds a failure of a file that was counted. error: its code and sentence. */
ImgstatResult dataset_fail(ImgstatDataset *dataset, const char *name, const ImgstatError *error,
                           ImgstatError *err);

/* Adds a copy of a failure. */
ImgstatResult dataset_add_failure(ImgstatDataset *dataset, const ImgstatFailure *failure,
                                  ImgstatError *err);

/* ---- For one thread ---- */

/* Returns the entry with the group and kind of another one; NULL if there is none. */
DatasetEntry *dataset_find(const ImgstatDataset *dataset, const DatasetEntry *like);

/* Appends a record, and takes it over whatever happens. IMGSTAT_ERR_FORMAT if it does not come
 * after all others in order. */
ImgstatResult dataset_append(ImgstatDataset *dataset, ImgstatRecord *record, ImgstatError *err);

/* Takes the only record out of a data set, and returns it. */
ImgstatRecord *dataset_detach_record(ImgstatDataset *dataset);

/* Orders failures by name, code and message. */
int failures_compare(const ImgstatFailure *x, const ImgstatFailure *y);

/* Sorts entries and failures, and drops the failures that are not listed. */
void dataset_sort(ImgstatDataset *dataset);

#endif
