/* SPDX-License-Identifier: MIT */
/* job_outputs.h: no output of a batch takes the place of another one, or of what a job reads. */
#ifndef IMGSTAT_BATCH_JOB_OUTPUTS_H
#define IMGSTAT_BATCH_JOB_OUTPUTS_H

#include "imgstat.h"

/* One of two jobs with one output would replace what the other one wrote. */
ImgstatResult job_check_outputs(const ImgstatJob *job, size_t n, ImgstatError *err);
/* A job may replace its own input only: when others read theirs is not known. */
ImgstatResult job_check_inputs_kept(const ImgstatBatch *batch, const ImgstatJob *job, size_t n,
                                    ImgstatError *err);

#endif
