/* SPDX-License-Identifier: MIT */
/* svg.h: a plot as a self-contained SVG. */
#ifndef IMGSTAT_TOOLS_PLOT_SVG_H
#define IMGSTAT_TOOLS_PLOT_SVG_H

#include "plot/canvas.h"

#include <stdio.h>

void plot_svg(FILE *out, const Plot *plot);

#endif
