/* SPDX-License-Identifier: MIT */
/* dataset_shards.h: data sets of the shards that a folder keeps. */
#ifndef IMGSTAT_TOOLS_DATASET_SHARDS_H
#define IMGSTAT_TOOLS_DATASET_SHARDS_H

#include "shard_text.h"

/* Does the shards that are wanted, each into a saved record in the folder of --state. If all are
 * wanted, prints the failures of files and calls `work` with the data set of all inputs. */
void dataset_in_shards(const Options *options, PartFunction work, void *context);

#endif
