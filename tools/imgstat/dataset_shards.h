/* SPDX-License-Identifier: MIT */
/* dataset_shards.h: data sets of the shards that a folder keeps. */
#ifndef IMGSTAT_TOOLS_DATASET_SHARDS_H
#define IMGSTAT_TOOLS_DATASET_SHARDS_H

#include "shard_text.h"

/* Does the shards that are wanted, each into a saved record in the folder of --state. If all are
 * wanted, prints the failures of files and calls command->work with the data set of all inputs. */
void dataset_in_shards(const Options *options, const ShardCommand *command);

/* Does a shard, unless it is done, and adds it to `all`. False after a sentence. */
bool dataset_shard_do(const ShardSet *set, uint32_t shard, ImgstatDataset *all);

/* Prints the failures in order of names, whichever run of the command found them. Returns the files
 * that failed. */
size_t dataset_report_failures(const Options *options, ImgstatDataset *dataset);

/* Prints the last line: "118 measured, 2 failed". */
void dataset_report_sum(ImgstatDataset *dataset, size_t failed);

#endif
