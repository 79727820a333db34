/* SPDX-License-Identifier: MIT */
/* shard_team.h: several processes that do the shards of one command together, and one of them that
 * prints. imgstat is alone; imgstat-mpi sets shard_team before it runs a command. */
#ifndef IMGSTAT_TOOLS_MEASURE_SHARD_TEAM_H
#define IMGSTAT_TOOLS_MEASURE_SHARD_TEAM_H

#include "measure/shard.h"

#include <stdio.h>

/* Functions of a team. Members call them on their main threads. A failure in one of them ends all
 * members. */
typedef struct ShardTeam {
    uint32_t members;
    bool leads; /* prints the results of all members */
    void *context;
    const ImgstatPeers *peers; /* messages among members; not between `begin` and `end` */
    /* Called by the leader, once, before the other functions: all members run the command. */
    void (*start)(void *context);
    /* The leader deals out shards from now on. */
    void (*begin)(void *context, const ShardSet *set);
    /* Returns a shard to do; 0: none is left. */
    uint32_t (*next)(void *context);
    /* Sends all bytes of a stream to the leader. */
    void (*deliver)(void *context, uint32_t shard, FILE *kept);
    /* For the leader: returns a stream at the first byte that was delivered for a shard, valid
     * until the next call; NULL: not delivered yet. waits: wait for it. */
    FILE *(*collect)(void *context, uint32_t shard, bool waits);
    /* Ends dealing: no shard is left to do or to collect. */
    void (*end)(void *context);
    /* Ends all members after a sentence on standard error. */
    void (*fail)(void *context, int status);
} ShardTeam;

extern const ShardTeam *shard_team; /* NULL: this process is alone */

/* Returns the number of shards of a team without --shards. Results do not depend on it. */
uint32_t shard_team_shards(void);

/* Returns all shards, the heaviest first; the caller frees them. Reads all names and sizes. */
uint32_t *shard_team_order(const ShardSet *set);

/* ---- All members call these, in the same order ---- */

/* Returns the word of the leader. */
bool shard_team_agree(bool word);
/* Merges the data sets of all members, and takes them over. Returns the result to the leader, NULL
 * to the others. */
ImgstatDataset *shard_team_reduce(ImgstatDataset *own);
/* Gives every member the leader's data set. dataset: NULL for the others. */
ImgstatDataset *shard_team_share(ImgstatDataset *dataset);

#endif
