/* SPDX-License-Identifier: MIT */
/* png.h: a plot as a PNG. */
#ifndef IMGSTAT_TOOLS_PLOT_PNG_H
#define IMGSTAT_TOOLS_PLOT_PNG_H

#include "plot/canvas.h"

#include <stdio.h>

/* Errors of `out` stay in its error indicator. */
void plot_png(FILE *out, const Plot *plot);

#endif
