/* SPDX-License-Identifier: MIT */
/* shard_text.h: commands that print, about all inputs, a part, or one shard after another. */
#ifndef IMGSTAT_TOOLS_MEASURE_SHARD_TEXT_H
#define IMGSTAT_TOOLS_MEASURE_SHARD_TEXT_H

#include "measure/shard.h"

#include <stdio.h>

/* How a command works through some inputs. */
typedef struct PartRun {
    const Options *options;
    InputStream *inputs;
    InputPart part;  /* part that `inputs` gives */
    bool first;      /* prints what is printed once, such as the header of CSV */
    bool several;    /* all captured parts together have several inputs */
    bool captured;   /* output is kept, and goes to ShardCommand.emit */
    bool summarizes; /* the command prints the line of counts; else its caller does */
    FILE *outputs;   /* NULL, or receives the names of outputs, each with a NUL */
    void *context;
    ImgstatDataset *
        into; /* for --by all and group: NULL, or the data set that inputs are only measured into */
    bool measured;             /* `into` holds all inputs: compute, save and print are left */
    bool follows;              /* another process saves and prints */
    const ImgstatPeers *peers; /* NULL, or `inputs` gives the part of this process */
    /* Results: */
    bool complete; /* every input was tried */
    size_t done, failed, skipped;
    size_t unwritten; /* failed outputs that another run may write: the disk was full, say */
} PartRun;

/* Works through run->inputs and sets the results in `run`. */
typedef void (*PartFunction)(PartRun *run);

typedef struct ShardCommand {
    PartFunction work;
    void *context;    /* argument of the functions */
    const char *done; /* word of the last line: "measured" */
    /* NULL, or called once before the first of several shards, unless all of them are done. All
     * members of a team call it. False: nothing else is done. */
    bool (*prepare)(void *context);
    /* NULL, or prints the captured output of a shard, in the order of shards. NULL: it goes to
     * standard output unchanged. */
    void (*emit)(void *context, const char *text, size_t bytes);
    void (*finish)(void *context); /* NULL, or called after the last shard was printed */
} ShardCommand;

/* Works through the requested inputs. With --state the output of each shard is captured and kept;
 * the output of all wanted shards is printed in order, whether done now or before. */
void shard_text_run(const Options *options, const ShardCommand *command);

#endif
