/* SPDX-License-Identifier: MIT */
/* quantile_table.h: order statistics of many keys, for which not all of them need be sorted. */
#ifndef IMGSTAT_RECORD_QUANTILE_TABLE_H
#define IMGSTAT_RECORD_QUANTILE_TABLE_H

#include "base/buffer_cache.h"
#include "base/thread_pool.h"

/* Exact order statistics of a wide type: what is known of its distribution.
 * Ascending distinct keys; below, upto: samples less than, and at most, each key. Between two
 * neighbours lie fewer than n / RANK_STEPS samples. The last upto is n. */
enum { RANK_STEPS = 65536 };

typedef struct RankKnot {
    uint64_t key, below, upto;
} RankKnot;

typedef struct RankTable {
    uint64_t n;
    uint32_t n_knots;
    RankKnot *knots;
} RankTable;

/* Builds a table from all valid keys in ascending order, given in pieces of any length. */
typedef struct RankBuilder {
    RankTable table;
    uint32_t capacity;
    uint64_t seen;    /* samples so far */
    RankKnot current; /* the run of equal keys that is open */
} RankBuilder;

ImgstatResult rank_builder_init(BufferCache *scratch, RankBuilder *builder, uint64_t n,
                                ImgstatError *err);
/* `count` samples of each key: 1 a key for plain sorted keys. */
void rank_builder_add(RankBuilder *builder, uint64_t key, uint64_t count);
RankTable *rank_builder_finish(RankBuilder *builder, ImgstatError *err); /* NULL: out of memory */
void rank_builder_release(RankBuilder *builder);
void rank_table_destroy(RankTable *table); /* accepts NULL */

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
