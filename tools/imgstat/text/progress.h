/* SPDX-License-Identifier: MIT */
/* progress.h: one line on standard error, where that is a terminal. */
#ifndef IMGSTAT_TOOLS_TEXT_PROGRESS_H
#define IMGSTAT_TOOLS_TEXT_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct Progress {
    bool wanted, shown;
    const char *what;   /* beginning of the line */
    double start, last; /* seconds */
} Progress;

/* Begins progress. n: number of items; nothing is shown for one. what: "measured ", or "". */
Progress progress_begin(const char *what, size_t n, bool quiet);
/* Shows "measured 1,400 of 12,000, 1,250 a second, 8 s left", as far as the line has room, at most
 * five times a second. n: 0 if it is not known; what depends on it is left out. */
void progress_show(Progress *progress, size_t done, size_t n);
/* Removes the line. Call it before anything else is written to the terminal. */
void progress_clear(Progress *progress);

#endif
