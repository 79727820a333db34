/* SPDX-License-Identifier: MIT */
/* dataset.h: struct ImgstatDataset of the public header: records by group and kind, filled by
 * several threads at once, and the account of the files. */
#ifndef IMGSTAT_RECORD_DATASET_H
#define IMGSTAT_RECORD_DATASET_H

#include "record/image_record.h"

#include <pthread.h>

/* A record of the set, and a lock that whoever merges into it holds. */
typedef struct DatasetEntry {
    pthread_mutex_t mutex;
    ImgstatRecord *record; /* never another one */
    SharedText *source;    /* name of the file of records that it came from first; NULL: none */
} DatasetEntry;

/* Which shards of a set of n are in here; n is 0 where there is no such set. */
typedef struct ShardsDone {
    uint32_t n, n_done;
    uint8_t *done; /* bit k % 8 of byte k / 8 */
    uint8_t set[16];
} ShardsDone;

enum { SHARDS_MOST = 16777216 };

struct ImgstatDataset {
    pthread_mutex_t mutex;  /* of all that follows, but for what a DatasetEntry locks */
    void *tree;             /* of tsearch: entries by group and kind */
    DatasetEntry **entries; /* n of them */
    size_t n, capacity;
    bool sorted; /* entries ascend */
    uint64_t files;
    Digest names;
    uint64_t failed;          /* files */
    ImgstatFailure *failures; /* n_failures of them; each with its texts is one block at name */
    size_t n_failures, failures_capacity;
    size_t failures_most;  /* that are listed in the end: twice as many may wait to be sorted */
    uint64_t all_failures; /* listed or not */
    bool failures_sorted;
    uint16_t version[3];
    ShardsDone shards;
    /* Of n_states of the files: hashes of their sizes and times when they were measured by this
     * process. They are not saved. */
    Digest states;
    uint64_t n_states;
    SharedText *source; /* name of the file of records that it was loaded from; NULL: none */
};

/* ---- Filling: threads may call these at once ---- */

/* Counts a file that is to be measured. failed: it has failures. state: NULL if that is unknown. */
void dataset_add_file(ImgstatDataset *dataset, const char *name, bool failed, const Digest *state);

/* Adds a record to those of its kind in a group (NULL: ""). It is taken over whatever happens;
 * what was computed of it is dropped. Threads that add to one record wait for each other only while
 * they merge. */
ImgstatResult dataset_add(ImgstatDataset *dataset, const char *group, ImgstatRecord *record,
                          ImgstatError *err);

/* Adds a failure of a file that was counted. error: its code and sentence. */
ImgstatResult dataset_fail(ImgstatDataset *dataset, const char *name, const ImgstatError *error,
                           ImgstatError *err);

/* dataset_add of a record that has its group. source: NULL, or the file of records that it is from.
 */
ImgstatResult dataset_add_from(ImgstatDataset *dataset, ImgstatRecord *record, SharedText *source,
                               ImgstatError *err);

/* Adds a copy of a failure. */
ImgstatResult dataset_add_failure(ImgstatDataset *dataset, const ImgstatFailure *failure,
                                  ImgstatError *err);

/* ---- For one thread ---- */

/* Returns the entry with the group and kind of another one; NULL if there is none. */
DatasetEntry *dataset_find(const ImgstatDataset *dataset, const DatasetEntry *like);

/* Adds the records and the account of a part that another worker has filled: the kinds in a group
 * may differ. */
ImgstatResult dataset_join(ImgstatDataset *into, const ImgstatDataset *from, ImgstatError *err);

/* Adds a record, which is taken over whatever happens. IMGSTAT_ERR_FORMAT unless it comes after all
 * others in their order. */
ImgstatResult dataset_append(ImgstatDataset *dataset, ImgstatRecord *record, ImgstatError *err);

/* Hands over the only record of a data set, which has none then. */
ImgstatRecord *dataset_detach_record(ImgstatDataset *dataset);

/* Orders failures by name, code and message. */
int failures_compare(const ImgstatFailure *x, const ImgstatFailure *y);

/* Makes entries and failures ascend, and drops the failures behind those that are listed. */
void dataset_sort(ImgstatDataset *dataset);

#endif
