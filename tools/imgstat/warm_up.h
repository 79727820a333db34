/* SPDX-License-Identifier: MIT */
/* warm_up.h: opens the planned device while the system reads the files. */
#ifndef IMGSTAT_TOOLS_WARM_UP_H
#define IMGSTAT_TOOLS_WARM_UP_H

#include "plan.h"

/* Opens the device for the first worker. Where a chosen one cannot be opened, the plan becomes the
 * CPU; --verbose tells. Where a named one cannot: says why, raises the exit status, returns NULL.
 */
ImgstatDevice *warm_up(const Options *options, const InputList *inputs, unsigned threads,
                       PlanDevice *plan);

#endif
