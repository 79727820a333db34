/* SPDX-License-Identifier: MIT */
/* synced_outputs.h: outputs of a batch that wait for the disk together. A file takes its name when
 * its bytes are on the disk; a sync for each would cost more than small images do. So workers go
 * on, and the thread that reports syncs all that wait by then at once. */
#ifndef IMGSTAT_BATCH_SYNCED_OUTPUTS_H
#define IMGSTAT_BATCH_SYNCED_OUTPUTS_H

#include "codec/atomic_file.h"

#include <stdatomic.h>

/* Outputs that may wait: the next sync is then for that many. */
enum { SYNCED_MOST = 64 };

typedef struct SyncedOutputs {
    size_t most;           /* as many as descriptors allow */
    atomic_size_t waiting; /* outputs that began to wait so far */
    atomic_size_t named;   /* how many of these wait no more */
    size_t synced;         /* how many of these a sync has reached */
} SyncedOutputs;

/* files: descriptors that the workers need. */
void synced_outputs_init(SyncedOutputs *outputs, size_t files);

/* Any thread: whether another output may wait. */
bool synced_outputs_have_room(const SyncedOutputs *outputs);

/* Any thread, when an output has all its bytes. Returns its number. */
size_t synced_outputs_add(SyncedOutputs *outputs);

/* As atomic_file_commit, of the output with that number. One thread, in any order. last: no output
 * follows. */
ImgstatResult synced_outputs_commit(SyncedOutputs *outputs, size_t number, bool last,
                                    AtomicFile *output, ImgstatError *err);

#endif
