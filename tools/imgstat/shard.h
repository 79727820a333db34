/* SPDX-License-Identifier: MIT */
/* shard.h: equal parts of the inputs of a command, and the folder that keeps what is done of them.
 *
 * How a command uses it:
 *
 *     ShardSet *set = shard_set_create(options);       one pass over all names and sizes
 *     for (uint32_t k = 1; set != NULL && k <= set->n; k++)
 *         if (shard_is_wanted(options, k) && shard_run(set, k, &work) == SHARD_FAILED)
 *             ...                                      a sentence was printed; go on or stop
 *     shard_set_destroy(set);
 *
 * work.run measures or transforms the inputs that it is given, and writes what is to be kept into a
 * new file, which shard_run then renames to DIR/shard-0003-of-0016.ENDING. Several processes may
 * do this at once, with one DIR, on one machine or on many: a shard that two of them do is done
 * twice with the same results, and one of the two files stays. A process that is killed leaves
 * nothing that counts, and running the command again does what is missing. Commands whose results
 * are text use shard_text.h. */
#ifndef IMGSTAT_TOOLS_SHARD_H
#define IMGSTAT_TOOLS_SHARD_H

#include "inputs.h"

/* The inputs of a command, in their order, in n contiguous parts of about equal weight. An input
 * weighs the bytes of its file and INPUT_WEIGHT more; an archive is one input. */
typedef struct ShardSet {
    const Options *options;
    uint32_t n;          /* shards */
    uint64_t inputs;     /* number of inputs; an archive is one */
    uint64_t weight;     /* weight of all inputs */
    uint8_t id[16];      /* digest of all names and sizes and of n, the same in every process */
    InputStream *stream; /* stream, after the latest shard */
} ShardSet;

typedef struct ShardWork {
    const char *ending; /* ending of the file that is kept: "rec", "done" */
    void *context;
    /* Works through the inputs of a shard, counted from 1, and writes what is kept to a new file at
     * `path`. Inputs that fail are part of it. Returns false, after a sentence on standard error,
     * if the shard is not done; then nothing is kept. */
    bool (*run)(void *context, const ShardSet *set, uint32_t shard, InputStream *inputs,
                const char *path);
    /* Whether the file at `path` is complete and belongs to this shard of this set. False: it is
     * made again. */
    bool (*check)(void *context, const ShardSet *set, uint32_t shard, const char *path);
} ShardWork;

typedef enum ShardOutcome {
    SHARD_DONE,     /* done now */
    SHARD_WAS_DONE, /* done before; nothing was read */
    SHARD_FAILED    /* a sentence was printed */
} ShardOutcome;

/* Gives the part of the inputs that --shard selects, after reading all names and sizes; all inputs
 * without --shard. Returns false, after a sentence and with a raised status, if not all can be
 * looked at now. */
bool shard_part(const Options *options, InputPart *out);
/* Whether the weights of the inputs that a stream gave are known. False after a sentence, with a
 * raised status. */
bool shard_is_certain(const Options *options, const InputStream *inputs);

/* Reads all names and sizes, creates the folder of --state, and compares the inputs and options
 * recorded there. Returns NULL, after a sentence on standard error and with a raised status, if the
 * folder belongs to other inputs, options or another number of shards, or cannot be written. */
ShardSet *shard_set_create(const Options *options);
void shard_set_destroy(ShardSet *set); /* accepts NULL */

/* Whether this process does a shard: the one of --shard, or else every one. */
bool shard_is_wanted(const Options *options, uint32_t shard);
/* Returns the inputs of a shard, owned by the set and valid until the next call. Taking shards in
 * order reads all names once. */
InputStream *shard_inputs(const ShardSet *set, uint32_t shard);
/* Returns "DIR/shard-0003-of-0016.rec"; the caller frees it. */
char *shard_path(const ShardSet *set, uint32_t shard, const char *ending);
/* Whether the folder of --state has a shard. */
bool shard_was_done(const ShardSet *set, uint32_t shard, const ShardWork *work);
/* Does a shard, unless the folder of --state has it. Any process may call it any number of
 * times. */
ShardOutcome shard_run(const ShardSet *set, uint32_t shard, const ShardWork *work);

#endif
