/* SPDX-License-Identifier: MIT */
/* fed_jobs.c: a batch that transforms files, whose device decodes many at a time; each feeding
 * worker has a device of its own, on which its pages stay until they are compressed. */
#include "batch/scheduler.h"

#include "batch/job.h"

/* Nothing is gained where the device does not compress what it has decoded. */
static bool open_fed(void *context, size_t index, bool *unusual, ImgstatFile **file)
{
    const Jobs *const jobs = context;
    const ImgstatJob *const job = &jobs->job[index];
    return job->output && !(jobs->batch->skip_existing && job_output_exists(job)) &&
           feeding_open_job(job, &jobs->open, !jobs->batch->drop_levels, &jobs->cancel, unusual,
                            file) &&
           (feeding_writes(job, &jobs->batch->write, (*file)->decoder) ||
            (*file)->decoder->mode == DECODE_THREADS);
}

static double work_fed(void *context, void *own, size_t index, const FedPages *page, void *outcome)
{
    TransformWorker *const worker = own;
    worker->fed = page;
    const double seconds = jobs_work(context, worker, index, outcome);
    worker->fed = NULL;
    return seconds;
}

static void fail_fed(void *context, void *worker, size_t index, const ImgstatError *why,
                     void *outcome)
{
    (void)worker;
    jobs_fail(context, index, why, outcome);
}

/* Workers that hold memory while they wait could keep it from those that they wait for. */
static void idle_fed(void *context, void *worker)
{
    jobs_return_memory(context, worker);
}

ImgstatResult jobs_begin_feeding(Jobs *jobs, ImgstatError *err)
{
    const ImgstatBatch *const batch = jobs->batch;
    const FedJobs fed = {.context = jobs,
                         .devices = &jobs->devices,
                         .share = jobs->share,
                         .n = jobs->n,
                         .outcome_bytes = jobs_outcome_bytes(),
                         .whole_jobs = true,
                         .open = open_fed,
                         .work = work_fed,
                         .idle = idle_fed,
                         .fail = fail_fed};
    if (batch->together == IMGSTAT_BY_ALL || batch->peers || batch->describe ||
        batch->open.salvage || batch->write.has_nodata)
        return IMGSTAT_OK;
    return feeding_create(&fed, &jobs->feeding, err);
}

ImgstatResult jobs_open_fed(Jobs *jobs, TransformWorker *out, bool first, ImgstatError *err)
{
    Feeder feeder = {0};
    Device *device;
    const char *name = "cpu";
    *out = (TransformWorker){0};
    feeding_open_worker(jobs->feeding, &feeder, first);
    feeder.feeds = feeder.feeds && feeding_opened(jobs->feeding, NULL) == IMGSTAT_OK;
    IMGSTAT_TRY(feeder.feeds
                    ? device_list_open(&jobs->devices, jobs->share.threads, &name, &device, err)
                    : imgstat_device_open(name, jobs->share.threads, &device, err));
    IMGSTAT_TRY(worker_open(device, name, jobs->share.threads, jobs->cancel, out, err));
    feeder.feeds = feeder.feeds && !device->ops->fetches;
    feeder.device = feeder.feeds ? device : NULL;
    out->feeder = feeder;
    return IMGSTAT_OK;
}
