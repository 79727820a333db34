/* SPDX-License-Identifier: MIT */
/* quantile_table.h: order statistics of many keys, without sorting all of them. */
#ifndef IMGSTAT_RECORD_QUANTILE_TABLE_H
#define IMGSTAT_RECORD_QUANTILE_TABLE_H

#include "base/buffer_cache.h"
#include "base/thread_pool.h"

/* Steps of a quantile table. */
enum { RANK_STEPS = 65536 };

/* A key that samples have: `below` samples have smaller keys, `upto` this one or a smaller one. */
typedef struct RankKnot {
    uint64_t key, below, upto;
} RankKnot;

/* Exact order statistics of n samples of a wide type: knots of ascending, distinct keys. Fewer than
 * n / RANK_STEPS samples lie between two neighbours. The last knot's upto is n. */
typedef struct RankTable {
    uint64_t n;
    uint32_t n_knots;
    RankKnot *knots;
} RankTable;

/* Builds a table from all valid keys in ascending order. */
typedef struct RankBuilder {
    RankTable table;
    uint32_t capacity;
    uint64_t seen;    /* samples so far */
    RankKnot current; /* the latest run of equal keys, which may go on */
} RankBuilder;

ImgstatResult rank_builder_init(BufferCache *cache, RankBuilder *builder, uint64_t n,
                                ImgstatError *err);

/* Adds `count` samples of one key, which is at least the key before. */
void rank_builder_add(RankBuilder *builder, uint64_t key, uint64_t count);

/* Adds n < 2^32 keys of 8 bytes in any order. All are larger than the keys before, and at most
 * `most`. Both arrays have room for n keys and are overwritten. pool: NULL for this thread alone.
 */
void rank_builder_add_keys(RankBuilder *builder, uint64_t *keys, uint64_t *spare, size_t n,
                           uint64_t most, ThreadPool *pool);

/* Adds the run that holds the next step's rank above those before. */
void rank_builder_add_run(RankBuilder *builder, const RankKnot *run);

/* Returns the table; NULL if memory ran out. */
RankTable *rank_builder_finish(RankBuilder *builder, ImgstatError *err);
void rank_builder_release(RankBuilder *builder);
void rank_table_destroy(RankTable *table); /* accepts NULL */

/* ---- Between the parts of this module ---- */

/* Returns the least rank of a step of n samples that is at least `rank`; n if there is none. */
uint64_t rank_next(uint64_t n, uint64_t rank);

/* Returns how many steps of n samples have a rank below `rank`. */
uint64_t rank_steps(uint64_t n, uint64_t rank);

/* Ends the latest run of equal keys. */
void rank_builder_close(RankBuilder *builder);

/* rank_builder_add_keys for keys of 4 or 8 bytes, on this thread; in record/quantile_select.c. */
void rank_keys_add(RankBuilder *builder, void *keys, void *spare, size_t n, unsigned bytes);

#endif
