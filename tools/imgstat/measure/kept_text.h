/* SPDX-License-Identifier: MIT */
/* kept_text.h: the output of a command about a shard, captured in a file and printed again. */
#ifndef IMGSTAT_TOOLS_MEASURE_KEPT_TEXT_H
#define IMGSTAT_TOOLS_MEASURE_KEPT_TEXT_H

#include "measure/shard_text.h"

/* Does a shard, captures its output, and writes what is kept to `out`. into: as in PartRun. Returns
 * false, after a sentence on standard error, if nothing is kept. */
bool kept_text_make(const ShardCommand *command, const ShardSet *set, uint32_t shard, bool several,
                    InputStream *inputs, ImgstatDataset *into, FILE *out);

/* Prints why a shard cannot be kept in a folder. */
void kept_text_complain(const Options *options, uint32_t shard, const char *folder, int cause);

/* Whether a file holds everything that was kept, and no output is to be tried again. */
bool kept_text_is_whole(const char *path);

/* Prints what was captured, and adds its counts to the sum. Returns false if it is damaged. */
bool kept_text_print(FILE *in, const ShardCommand *command, PartRun *sum);

#endif
