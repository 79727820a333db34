/* SPDX-License-Identifier: MIT */
/* job_outputs.c: no output of a batch takes the place of another one, or of what a job reads. */
#include "batch/job_outputs.h"

#include "base/error.h"
#include "batch/job.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int by_output(const void *a, const void *b)
{
    return strcmp((*(const ImgstatJob *const *)a)->output, (*(const ImgstatJob *const *)b)->output);
}

/* Devices and pipes keep nothing that a later job would replace. */
static bool is_kept(const char *path)
{
    struct stat st;
    return stat(path, &st) != 0 || S_ISREG(st.st_mode);
}

ImgstatResult job_check_outputs(const ImgstatJob *job, size_t n, ImgstatError *err)
{
    const ImgstatJob **const writing = malloc(n * sizeof *writing + 1);
    size_t n_writing = 0;
    if (!writing)
        return error_memory(err, n * sizeof *writing, "a list of outputs");
    for (size_t i = 0; i < n; i++)
        if (job[i].output && !job[i].sink)
            writing[n_writing++] = &job[i];
    qsort(writing, n_writing, sizeof *writing, by_output);
    ImgstatResult res = IMGSTAT_OK;
    for (size_t i = 1; res == IMGSTAT_OK && i < n_writing; i++)
        if (by_output(&writing[i - 1], &writing[i]) == 0 && is_kept(writing[i]->output))
            res = error_set(err, IMGSTAT_ERR_ARG, "%s and %s would both become %s",
                            writing[i - 1]->input, writing[i]->input, writing[i]->output);
    free(writing);
    return res;
}

/* A regular file. */
typedef struct Identity {
    dev_t device;
    ino_t inode;
    const ImgstatJob *job; /* whose output it is */
} Identity;

static int by_identity(const void *a, const void *b)
{
    const Identity *const x = a, *const y = b;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return x->inode == y->inode ? 0 : x->inode < y->inode ? -1 : 1;
}

static bool identify(const char *path, bool reads, Identity *out)
{
    struct stat st;
    const bool standard = strcmp(path, "-") == 0;
    if ((standard && !reads) || (standard ? fstat(STDIN_FILENO, &st) : stat(path, &st)) != 0 ||
        !S_ISREG(st.st_mode))
        return false;
    *out = (Identity){.device = st.st_dev, .inode = st.st_ino};
    return true;
}

/* Refuses outputs that are the file `path`, but for that of its own job. */
static ImgstatResult check_kept(const char *path, const ImgstatJob *own, const Identity *outputs,
                                size_t n, ImgstatError *err)
{
    Identity wanted;
    if (!path || !identify(path, true, &wanted))
        return IMGSTAT_OK;
    const Identity *found = bsearch(&wanted, outputs, n, sizeof *outputs, by_identity);
    while (found && found > outputs && by_identity(found - 1, &wanted) == 0)
        found--; /* hard links */
    for (; found && found < outputs + n && by_identity(found, &wanted) == 0; found++)
        if (found->job != own)
            return error_set(err, IMGSTAT_ERR_ARG, "%s would replace %s, which is an input as well",
                             found->job->output, path);
    return IMGSTAT_OK;
}

ImgstatResult job_check_inputs_kept(const ImgstatBatch *batch, const ImgstatJob *job, size_t n,
                                    ImgstatError *err)
{
    if (!batch->write.replace && !batch->skip_existing)
        return IMGSTAT_OK; /* what exists stays */
    Identity *const outputs = malloc(n * sizeof *outputs + 1);
    size_t n_outputs = 0;
    if (!outputs)
        return error_memory(err, n * sizeof *outputs, "a list of outputs");
    for (size_t i = 0; i < n; i++)
        if (job[i].output && !job[i].sink && identify(job[i].output, false, &outputs[n_outputs]))
            outputs[n_outputs++].job = &job[i];
    qsort(outputs, n_outputs, sizeof *outputs, by_identity);
    ImgstatResult res = IMGSTAT_OK;
    if (n_outputs > 0) {
        res = check_kept(batch->reference, NULL, outputs, n_outputs, err);
        if (res == IMGSTAT_OK)
            res = check_kept(batch->open.mask, NULL, outputs, n_outputs, err);
        for (size_t i = 0; res == IMGSTAT_OK && i < n; i++)
            if (!job[i].source)
                res = check_kept(job[i].input, &job[i], outputs, n_outputs, err);
    }
    free(outputs);
    return res;
}
