/* SPDX-License-Identifier: MIT */
/* transfer_groups.h: which outputs share a transfer, and which inputs it is made from. */
#ifndef IMGSTAT_TOOLS_TRANSFORM_TRANSFER_GROUPS_H
#define IMGSTAT_TOOLS_TRANSFORM_TRANSFER_GROUPS_H

#include "transform/outputs.h"

/* Sets the groups of jobs by --together group, and marks jobs that are only mapped by --only.
 * reports: reports names without a group. Returns false after a sentence on standard error. */
bool transfer_groups_set(const Options *options, Outputs *outputs, bool reports);

#endif
