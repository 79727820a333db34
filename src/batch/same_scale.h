/* SPDX-License-Identifier: MIT */
/* same_scale.h: values of a method in units of the samples need inputs of one depth. */
#ifndef IMGSTAT_BATCH_SAME_SCALE_H
#define IMGSTAT_BATCH_SAME_SCALE_H

#include "batch/scheduler.h"

/* Fails with IMGSTAT_ERR_ARG if the batch's method has values that are not per cent, and the full
 * scales that these refer to differ among the images of the jobs. Reads headers only. */
ImgstatResult jobs_check_scale(const Jobs *jobs, ImgstatError *err);

#endif
