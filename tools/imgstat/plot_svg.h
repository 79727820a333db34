/* SPDX-License-Identifier: MIT */
/* plot_svg.h: histogram and cumulative distribution as a self-contained SVG. */
#ifndef IMGSTAT_TOOLS_PLOT_SVG_H
#define IMGSTAT_TOOLS_PLOT_SVG_H

#include "report.h"

#include <stdio.h>

void plot_svg(FILE *out, const Report *report);

#endif
