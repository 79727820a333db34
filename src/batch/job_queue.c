/* SPDX-License-Identifier: MIT */
/* job_queue.c: copies the jobs of a stream into a ring. */
#include "batch/job_queue.h"

#include "batch/job.h"

#include <stdlib.h>

/* A job of a stream, with copies of its texts in one block. */
typedef struct HeldJob {
    ImgstatJob job;
    char *texts;
} HeldJob;

void job_queue_of_array(const ImgstatJob *jobs, size_t n, JobQueue *out)
{
    *out = (JobQueue){.jobs = jobs, .ended = true};
    atomic_init(&out->n, n);
}

ImgstatResult job_queue_open(const ImgstatJobStream *stream, size_t capacity, JobQueue *out,
                             ImgstatError *err)
{
    *out = (JobQueue){.stream = stream, .capacity = capacity};
    atomic_init(&out->n, 0);
    out->held = calloc(capacity, sizeof *out->held);
    return out->held ? IMGSTAT_OK : error_memory(err, capacity * sizeof *out->held, "a batch");
}

void job_queue_close(JobQueue *queue)
{
    for (size_t i = 0; queue->held && i < queue->capacity; i++)
        free(queue->held[i].texts);
    free(queue->held);
    queue->held = NULL;
}

static const char *copy_text(const char *text, size_t bytes, char **at)
{
    if (!text)
        return NULL;
    char *const copy = memcpy(*at, text, bytes);
    *at += bytes;
    return copy;
}

static ImgstatResult hold(HeldJob *held, const ImgstatJob *job, ImgstatError *err)
{
    const char *const texts[] = {job->input, job->pages, job->group};
    size_t bytes[3];
    for (int i = 0; i < 3; i++)
        bytes[i] = texts[i] ? strlen(texts[i]) + 1 : 0;
    char *at = malloc(bytes[0] + bytes[1] + bytes[2]);
    if (!at)
        return error_memory(err, bytes[0] + bytes[1] + bytes[2], "a batch");
    free(held->texts);
    held->texts = at;
    held->job = *job;
    held->job.input = copy_text(texts[0], bytes[0], &at);
    held->job.pages = copy_text(texts[1], bytes[1], &at);
    held->job.group = copy_text(texts[2], bytes[2], &at);
    return IMGSTAT_OK;
}

void job_queue_fill(JobQueue *queue, size_t n)
{
    size_t have = atomic_load(&queue->n);
    while (have < n && !queue->ended) {
        ImgstatJob job = {0};
        ImgstatResult res = IMGSTAT_OK;
        if (!queue->stream->next(queue->stream->context, &job))
            queue->ended = true;
        else if (!job_is_complete(&job, false))
            res = error_set(&queue->error, IMGSTAT_ERR_ARG, "job %zu has no input", have);
        else
            res = hold(&queue->held[have % queue->capacity], &job, &queue->error);
        if (res != IMGSTAT_OK)
            queue->ended = true;
        else if (!queue->ended)
            atomic_store(&queue->n, ++have);
    }
}

const ImgstatJob *job_queue_at(const JobQueue *queue, size_t i)
{
    if (i >= atomic_load(&queue->n))
        return NULL;
    return queue->jobs ? &queue->jobs[i] : &queue->held[i % queue->capacity].job;
}
