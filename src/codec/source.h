/* SPDX-License-Identifier: MIT */
/* source.h: the bytes of an input, readable at any position. */
#ifndef IMGSTAT_CODEC_SOURCE_H
#define IMGSTAT_CODEC_SOURCE_H

#include "base/cancel.h"

#include <stddef.h>
#include <stdint.h>

typedef struct SourceFailure SourceFailure;

/* A file, standard input copied to an unlinked temporary file, or an input of the program. Threads
 * may share a source. */
typedef struct Source {
    char *name;             /* as the user wrote it; begins every message */
    int fd;                 /* -1: an input of the program */
    ImgstatInput input;     /* its read_at is NULL if there is an fd */
    uint64_t bytes;         /* size */
    SourceFailure *failure; /* the first; NULL: it is not kept */
} Source;

/* Returns whether `path` names a regular file. *bytes becomes its size. Does not open the file:
 * opening a FIFO would let its writer continue. */
bool source_is_file(const char *path, uint64_t *bytes);

/* Checks the first bytes of an input. */
typedef ImgstatResult SourceCheck(const uint8_t *bytes, size_t n, const char *name,
                                  ImgstatError *err);

/* Opens the file of an image, or standard input for "-". cancel: checked while it waits for a pipe;
 * NULL: it waits without end. */
ImgstatResult source_open(const char *path, const Cancel *cancel, Source **out, ImgstatError *err);

/* Opens a file of another kind. check: refuses a pipe by its first bytes, before all of it is read.
 */
ImgstatResult source_open_of(const char *path, SourceCheck *check, const Cancel *cancel,
                             Source **out, ImgstatError *err);

/* Opens an input of the program, whose struct is copied. */
ImgstatResult source_open_input(const char *name, const ImgstatInput *input, Source **out,
                                ImgstatError *err);

/* Accepts NULL. */
void source_close(Source *source);

/* Reads `bytes` bytes at `offset`. *got is less only at the end of the file. The first failure
 * stays for source_settle: many a caller takes what it cannot read for damage, or does without. */
ImgstatResult source_read(const Source *source, uint64_t offset, void *to, size_t bytes,
                          size_t *got, ImgstatError *err);

/* Returns where the bytes end: at the size, or earlier if a read has found that. */
uint64_t source_end(const Source *source);

/* Makes `why` the failure that stays, if it is the first. Any thread. */
void source_fail(const Source *source, const ImgstatError *why);

/* Returns `result`, of what was done with bytes of the source; the first failure in its place if
 * there was one and nobody cancelled. */
ImgstatResult source_settle(const Source *source, ImgstatResult result, ImgstatError *err);

#endif
