/* SPDX-License-Identifier: MIT */
/* transfer_groups.h: which outputs have one transfer, and which inputs it is made from. */
#ifndef IMGSTAT_TOOLS_TRANSFER_GROUPS_H
#define IMGSTAT_TOOLS_TRANSFER_GROUPS_H

#include "outputs.h"

/* Gives the jobs their groups, by --together group, and marks those that are only mapped, by
 * --only. reports: names that are of no group are reported. False after a sentence on standard
 * error. */
bool transfer_groups_set(const Options *options, Outputs *outputs, bool reports);

#endif
