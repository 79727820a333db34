/* SPDX-License-Identifier: MIT */
/* cancel.h: asks the program whether running work should stop. */
#ifndef IMGSTAT_BASE_CANCEL_H
#define IMGSTAT_BASE_CANCEL_H

#include "base/error.h"

/* A callback that returns true when work should stop. NULL: work never stops. Any thread calls it,
 * between tasks and while it waits for a pipe. */
typedef struct Cancel {
    bool (*check)(void *context);
    void *context;
} Cancel;

static inline ImgstatResult cancel_report(ImgstatError *err)
{
    return error_set(err, IMGSTAT_ERR_CANCELLED, "interrupted");
}

/* Fails with IMGSTAT_ERR_CANCELLED if work should stop. cancel may be NULL. */
static inline ImgstatResult cancel_check(const Cancel *cancel, ImgstatError *err)
{
    if (cancel && cancel->check && cancel->check(cancel->context))
        return cancel_report(err);
    return IMGSTAT_OK;
}

#endif
