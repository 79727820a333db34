/* SPDX-License-Identifier: MIT */
/* failed_input.c: an input that cannot be read, as the source of a job. */
#include "inputs/failed_input.h"

#include <stdio.h>

static ImgstatResult fail_to_open(void *context, ImgstatError *err)
{
    const FailedInput *const failed = context;
    snprintf(err->message, sizeof err->message, "%s", failed->cause);
    return failed->code;
}

static ImgstatResult read_nothing(void *context, uint64_t offset, void *to, size_t bytes,
                                  size_t *got, ImgstatError *err)
{
    (void)offset;
    (void)to;
    (void)bytes;
    *got = 0;
    return fail_to_open(context, err);
}

ImgstatInput failed_input_source(FailedInput *failed)
{
    return (ImgstatInput){.open = fail_to_open, .read_at = read_nothing, .context = failed};
}
