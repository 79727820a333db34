/* SPDX-License-Identifier: MIT */
/* shard_team.h: several processes that do the shards of one command together, and one of them that
 * prints. imgstat is alone; imgstat-mpi sets shard_team before it runs a command. */
#ifndef IMGSTAT_TOOLS_SHARD_TEAM_H
#define IMGSTAT_TOOLS_SHARD_TEAM_H

#include "shard.h"

#include <stdio.h>

/* Members call these on their main threads. What fails in one of them ends all. */
typedef struct ShardTeam {
    uint32_t members;
    bool leads; /* prints what the members made */
    void *context;
    const ImgstatPeers *peers; /* messages among members: not between `begin` and `end` */
    /* The leader: all members run the command. Each calls it once, before the others. */
    void (*start)(void *context);
    /* The leader deals out shards from here on. */
    void (*begin)(void *context, const ShardSet *set);
    /* A shard to do; 0: none is left. */
    uint32_t (*next)(void *context);
    /* Brings all bytes of a stream to the leader. */
    void (*deliver)(void *context, uint32_t shard, FILE *kept);
    /* Of the leader: a stream at the first of the bytes that were brought for a shard, valid until
     * the next call; NULL: they are not here yet. waits: until they are here. */
    FILE *(*collect)(void *context, uint32_t shard, bool waits);
    /* No shard is left to do or to collect. */
    void (*end)(void *context);
    /* Ends all members after a sentence on standard error. */
    void (*fail)(void *context, int status);
} ShardTeam;

extern const ShardTeam *shard_team; /* NULL: this process is alone */

/* Shards that a team makes where --shards does not say how many. Results do not depend on it. */
uint32_t shard_team_shards(void);

/* All shards from 1 on, the heaviest first; freed by the caller. Reads all names and sizes. */
uint32_t *shard_team_order(const ShardSet *set);

/* All members call these, in the same order. */

/* Returns the word of the leader. */
bool shard_team_agree(bool word);
/* Merges the data sets of all members, which are taken over. Returns it to the leader, NULL to the
 * others. */
ImgstatDataset *shard_team_reduce(ImgstatDataset *own);
/* Gives every member the data set of the leader. dataset: NULL of the others. */
ImgstatDataset *shard_team_share(ImgstatDataset *dataset);

#endif
