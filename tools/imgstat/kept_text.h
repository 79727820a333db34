/* SPDX-License-Identifier: MIT */
/* kept_text.h: what a command prints about a shard, captured in a file, and printed again. */
#ifndef IMGSTAT_TOOLS_KEPT_TEXT_H
#define IMGSTAT_TOOLS_KEPT_TEXT_H

#include "shard_text.h"

/* Does a shard, whose texts it captures, and writes to `out` what is kept of it. into: as in
 * PartRun. False, after a sentence on standard error: nothing is kept. */
bool kept_text_make(const ShardCommand *command, const ShardSet *set, uint32_t shard, bool several,
                    InputStream *inputs, ImgstatDataset *into, FILE *out);

/* Whether a file holds all that was kept. */
bool kept_text_is_whole(const char *path);

/* Prints what was captured; adds up what became of it. False: it is damaged. */
bool kept_text_print(FILE *in, const ShardCommand *command, PartRun *sum);

#endif
