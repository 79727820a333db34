/* SPDX-License-Identifier: MIT */
/* synced_outputs.c: outputs of a batch that wait for the disk together. */
#define _GNU_SOURCE /* syncfs */
#include "batch/synced_outputs.h"

#include <sys/resource.h>
#include <unistd.h>

void synced_outputs_init(SyncedOutputs *outputs, size_t files)
{
    enum { OTHERS = 32 }; /* that the program has open besides */
    struct rlimit limit;
    *outputs = (SyncedOutputs){.most = SYNCED_MOST};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return;
    const size_t room = limit.rlim_cur > files + OTHERS ? limit.rlim_cur - files - OTHERS : 0;
    outputs->most = room < SYNCED_MOST ? room : SYNCED_MOST;
}

bool synced_outputs_have_room(const SyncedOutputs *outputs)
{
    return atomic_load(&outputs->waiting) - atomic_load(&outputs->named) < outputs->most;
}

size_t synced_outputs_add(SyncedOutputs *outputs)
{
    return atomic_fetch_add(&outputs->waiting, 1);
}

ImgstatResult synced_outputs_commit(SyncedOutputs *outputs, size_t number, bool last,
                                    AtomicFile *output, ImgstatError *err)
{
    const size_t waiting = atomic_load(&outputs->waiting);
    /* What fails shows in the sync of each file, which has nothing to write then. */
    if (number >= outputs->synced && waiting > number + 1 && syncfs(output->fd) == 0)
        outputs->synced = waiting;
    output->with_others = !last;
    atomic_fetch_add(&outputs->named, 1);
    return atomic_file_commit(output, err);
}
