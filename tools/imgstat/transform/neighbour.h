/* SPDX-License-Identifier: MIT */
/* neighbour.h: whether files of an earlier run have the transfer of this one. */
#ifndef IMGSTAT_TOOLS_TRANSFORM_NEIGHBOUR_H
#define IMGSTAT_TOOLS_TRANSFORM_NEIGHBOUR_H

#include "transform/outputs.h"

/* For --together --skip-existing: compares the transfer with the saved one, if there is one, and
 * transforms the first input whose output exists again, to compare the pixels. Returns false, after
 * a sentence on standard error, if they differ. Returns true if nothing is left to write, or there
 * is nothing to compare with. */
bool neighbour_agrees(const Options *options, const Outputs *outputs,
                      const ImgstatTransfer *transfer);

#endif
