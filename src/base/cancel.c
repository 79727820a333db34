/* SPDX-License-Identifier: MIT */
/* cancel.c: one sentence for all that is stopped. */
#include "base/cancel.h"

ImgstatResult cancel_check(const Cancel *cancel, ImgstatError *err)
{
    if (cancel && cancel->check && cancel->check(cancel->context))
        return error_set(err, IMGSTAT_ERR_CANCELLED, "interrupted");
    return IMGSTAT_OK;
}
