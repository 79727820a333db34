/* SPDX-License-Identifier: MIT */
/* job_notes.h: what reading a file told, until it is reported. */
#ifndef IMGSTAT_BATCH_JOB_NOTES_H
#define IMGSTAT_BATCH_JOB_NOTES_H

#include "imgstat.h"

/* All zero: nothing. */
typedef struct JobNotes {
    char *warnings; /* sentences, each with its NUL */
    size_t warnings_bytes;
    uint64_t lost_rows;
} JobNotes;

/* Adds a sentence. notes: JobNotes. Without memory it is left out. */
void job_notes_warn(void *notes, const char *sentence);

/* Passes the sentences on to the function that a batch has for them, if any. */
void job_notes_report(const JobNotes *notes, const ImgstatOpen *open);

/* Frees the contents, and empties it. */
void job_notes_clear(JobNotes *notes);

#endif
