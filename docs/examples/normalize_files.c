/* SPDX-License-Identifier: MIT */
/* normalize_files.c: many files, one stretch for all of them, with progress and cancellation.
 * usage: normalize_files INPUT OUTPUT [INPUT OUTPUT]... */
#include <imgstat.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

/* Asked by any thread, many times a second. */
static bool is_cancelled(void *context)
{
    (void)context;
    return interrupted != 0;
}

/* Called by imgstat_batch_run's own thread, for every file in order. */
static bool on_progress(void *context, const ImgstatDone *done)
{
    size_t *const written = context;
    if (done->result == IMGSTAT_OK)
        *written += 1;
    else
        fprintf(stderr, "%s\n", done->message);
    return true;
}

int main(int argc, char **argv)
{
    const size_t n = (size_t)(argc - 1) / 2;
    if (argc < 3 || argc % 2 == 0) {
        fprintf(stderr, "usage: normalize_files INPUT OUTPUT [INPUT OUTPUT]...\n");
        return 2;
    }
    ImgstatJob *const jobs = calloc(n, sizeof *jobs);
    if (!jobs)
        return 1;
    for (size_t i = 0; i < n; i++) {
        jobs[i].input = argv[1 + 2 * i];
        jobs[i].output = argv[2 + 2 * i];
    }
    size_t written = 0;
    const ImgstatBatch batch = {
        .method = {.transform = IMGSTAT_PERCENTILE, .has_clip = true, .clip_lo = 1, .clip_hi = 1},
        .together = IMGSTAT_BY_ALL,
        .memory = 256u << 20,
        .progress = on_progress,
        .cancelled = is_cancelled,
        .context = &written};
    signal(SIGINT, on_interrupt);

    ImgstatError err;
    const ImgstatResult res = imgstat_batch_run(&batch, jobs, n, &err);
    if (res != IMGSTAT_OK)
        fprintf(stderr, "%s\n", err.message);
    printf("%zu of %zu written\n", written, n);
    free(jobs);
    return res == IMGSTAT_OK && written == n ? 0 : 1;
}
