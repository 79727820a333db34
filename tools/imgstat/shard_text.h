/* SPDX-License-Identifier: MIT */
/* shard_text.h: commands that print, of all inputs, of a part, or of one shard after another. */
#ifndef IMGSTAT_TOOLS_SHARD_TEXT_H
#define IMGSTAT_TOOLS_SHARD_TEXT_H

#include "shard.h"

#include <stdio.h>

/* How a command works through some inputs. */
typedef struct PartRun {
    const Options *options;
    InputStream *inputs;
    bool first;      /* what is printed once, as the header of CSV is, is printed here */
    bool summarizes; /* the command prints the line of counts; else the caller does */
    FILE *outputs;   /* NULL, or receives the names of outputs, each with its NUL */
    void *context;
    ImgstatDataset *into; /* of --by all and group: NULL, or what is only measured goes into it */
    bool measured;        /* into holds all inputs: what is left is to compute, save and print */
    /* What became of it: */
    bool complete; /* every input was tried */
    size_t done, failed, skipped;
} PartRun;

/* Works through run->inputs; fills in what became of it. */
typedef void (*PartFunction)(PartRun *run);

/* Works through the inputs that the options ask for. With --state the texts of each shard are
 * captured and kept; those of all shards that are wanted are printed in their order, whether done
 * now or before. done: the word of the last line, "measured". */
void shard_text_run(const Options *options, PartFunction work, void *context, const char *done);

#endif
