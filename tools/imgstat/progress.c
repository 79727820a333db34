/* SPDX-License-Identifier: MIT */
/* progress.c: how many are done, how fast, how long it will take. */
#include "progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

Progress progress_begin(const char *what, size_t n, bool quiet)
{
    return (Progress){
        .wanted = n > 1 && !quiet && isatty(STDERR_FILENO) == 1, .what = what, .start = now()};
}

void progress_show(Progress *progress, size_t done, size_t n)
{
    const double time = now();
    if (!progress->wanted || done == 0 || time - progress->last < 0.2)
        return;
    progress->last = time;
    const double rate = (double)done / (time - progress->start);
    fprintf(stderr, "\r%s%zu", progress->what, done);
    if (n > 0)
        fprintf(stderr, " of %zu", n);
    fprintf(stderr, ", %.3g a second", rate);
    if (n > 0)
        fprintf(stderr, ", %.0f s left", (double)(n - done) / rate);
    fputs("\033[K", stderr);
    progress->shown = true;
}

void progress_clear(Progress *progress)
{
    if (progress->shown)
        fputs("\r\033[K", stderr);
    progress->shown = false;
}
