/* SPDX-License-Identifier: MIT */
/* dataset_shards.h: data sets of shards that a folder keeps. */
#ifndef IMGSTAT_TOOLS_DATASET_SHARDS_H
#define IMGSTAT_TOOLS_DATASET_SHARDS_H

#include "shard_text.h"

/* Does the wanted shards, each into a saved record in the folder of --state, and prints the
 * failures of files of each. If all shards are wanted, calls command->work with the data set of all
 * inputs. */
void dataset_in_shards(const Options *options, const ShardCommand *command);

/* Does a shard, unless it is done, adds it to `all`, and prints its failures in order of names,
 * whichever run of the command found them. Adds its files to the counts of `sum`. Returns false
 * after a sentence. */
bool dataset_shard_do(const ShardSet *set, uint32_t shard, ImgstatDataset *all, PartRun *sum);

#endif
