/* SPDX-License-Identifier: MIT */
/* dataset_shards.c: the records of shards that the folder of --state keeps beside their texts. */
#include "measure/dataset_shards.h"
#include "text/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool complain(const Options *o, ImgstatResult result, const ImgstatError *error)
{
    if (result == IMGSTAT_OK)
        return true;
    fprintf(stderr, "%s: %s\n", o->command, error->message);
    status_raise(STATUS_FAILED);
    return false;
}

bool dataset_shard_save(const ShardSet *set, uint32_t shard, ImgstatDataset *dataset)
{
    const Options *const o = set->options;
    char *const path = shard_path(set, shard, "rec");
    ImgstatError error;
    const bool good =
        complain(o, imgstat_dataset_set_shard(dataset, shard - 1, set->n, set->id, &error),
                 &error) &&
        complain(o, imgstat_dataset_save(dataset, path, true, &error), &error);
    free(path);
    return good;
}

/* Whether a data set is that shard of that set; a set of one shard is none. */
static bool is_shard(ImgstatDataset *dataset, const ShardSet *set, uint32_t shard)
{
    ImgstatAccount account;
    imgstat_dataset_account(dataset, &account);
    const uint32_t k = shard - 1;
    if (set->n == 1)
        return account.shards == 0;
    return account.shards == set->n && account.n_done == 1 &&
           memcmp(account.set, set->id, sizeof account.set) == 0 &&
           (account.done[k / 8] >> (k % 8) & 1);
}

bool dataset_shard_is_there(const ShardSet *set, uint32_t shard)
{
    ImgstatDataset *dataset = NULL;
    char *const path = shard_path(set, shard, "rec");
    const bool good = imgstat_dataset_load(path, 0, &dataset, NULL) == IMGSTAT_OK &&
                      is_shard(dataset, set, shard);
    imgstat_dataset_destroy(dataset);
    free(path);
    return good;
}

bool dataset_shard_add(const ShardSet *set, uint32_t shard, ImgstatDataset *all)
{
    char *const path = shard_path(set, shard, "rec");
    ImgstatError error;
    const bool good =
        complain(set->options, imgstat_dataset_merge_file(all, path, 0, &error), &error);
    free(path);
    return good;
}
