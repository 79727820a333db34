/* SPDX-License-Identifier: MIT */
/* quantile_table.h: order statistics of many keys, for which not all of them need be sorted. */
#ifndef IMGSTAT_RECORD_QUANTILE_TABLE_H
#define IMGSTAT_RECORD_QUANTILE_TABLE_H

#include "base/thread_pool.h"
#include "transfer/transfer.h"

/* The least rank of a step of n samples that is at least `rank`; n where there is none. */
uint64_t rank_next(uint64_t n, uint64_t rank);

/* How many steps of n samples have a rank below `rank`. */
uint64_t rank_steps(uint64_t n, uint64_t rank);

/* The run of equal keys that is open has ended. */
void rank_builder_close(RankBuilder *builder);

/* The run that holds the rank of the next step which is above those before. */
void rank_builder_add_run(RankBuilder *builder, const RankKnot *run);

/* record/quantile_select.c: as rank_builder_add of each of n < 2^32 keys in ascending order. They
 * come in any, but are above all those before, and are numbers of 4 or 8 bytes. Both arrays have
 * room for n, and hold nothing in the end. */
void rank_keys_add(RankBuilder *builder, void *keys, void *spare, size_t n, unsigned bytes);

/* record/quantile_threads.c: the same of keys of 8 bytes, at most `most`, by the threads of a pool;
 * NULL: by this one. */
void rank_builder_add_keys(RankBuilder *builder, uint64_t *keys, uint64_t *spare, size_t n,
                           uint64_t most, ThreadPool *pool);

#endif
