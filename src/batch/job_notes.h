/* SPDX-License-Identifier: MIT */
/* job_notes.h: what was found while a file was read, until it is reported. */
#ifndef IMGSTAT_BATCH_JOB_NOTES_H
#define IMGSTAT_BATCH_JOB_NOTES_H

#include "codec/warnings.h"

/* All zero: nothing. */
typedef struct JobNotes {
    KeptWarnings warnings;
    uint64_t lost_rows;
} JobNotes;

/* An ImgstatWarn. notes: JobNotes. */
static inline void job_notes_warn(void *notes, const char *sentence)
{
    kept_warnings_add(&((JobNotes *)notes)->warnings, sentence);
}

/* Frees the contents; nothing is left. */
static inline void job_notes_clear(JobNotes *notes)
{
    kept_warnings_release(&notes->warnings);
    notes->lost_rows = 0;
}

#endif
