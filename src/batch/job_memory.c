/* SPDX-License-Identifier: MIT */
/* job_memory.c: the memory of the files of a batch, which a worker reserves before it reads one. */
#include "batch/scheduler.h"

#include "measure/page_reader.h"
#include "transform/group_transfer.h"

void memory_budget_init(MemoryBudget *budget, uint64_t bytes)
{
    *budget = (MemoryBudget){.total = bytes};
    pthread_mutex_init(&budget->lock, NULL);
    pthread_cond_init(&budget->changed, NULL);
}

void memory_budget_release(MemoryBudget *budget)
{
    pthread_cond_destroy(&budget->changed);
    pthread_mutex_destroy(&budget->lock);
}

/* Exchanges the caller's reservation of `has` bytes for `bytes` if that is possible at once; else
 * the caller keeps it. bytes <= total. */
static bool exchange(MemoryBudget *budget, uint64_t has, uint64_t bytes)
{
    pthread_mutex_lock(&budget->lock);
    const bool fits = budget->used - has <= budget->total - bytes;
    if (fits)
        budget->used += bytes - has;
    if (fits && bytes < has)
        pthread_cond_broadcast(&budget->changed);
    pthread_mutex_unlock(&budget->lock);
    return fits;
}

/* Waits until `bytes` are free and reserves them. The caller holds no reservation, and
 * bytes <= total; so every wait ends once those who hold one return it. */
static void wait_for_memory(Jobs *jobs, uint64_t bytes)
{
    MemoryBudget *const budget = &jobs->budget;
    pthread_mutex_lock(&budget->lock);
    budget->waiting++;
    const bool full = budget->used > budget->total - bytes;
    pthread_mutex_unlock(&budget->lock);
    if (full && jobs->ring) /* workers that wait for a report return what they hold */
        in_order_wake(jobs->ring);
    pthread_mutex_lock(&budget->lock);
    while (budget->used > budget->total - bytes)
        pthread_cond_wait(&budget->changed, &budget->lock);
    budget->waiting--;
    budget->used += bytes;
    pthread_mutex_unlock(&budget->lock);
}

void jobs_return_memory(Jobs *jobs, TransformWorker *worker)
{
    if (worker->reserved == 0)
        return;
    worker_trim(worker, 0);
    (void)exchange(&jobs->budget, worker->reserved, 0);
    worker->reserved = 0;
}

void jobs_yield_memory(Jobs *jobs, TransformWorker *worker)
{
    pthread_mutex_lock(&jobs->budget.lock);
    const bool awaited = jobs->budget.waiting > 0;
    pthread_mutex_unlock(&jobs->budget.lock);
    if (awaited)
        jobs_return_memory(jobs, worker);
}

static void reserve(Jobs *jobs, TransformWorker *worker, uint64_t needed)
{
    /* Buffers of the last file may be of no use for this one: they fit beside what it needs. */
    const uint64_t even = jobs->budget.total / jobs->at_once;
    const uint64_t bytes = needed > even ? needed : even;
    if (exchange(&jobs->budget, worker->reserved, bytes)) {
        worker_trim(worker, bytes - needed);
    } else {
        jobs_return_memory(jobs, worker); /* others may wait for it */
        wait_for_memory(jobs, bytes);
    }
    worker->reserved = bytes;
}

/* Memory of the page that needs most, and what groups of pages take in addition. fed: NULL, or
 * pages that a device has decoded: what it makes of one comes to the host in one piece. */
static ImgstatResult file_memory(const Pipeline *pipeline, ImgstatFile *file, const FedPages *fed,
                                 uint64_t *bytes, ImgstatError *err)
{
    uint64_t of_groups;
    IMGSTAT_TRY(group_transfer_memory(pipeline, file, &of_groups, err));
    *bytes = 0;
    for (uint32_t i = 0; i < file->n_chosen; i++) {
        const uint32_t page = file->chosen[i].page;
        if (file->decoder->page.page != page)
            IMGSTAT_TRY(imgstat_file_page(file, page, NULL, err));
        const bool there = fed && fed_page_image(fed, &file->decoder->page);
        const uint64_t needed = page_memory(pipeline, file->decoder).bytes +
                                (there ? page_reader_whole_bytes(file->decoder) : 0);
        *bytes = needed > *bytes ? needed : *bytes;
    }
    *bytes += of_groups;
    return IMGSTAT_OK;
}

/* Estimates the limit that the file needs: a higher limit sorts more at once and so needs more. */
static ImgstatResult does_not_fit(const Jobs *jobs, const ImgstatJob *job, ImgstatFile *file,
                                  uint64_t needed, ImgstatError *err)
{
    Pipeline pipeline = jobs->pipeline;
    const uint64_t shared =
        jobs->pipeline.memory - jobs->budget.total; /* by transfers of channels */
    while (needed + shared > pipeline.memory) {
        pipeline.memory = needed + shared;
        IMGSTAT_TRY(file_memory(&pipeline, file, NULL, &needed, err));
    }
    return error_file(err, IMGSTAT_ERR_LIMIT, job->input,
                      "needs about %llu MiB of memory, and %llu are allowed",
                      (unsigned long long)((pipeline.memory >> 20) + 1),
                      (unsigned long long)(jobs->pipeline.memory >> 20));
}

ImgstatResult jobs_reserve_memory(Jobs *jobs, TransformWorker *worker, size_t index,
                                  ImgstatFile *file, ImgstatError *err)
{
    const ImgstatJob *const job = &jobs->job[index];
    Decoder *const decoder = file->decoder;
    uint64_t needed;
    IMGSTAT_TRY(file_memory(&jobs->pipeline, file, worker->fed, &needed, err));
    if (worker->fed && needed > jobs->budget.total) {
        worker->fed = NULL;
        IMGSTAT_TRY(file_memory(&jobs->pipeline, file, NULL, &needed, err));
    }
    while (needed > jobs->budget.total && decoder->options.threads > 1) {
        DecodeOptions fewer = decoder->options;
        fewer.threads /= 2;
        IMGSTAT_TRY(file_select(file, decoder->page.page, &fewer, err));
        IMGSTAT_TRY(file_memory(&jobs->pipeline, file, NULL, &needed, err));
    }
    if (needed > jobs->budget.total)
        return does_not_fit(jobs, job, file, needed, err);
    reserve(jobs, worker, needed);
    worker_use_threads(worker, decoder->options.threads);
    return IMGSTAT_OK;
}
