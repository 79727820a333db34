/* SPDX-License-Identifier: MIT */
/* open_job.c: opens the input of a job and chooses its pages. */
#include "batch/scheduler.h"

#include "batch/job.h"
#include "codec/work.h"

ImgstatResult jobs_open(const Jobs *jobs, size_t index, ImgstatWarn warn, void *warn_context,
                        ImgstatFile **out, ImgstatError *err)
{
    ImgstatOpen how = jobs->open;
    how.warn = warn;
    how.warn_context = warn_context;
    const ImgstatJob *const job = &jobs->job[index];
    if (jobs->n - index > jobs->share.workers) /* it begins about when this one ends */
        (void)job_prefetch(&jobs->job[index + jobs->share.workers], PREFETCH_BYTES);
    IMGSTAT_TRY(job_open(job, &how, &jobs->cancel, out, err));
    const DecodeOptions options = {
        .threads = jobs->share.threads,
        .work = jobs->method.transform == IMGSTAT_CLAHE && !jobs->pipeline.transfer ? WORK_CLAHE
                                                                                    : WORK_MAP};
    ImgstatResult res = file_choose(*out, job->pages,
                                    WITH_MASKS | (jobs->batch->drop_levels ? 0 : WITH_LEVELS), err);
    if (res == IMGSTAT_OK)
        res = file_select(*out, (*out)->chosen->page, &options, err);
    if (res != IMGSTAT_OK) {
        imgstat_file_close(*out);
        *out = NULL;
    }
    return res;
}
