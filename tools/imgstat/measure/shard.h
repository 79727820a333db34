/* SPDX-License-Identifier: MIT */
/* shard.h: equal parts of the inputs of a command, and the folder that keeps what is done of them.
 *
 * What is to be kept of a shard is written to a new file, which is then renamed to
 * DIR/shard-0003-of-0016.ENDING. Several processes may do this at once, with one DIR, on one
 * machine or on many: a shard that two of them do is done twice with the same results, and one of
 * the two files stays. A process that is killed leaves nothing that counts, and running the command
 * again does what is missing. shard_text.h runs commands so. */
#ifndef IMGSTAT_TOOLS_MEASURE_SHARD_H
#define IMGSTAT_TOOLS_MEASURE_SHARD_H

#include "inputs/inputs.h"

/* The inputs of a command, in their order, in n contiguous parts of about equal weight. An input
 * weighs the bytes of its file and INPUT_WEIGHT more; an archive is one input. */
typedef struct ShardSet {
    const Options *options;
    uint32_t n;          /* shards */
    uint64_t inputs;     /* number of inputs; an archive is one */
    uint64_t weight;     /* weight of all inputs */
    uint8_t id[16];      /* digest of all names and sizes and of n, the same in every process */
    InputStream *stream; /* stream, after the latest shard */
    char *text;          /* what the folder of --state belongs to; NULL without one */
} ShardSet;

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
/* Records the inputs and options in the folder of --state: from then on it belongs to them. A
 * command that is refused before leaves it to the next one. False as above. */
bool shard_set_claim(const ShardSet *set);
void shard_set_destroy(ShardSet *set); /* accepts NULL */

/* Whether this process does a shard: the one of --shard, or else every one. */
bool shard_is_wanted(const Options *options, uint32_t shard);
/* Returns the inputs of a shard, owned by the set and valid until the next call. Taking shards in
 * order reads all names once. */
InputStream *shard_inputs(const ShardSet *set, uint32_t shard);
/* Returns "DIR/shard-0003-of-0016.rec"; the caller frees it. */
char *shard_path(const ShardSet *set, uint32_t shard, const char *ending);
/* Returns the name of a new file beside `path`, which no other process uses. Until shard_file_end,
 * signals that end the process remove the file. */
char *shard_file_begin(const char *path);

/* Renames a file of shard_file_begin to `path` if it is complete, else removes it, and frees its
 * name. Returns whether it is kept; false, after a sentence on standard error, if a complete one
 * cannot be. */
bool shard_file_end(const Options *options, char *temporary, const char *path, bool complete);

/* Prints "COMMAND: FILE: what: cause" to standard error, raises the status and returns false.
 * cause: errno; 0: none. */
bool shard_error(const Options *options, const char *path, const char *what, int cause);

#endif
