/* SPDX-License-Identifier: MIT */
/* progress.c: how many are done, how fast, how long it will take. */
#include "text/progress.h"
#include "text/terminal.h"
#include "text/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
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
    return (Progress){.wanted = n > 1 && !quiet && terminal_width(STDERR_FILENO) > 0,
                      .what = what,
                      .start = now()};
}

/* ", 10,400 a second" */
static void write_rate(char out[2 * TEXT_NUMBER], double rate)
{
    char number[TEXT_NUMBER];
    const double per_minute = 60 * rate;
    const double shown = rate >= 1 ? rate : per_minute;
    const double step = shown >= 1000 ? pow(10, floor(log10(shown)) - 2) : 1; /* three digits */
    if (shown >= 10)
        text_grouped(number, (uint64_t)(round(shown / step) * step));
    else
        snprintf(number, sizeof number, "%.1f", shown);
    snprintf(out, 2 * TEXT_NUMBER, ", %s a %s", number, rate >= 1 ? "second" : "minute");
}

/* ", 45 s left", ", 3 min 20 s left", ", 2 h 5 min left" */
static void write_left(char out[2 * TEXT_NUMBER], double seconds)
{
    const unsigned long long s = (unsigned long long)fmin(round(seconds), 1e15);
    if (s < 60)
        snprintf(out, 2 * TEXT_NUMBER, ", %llu s left", s);
    else if (s < 3600)
        snprintf(out, 2 * TEXT_NUMBER, ", %llu min %llu s left", s / 60, s % 60);
    else
        snprintf(out, 2 * TEXT_NUMBER, ", %llu h %llu min left", s / 3600, s / 60 % 60);
}

void progress_show(Progress *progress, size_t done, size_t n)
{
    enum { PARTS = 4 };
    char parts[PARTS][2 * TEXT_NUMBER] = {""}, number[TEXT_NUMBER];
    const double time = now();
    if (!progress->wanted || done == 0 || time - progress->last < 0.2)
        return;
    progress->last = time;
    const double rate = (double)done / (time - progress->start);
    text_grouped(number, done);
    snprintf(parts[0], sizeof parts[0], "%.40s%s", progress->what, number);
    text_grouped(number, n);
    if (n > 0)
        snprintf(parts[1], sizeof parts[1], " of %s", number);
    write_rate(parts[2], rate);
    if (n > 0)
        write_left(parts[3], (double)(n - done) / rate);

    /* As many parts as the line has room for: it must not wrap, or it cannot be cleared. */
    const size_t room = terminal_width(STDERR_FILENO);
    size_t used = 0;
    fputc('\r', stderr);
    for (size_t i = 0; i < PARTS && used + strlen(parts[i]) < room; i++)
        used += (size_t)fprintf(stderr, "%s", parts[i]);
    fputs("\033[K", stderr);
    progress->shown = true;
}

void progress_clear(Progress *progress)
{
    if (progress->shown)
        fputs("\r\033[K", stderr);
    progress->shown = false;
}
