/* SPDX-License-Identifier: MIT */
/* cancel.h: whether what is under way is to stop. */
#ifndef IMGSTAT_BASE_CANCEL_H
#define IMGSTAT_BASE_CANCEL_H

#include "base/error.h"

/* Asked between pieces of work and while waiting for a pipe, from any thread: whether to stop.
 * check may be NULL. */
typedef struct Cancel {
    bool (*check)(void *context);
    void *context;
} Cancel;

/* cancel may be NULL: never. */
ImgstatResult cancel_check(const Cancel *cancel, ImgstatError *err);

#endif
