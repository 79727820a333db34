/* SPDX-License-Identifier: MIT */
/* terminal.h: histograms drawn with characters. */
#ifndef IMGSTAT_TOOLS_PLOT_TERMINAL_H
#define IMGSTAT_TOOLS_PLOT_TERMINAL_H

#include "print/report.h"

#include <stdio.h>

/* Each channel of a page below the other. Options of 0 mean 80 characters and 8 lines. */
void plot_terminal(FILE *out, const Report *report);

#endif
