/* SPDX-License-Identifier: MIT */
/* dataset.c: files are measured into a data set. */
#include "record/dataset.h"
#include "base/sample.h"
#include "batch/measure_batch.h"
#include "codec/page_group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ImgstatResult measure_group_name(ImgstatGrouping by, const ImgstatJob *job, const PageList *list,
                                 uint32_t page, char **out, ImgstatError *err)
{
    const char *const group = job->group ? job->group : "";
    char number[32];
    *out = NULL;
    const GroupKey key = page_group_key(by, list, page);
    if (by != IMGSTAT_BY_CHANNEL || key.by != IMGSTAT_BY_CHANNEL)
        return IMGSTAT_OK;
    snprintf(number, sizeof number, "channel %u", key.number);
    const char *const name = key.name ? key.name : number;
    const size_t bytes = strlen(group) + strlen(name) + 2;
    *out = malloc(bytes);
    if (!*out)
        return error_memory(err, bytes, "the name of a group");
    snprintf(*out, bytes, "%s%s%s", group, *group ? " " : "", name);
    return IMGSTAT_OK;
}

/* As many jobs as threads, or fewer: then there are no more. */
static ThreadShare share_of(JobQueue *queue, unsigned threads)
{
    const unsigned most = measure_share(SIZE_MAX, threads).workers;
    job_queue_fill(queue, most);
    return measure_share(queue->ended ? atomic_load(&queue->n) : SIZE_MAX, threads);
}

ImgstatResult imgstat_dataset_measure(ImgstatDataset *dataset, const ImgstatMeasureBatch *batch,
                                      const ImgstatJobStream *jobs, ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(dataset && batch && jobs && jobs->next, __func__, err));
    if (batch->by != IMGSTAT_BY_DEFAULT && batch->by != IMGSTAT_BY_CHANNEL &&
        batch->by != IMGSTAT_BY_ALL)
        return error_set(err, IMGSTAT_ERR_ARG, "data sets are measured by channel or all");
    const ImgstatMeasure how = {
        .mergeable = true, .region = batch->how ? batch->how->region : (ImgstatRegion){0, 0, 0, 0}};
    ImgstatMeasureBatch merged = *batch;
    merged.how = &how;
    const unsigned workers = measure_share(SIZE_MAX, batch->threads).workers;
    JobQueue queue;
    IMGSTAT_TRY(job_queue_open(jobs, in_order_capacity(workers) + workers + 1, &queue, err));
    const ThreadShare share = share_of(&queue, batch->threads);
    ImgstatResult res = measure_queue(&merged, &queue, share, dataset, err);
    if (res == IMGSTAT_OK && queue.error.code != IMGSTAT_OK) {
        if (err)
            *err = queue.error;
        res = queue.error.code;
    }
    job_queue_close(&queue);
    return res;
}

ImgstatResult imgstat_dataset_compute(ImgstatDataset *dataset, const ImgstatMeasureBatch *batch,
                                      const ImgstatJobStream *jobs, ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(dataset && batch, __func__, err));
    const ImgstatMeasure how = batch->how ? *batch->how : (ImgstatMeasure){0};
    ImgstatMeasure counted = how; /* what follows from the counts of wider types */
    counted.mode = counted.shape = counted.histogram = false;
    ImgstatRecord *record;
    for (size_t i = 0; (record = imgstat_dataset_record(dataset, i)); i++) {
        const bool narrow = sample_is_narrow(record->kind->sample);
        if (narrow || !jobs || jobs)
            IMGSTAT_TRY(imgstat_record_compute(record, narrow ? &how : &counted, err));
    }
    return IMGSTAT_OK;
}
