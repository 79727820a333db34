/* SPDX-License-Identifier: MIT */
/* plot_svg.h: a plot as a self-contained SVG. */
#ifndef IMGSTAT_TOOLS_PLOT_SVG_H
#define IMGSTAT_TOOLS_PLOT_SVG_H

#include "plot_canvas.h"

#include <stdio.h>

void plot_svg(FILE *out, const Plot *plot);

#endif
