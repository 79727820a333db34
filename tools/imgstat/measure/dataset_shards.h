/* SPDX-License-Identifier: MIT */
/* dataset_shards.h: data sets of shards that a folder keeps. */
#ifndef IMGSTAT_TOOLS_MEASURE_DATASET_SHARDS_H
#define IMGSTAT_TOOLS_MEASURE_DATASET_SHARDS_H

#include "measure/shard.h"

/* Saves what was measured of a shard, in place of a record that is there. Returns false after a
 * sentence. */
bool dataset_shard_save(const ShardSet *set, uint32_t shard, ImgstatDataset *dataset);

/* Whether the folder has a complete record of this shard of this set. */
bool dataset_shard_is_there(const ShardSet *set, uint32_t shard);

/* Merges the record of a shard into `all`. Returns false after a sentence. */
bool dataset_shard_add(const ShardSet *set, uint32_t shard, ImgstatDataset *all);

#endif
