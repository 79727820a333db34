/* SPDX-License-Identifier: MIT */
/* job.h: the input and the output of a job, whether files or the program's own. */
#ifndef IMGSTAT_BATCH_JOB_H
#define IMGSTAT_BATCH_JOB_H

#include "codec/atomic_file.h"
#include "codec/codec.h"
#include "codec/prefetch.h"

#include <string.h>
#include <time.h>

/* Seconds of a clock that only goes forward. */
static inline double job_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Whether the pointers of a job are those that it needs. */
static inline bool job_is_complete(const ImgstatJob *job, bool writes)
{
    return job->input && (!job->source || job->source->read_at) &&
           (job->output || (!writes && !job->sink)) && (!job->sink || job->sink->write);
}

static inline bool job_reads_standard_input(const ImgstatJob *job)
{
    return !job->source && strcmp(job->input, "-") == 0;
}

/* Whether the input can be read more than once, which standard input and pipes cannot. */
static inline bool job_is_readable_again(const ImgstatJob *job)
{
    uint64_t bytes;
    return job->source || source_is_file(job->input, &bytes);
}

static inline bool job_output_exists(const ImgstatJob *job)
{
    return job->output && !job->sink && atomic_file_exists(job->output);
}

/* As prefetch_file. */
static inline uint64_t job_prefetch(const ImgstatJob *job, uint64_t most)
{
    return job->source ? 0 : prefetch_file(job->input, most);
}

/* Refuses a group of more bytes than records keep. */
static inline ImgstatResult job_check_group(const ImgstatJob *job, size_t bytes, ImgstatError *err)
{
    return bytes <= IMGSTAT_NAME_MOST
               ? IMGSTAT_OK
               : error_file(err, IMGSTAT_ERR_ARG, job->input, "a group of more than %d bytes",
                            IMGSTAT_NAME_MOST);
}

/* Checks what a batch may take, 0 for no bound. */
static inline ImgstatResult job_check_memory(uint64_t memory, ImgstatError *err)
{
    enum { LEAST_MEMORY = 32 << 20 };
    return memory == 0 || memory >= LEAST_MEMORY
               ? IMGSTAT_OK
               : error_set(err, IMGSTAT_ERR_ARG, "a batch needs at least %d MiB of memory",
                           LEAST_MEMORY >> 20);
}

/* As file_open. */
static inline ImgstatResult job_open(const ImgstatJob *job, const ImgstatOpen *how,
                                     const Cancel *cancel, ImgstatFile **out, ImgstatError *err)
{
    if (job->group)
        IMGSTAT_TRY(job_check_group(job, strlen(job->group), err));
    return file_open(job->input, job->source, how, cancel, out, err);
}

#endif
