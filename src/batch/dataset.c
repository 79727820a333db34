/* SPDX-License-Identifier: MIT */
/* dataset.c: files are measured into a data set. */
#include "record/dataset.h"
#include "base/sample.h"
#include "batch/dataset_wide.h"
#include "batch/job.h"
#include "batch/peers.h"
#include "codec/page_group.h"
#include "measure/result.h"

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
    const size_t bytes = strlen(group) + (*group != '\0') + strlen(name) + 1;
    IMGSTAT_TRY(job_check_group(job, bytes - 1, err));
    *out = malloc(bytes);
    if (!*out)
        return error_memory(err, bytes, "the name of a group");
    snprintf(*out, bytes, "%s%s%s", group, *group ? " " : "", name);
    return IMGSTAT_OK;
}

ImgstatResult imgstat_dataset_measure(ImgstatDataset *dataset, const ImgstatMeasureBatch *batch,
                                      const ImgstatJobStream *jobs, ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(dataset && batch && jobs && jobs->next, __func__, err));
    if (batch->by != IMGSTAT_BY_DEFAULT && batch->by != IMGSTAT_BY_CHANNEL &&
        batch->by != IMGSTAT_BY_ALL)
        return error_set(err, IMGSTAT_ERR_ARG, "data sets are measured by channel or all");
    IMGSTAT_TRY(job_check_memory(batch->memory, err));
    const ImgstatMeasure how = {.mergeable = true,
                                .region =
                                    batch->how ? batch->how->region : (ImgstatRegion){0, 0, 0, 0},
                                .hash = batch->how && batch->how->hash,
                                .preview = batch->how ? batch->how->preview : 0};
    ImgstatMeasureBatch merged = *batch;
    merged.how = &how;
    return measure_stream(&merged, jobs, dataset, err);
}

/* Reads again on the devices of the batch, and once more on others where one fails, unless other
 * processes read as well. */
static ImgstatResult read_again(ImgstatDataset *dataset, const ImgstatMeasureBatch *batch,
                                const ImgstatMeasure *how, const ImgstatJobStream *jobs,
                                ImgstatError *err)
{
    DeviceList devices;
    ImgstatError why = {0};
    bool again;
    ImgstatResult res =
        device_list_init(&devices, batch->device, batch->fallen_back, batch->context, &why);
    if (batch->peers)
        res = peers_agree(batch->peers, res, &why);
    for (again = res == IMGSTAT_OK; again; again = again && res != IMGSTAT_OK && !batch->peers) {
        res = dataset_compute_wide(dataset, batch, how, jobs, &devices, &again, &why);
        device_list_report(&devices);
    }
    device_list_release(&devices);
    if (res != IMGSTAT_OK && err)
        *err = why;
    return res;
}

ImgstatResult imgstat_dataset_compute(ImgstatDataset *dataset, const ImgstatMeasureBatch *batch,
                                      const ImgstatJobStream *jobs, ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(dataset && batch && (!jobs || jobs->next), __func__, err));
    IMGSTAT_TRY(job_check_memory(batch->memory, err));
    if (batch->peers && !peers_are_complete(batch->peers))
        return error_set(err, IMGSTAT_ERR_ARG, "process %u of %u, or no way to the others",
                         batch->peers->rank, batch->peers->n);
    ImgstatMeasure how = batch->how ? *batch->how : (ImgstatMeasure){0};
    how.mergeable = false;
    IMGSTAT_TRY(result_check(&how, err));
    ImgstatMeasure counted = how; /* what follows from the counts of wider types */
    counted.mode = counted.shape = counted.histogram = false;
    ImgstatRecord *record;
    for (size_t i = 0; (record = imgstat_dataset_record(dataset, i)); i++) {
        const bool narrow = sample_is_narrow(record->kind->sample);
        if (narrow || !jobs)
            IMGSTAT_TRY(imgstat_record_compute(record, narrow ? &how : &counted, err));
    }
    return jobs ? read_again(dataset, batch, &how, jobs, err) : IMGSTAT_OK;
}
