/* SPDX-License-Identifier: MIT */
/* neighbour.h: whether files of an earlier run have the transfer of this one. */
#ifndef IMGSTAT_TOOLS_NEIGHBOUR_H
#define IMGSTAT_TOOLS_NEIGHBOUR_H

#include "outputs.h"

/* For --together --skip-existing. Compares the transfer with the one that was saved, if there is
 * one, and transforms the first input whose output exists again, to compare the pixels. False: they
 * differ, and a sentence on standard error says so. True as well if nothing is left to be written,
 * or there is nothing to compare with. */
bool neighbour_agrees(const Options *options, const Outputs *outputs,
                      const ImgstatTransfer *transfer);

#endif
