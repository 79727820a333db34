/* SPDX-License-Identifier: MIT */
/* quantile_table.c: exact order statistics of wide types, RANK_STEPS + 1 of them at most. */
#include "record/quantile_table.h"

#include <stdlib.h>

/* Rank of step j of n samples: x[0] for j = 0, x[n - 1] for j = RANK_STEPS. */
static uint64_t step_rank(uint64_t n, uint64_t step)
{
    return (uint64_t)((unsigned __int128)(n - 1) * step / RANK_STEPS);
}

ImgstatResult rank_builder_init(BufferCache *cache, RankBuilder *builder, uint64_t n,
                                ImgstatError *err)
{
    *builder = (RankBuilder){.table = {.n = n}};
    builder->capacity = n <= RANK_STEPS ? (uint32_t)n : RANK_STEPS + 1u;
    builder->table.knots = buffer_cache_acquire(cache, (builder->capacity + 1u) * sizeof(RankKnot));
    if (!builder->table.knots)
        return error_memory(err, (builder->capacity + 1u) * sizeof(RankKnot), "order statistics");
    return IMGSTAT_OK;
}

void rank_builder_release(RankBuilder *builder)
{
    buffer_cache_release(builder->table.knots);
    builder->table.knots = NULL;
}

uint64_t rank_steps(uint64_t n, uint64_t rank)
{
    uint64_t step = n > 1 ? (uint64_t)((unsigned __int128)rank * RANK_STEPS / (n - 1)) : 0;
    while (step > 0 && step_rank(n, step - 1) >= rank)
        step--;
    while (step <= RANK_STEPS && step_rank(n, step) < rank)
        step++;
    return step;
}

uint64_t rank_next(uint64_t n, uint64_t rank)
{
    const uint64_t step = rank_steps(n, rank);
    return step <= RANK_STEPS ? step_rank(n, step) : n;
}

/* It is a knot if it holds the rank of a step. */
void rank_builder_close(RankBuilder *builder)
{
    const RankKnot run = builder->current;
    if (run.upto > run.below && rank_next(builder->table.n, run.below) < run.upto &&
        builder->table.n_knots < builder->capacity)
        builder->table.knots[builder->table.n_knots++] = run;
    builder->current = (RankKnot){0};
}

void rank_builder_add(RankBuilder *builder, uint64_t key, uint64_t count)
{
    if (count == 0)
        return;
    if (builder->current.upto == builder->current.below || builder->current.key != key) {
        rank_builder_close(builder);
        builder->current = (RankKnot){.key = key, .below = builder->seen, .upto = builder->seen};
    }
    builder->seen += count;
    builder->current.upto = builder->seen;
}

void rank_builder_add_run(RankBuilder *builder, const RankKnot *run)
{
    rank_builder_close(builder);
    builder->table.knots[builder->table.n_knots++] = *run;
    builder->seen = run->upto;
}

RankTable *rank_builder_finish(RankBuilder *builder, ImgstatError *err)
{
    rank_builder_close(builder);
    RankTable *const table = malloc(sizeof *table);
    if (!table) {
        error_memory(err, sizeof *table, "order statistics");
        return NULL;
    }
    *table = builder->table;
    builder->table.knots = NULL;
    return table;
}

void rank_table_destroy(RankTable *table)
{
    if (!table)
        return;
    buffer_cache_release(table->knots);
    free(table);
}
