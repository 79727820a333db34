/* SPDX-License-Identifier: MIT */
/* cancel.h: the question whether running work should stop. */
#ifndef IMGSTAT_BASE_CANCEL_H
#define IMGSTAT_BASE_CANCEL_H

#include "base/error.h"

/* A callback that answers true when work should stop; NULL never does. It is called between tasks
 * and while a pipe is waited for, from any thread. */
typedef struct Cancel {
    bool (*check)(void *context);
    void *context;
} Cancel;

/* IMGSTAT_ERR_CANCELLED if work should stop. cancel may be NULL. */
static inline ImgstatResult cancel_check(const Cancel *cancel, ImgstatError *err)
{
    if (cancel && cancel->check && cancel->check(cancel->context))
        return error_set(err, IMGSTAT_ERR_CANCELLED, "interrupted");
    return IMGSTAT_OK;
}

#endif
