/* SPDX-License-Identifier: MIT */
/* shard_team.c: how many shards a team makes, which of them come first, and the messages among
 * members. */
#include "measure/shard_team.h"
#include "text/status.h"
#include "text/text.h"

#include <stdlib.h>

const ShardTeam *shard_team;

/* Members that are done wait for the last shard: with so many for each, for a thirty-second of the
 * time at most. */
enum { SHARDS_PER_MEMBER = 32 };

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
    uint64_t before = 0;
    for (Input input; inputs_next_whole(inputs, true, &input); before += input.weight) {
        all[input_part_of(&part, before) - 1].weight += input.weight;
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

/* ---- Messages -------------------------------------------------------------------------------- */

static void fail(const char *sentence)
{
    fprintf(stderr, "imgstat: %s\n", sentence);
    shard_team->fail(shard_team->context, STATUS_FAILED);
}

/* Along a binary tree from the leader. Returns the leader's bytes, which the caller frees. */
static void *broadcast(const void *bytes, size_t *n)
{
    const ImgstatPeers *const peers = shard_team->peers;
    uint32_t step = 1;
    void *own = NULL;
    while (step < peers->n && peers->rank % (2 * step) == 0)
        step *= 2;
    if (peers->rank > 0)
        bytes = own = peers->receive(peers->context, peers->rank - step, n);
    while (step > 1) {
        step /= 2;
        if (peers->rank + step < peers->n)
            peers->send(peers->context, peers->rank + step, bytes, *n);
    }
    return own;
}

bool shard_team_agree(bool word)
{
    size_t n = 1;
    const unsigned char own = word;
    unsigned char *const other = broadcast(&own, &n);
    const bool agreed = other != NULL ? *other != 0 : word;
    free(other);
    return agreed;
}

static void *bytes_of(ImgstatDataset *dataset, size_t *n)
{
    *n = imgstat_dataset_bytes(dataset, NULL, 0);
    void *const bytes = text_alloc(*n);
    if (*n == 0 || imgstat_dataset_bytes(dataset, bytes, *n) != *n)
        text_no_memory();
    return bytes;
}

static ImgstatDataset *dataset_of(const void *bytes, size_t n)
{
    ImgstatDataset *dataset = NULL;
    ImgstatError error;
    if (bytes == NULL)
        fail("a member sent nothing");
    else if (imgstat_dataset_from_bytes(NULL, bytes, n, UINT64_MAX, &dataset, &error) != IMGSTAT_OK)
        fail(error.message);
    return dataset;
}

/* An operation of MPI_Reduce does not fit: its elements have one size on all ranks, and that of a
 * data set depends on the samples and grows as it merges. */
ImgstatDataset *shard_team_reduce(ImgstatDataset *own)
{
    const ImgstatPeers *const peers = shard_team->peers;
    ImgstatError error;
    size_t n;
    for (uint32_t step = 1; step < peers->n; step *= 2) {
        if (peers->rank % (2 * step) != 0) {
            void *const bytes = bytes_of(own, &n);
            peers->send(peers->context, peers->rank - step, bytes, n);
            free(bytes);
            imgstat_dataset_destroy(own);
            return NULL;
        }
        if (peers->rank + step >= peers->n)
            continue;
        void *const bytes = peers->receive(peers->context, peers->rank + step, &n);
        ImgstatDataset *const other = dataset_of(bytes, n);
        free(bytes);
        if (other != NULL && imgstat_dataset_merge(own, other, &error) != IMGSTAT_OK)
            fail(error.message);
        imgstat_dataset_destroy(other);
    }
    return own;
}

ImgstatDataset *shard_team_share(ImgstatDataset *dataset)
{
    size_t n = 0;
    void *const own = dataset != NULL ? bytes_of(dataset, &n) : NULL, *const other =
                                                                          broadcast(own, &n);
    if (other != NULL)
        dataset = dataset_of(other, n);
    free(own);
    free(other);
    return dataset;
}
