/* SPDX-License-Identifier: MIT */
/* shard_team.c: how many shards a team makes, and which of them come first. */
#include "shard_team.h"
#include "text.h"

#include <stdlib.h>

const ShardTeam *shard_team;

/* Members that are done wait for the last shard: with so many for each, for a sixteenth of the time
 * at most. */
enum { SHARDS_PER_MEMBER = 16 };

uint32_t shard_team_shards(void)
{
    const uint32_t members = shard_team->members;
    return members < SHARDS_MAX / SHARDS_PER_MEMBER ? members * SHARDS_PER_MEMBER : SHARDS_MAX;
}

typedef struct Weighed {
    uint64_t weight; /* in eighths of the mean: shards of about equal weight keep their order */
    uint32_t shard;
} Weighed;

static int compare(const void *a, const void *b)
{
    const Weighed *const x = a, *const y = b;
    if (x->weight != y->weight)
        return x->weight < y->weight ? 1 : -1;
    return x->shard < y->shard ? -1 : 1;
}

uint32_t *shard_team_order(const ShardSet *set)
{
    Weighed *const all = text_alloc(set->n * sizeof *all);
    uint32_t *const order = text_alloc(set->n * sizeof *order);
    for (uint32_t k = 0; k < set->n; k++)
        all[k] = (Weighed){.shard = k + 1};
    InputStream *const inputs = inputs_open(set->options, (InputPart){0}, false);
    const InputPart part = {.parts = set->n, .weight = set->weight};
    uint64_t before = 0, weight;
    for (Input input; inputs_next_whole(inputs, &input, &weight); before += weight) {
        all[input_part_of(&part, before) - 1].weight += weight;
        input_release(&input);
    }
    inputs_close(inputs);
    const uint64_t unit = set->weight / set->n / 8 + 1;
    for (uint32_t k = 0; k < set->n; k++)
        all[k].weight /= unit;
    qsort(all, set->n, sizeof *all, compare);
    for (uint32_t k = 0; k < set->n; k++)
        order[k] = all[k].shard;
    free(all);
    return order;
}
