/* SPDX-License-Identifier: MIT */
/* job_notes.c: sentences one behind the other. */
#include "batch/job_notes.h"

#include <stdlib.h>
#include <string.h>

void job_notes_warn(void *context, const char *sentence)
{
    JobNotes *const notes = context;
    const size_t bytes = strlen(sentence) + 1;
    char *const grown = realloc(notes->warnings, notes->warnings_bytes + bytes);
    if (!grown)
        return;
    memcpy(grown + notes->warnings_bytes, sentence, bytes);
    notes->warnings = grown;
    notes->warnings_bytes += bytes;
}

void job_notes_report(const JobNotes *notes, const ImgstatOpen *open)
{
    for (size_t at = 0; at < notes->warnings_bytes; at += strlen(notes->warnings + at) + 1)
        if (open->warn)
            open->warn(open->warn_context, notes->warnings + at);
}

void job_notes_clear(JobNotes *notes)
{
    free(notes->warnings);
    *notes = (JobNotes){0};
}
