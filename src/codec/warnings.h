/* SPDX-License-Identifier: MIT */
/* warnings.h: reports sentences about a file that are no errors. */
#ifndef IMGSTAT_CODEC_WARNINGS_H
#define IMGSTAT_CODEC_WARNINGS_H

#include "imgstat.h"

#include <stddef.h>
#include <stdint.h>

/* Receives the warnings about one file. All zero but name: they are dropped. */
typedef struct Warnings {
    ImgstatWarn warn; /* NULL: warnings are dropped */
    void *context;
    const char *name; /* of the file */
    uint64_t *seen;   /* hashes of the sentences reported so far */
    size_t n_seen;
} Warnings;

/* Reports a sentence after the name of the file, unless it was reported before. warnings may be
 * NULL.
 */
__attribute__((format(printf, 2, 3))) void warnings_report(Warnings *warnings, const char *format,
                                                           ...);

/* Frees what it holds, not the struct. */
void warnings_release(Warnings *warnings);

/* Sentences that wait until a thread may report them. All zero: none. */
typedef struct KeptWarnings {
    char *text; /* each sentence with its NUL */
    size_t bytes;
} KeptWarnings;

/* Adds a sentence; leaves it out on allocation failure. */
void kept_warnings_add(KeptWarnings *kept, const char *sentence);

/* Reports the sentences in their order. warn: NULL where nobody asks for them. */
void kept_warnings_report(const KeptWarnings *kept, ImgstatWarn warn, void *context);

/* Frees the sentences; none are left. */
void kept_warnings_release(KeptWarnings *kept);

#endif
