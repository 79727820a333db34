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
    InputPart part;  /* that `inputs` gives */
    bool first;      /* what is printed once, as the header of CSV is, is printed here */
    bool several;    /* the parts have several inputs, where the text is captured */
    bool captured;   /* what is printed is kept, and goes to ShardCommand.emit */
    bool summarizes; /* the command prints the line of counts; else the caller does */
    FILE *outputs;   /* NULL, or receives the names of outputs, each with its NUL */
    void *context;
    ImgstatDataset *into; /* of --by all and group: NULL, or what is only measured goes into it */
    bool silent;          /* failures of inputs are in `into` alone */
    bool measured;        /* into holds all inputs: what is left is to compute, save and print */
    bool follows;         /* another process saves and prints */
    const ImgstatPeers *peers; /* NULL, or `inputs` gives the part of this process */
    /* What became of it: */
    bool complete; /* every input was tried */
    size_t done, failed, skipped;
} PartRun;

/* Works through run->inputs; fills in what became of it. */
typedef void (*PartFunction)(PartRun *run);

typedef struct ShardCommand {
    PartFunction work;
    void *context;    /* of the functions */
    const char *done; /* the word of the last line: "measured" */
    /* NULL, or called once before the shards, unless all of them are done. All members of a team
     * call it. False: nothing else is done. */
    bool (*prepare)(void *context);
    /* NULL, or prints what was captured of a shard, in the order of shards; NULL for what goes to
     * standard output as it is. */
    void (*emit)(void *context, const char *text, size_t bytes);
    void (*finish)(void *context); /* NULL, or called after the last shard was printed */
} ShardCommand;

/* Works through the inputs that the options ask for. With --state the texts of each shard are
 * captured and kept; those of all shards that are wanted are printed in their order, whether done
 * now or before. */
void shard_text_run(const Options *options, const ShardCommand *command);

#endif
