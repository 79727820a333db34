/* SPDX-License-Identifier: MIT */
/* plot_draw.h: histogram and cumulative distribution of a page, on any canvas. */
#ifndef IMGSTAT_TOOLS_PLOT_DRAW_H
#define IMGSTAT_TOOLS_PLOT_DRAW_H

#include "plot_canvas.h"
#include "report.h"

void plot_draw(PlotCanvas *canvas, const Report *report);

#endif
