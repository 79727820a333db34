/* SPDX-License-Identifier: MIT */
/* failed_input.h: an input that cannot be read, as the source of a job. The job fails with its
 * error, so summaries and records count it like any other. */
#ifndef IMGSTAT_TOOLS_INPUTS_FAILED_INPUT_H
#define IMGSTAT_TOOLS_INPUTS_FAILED_INPUT_H

#include <imgstat.h>

typedef struct FailedInput {
    ImgstatResult code;
    char *cause; /* a sentence without the file's name; owned */
} FailedInput;

/* Returns the source of a job. `failed` must live until the job is done. */
ImgstatInput failed_input_source(FailedInput *failed);

#endif
