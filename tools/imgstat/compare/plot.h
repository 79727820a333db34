/* SPDX-License-Identifier: MIT */
/* plot.h: the distributions of two images or records in one plot. */
#ifndef IMGSTAT_TOOLS_COMPARE_PLOT_H
#define IMGSTAT_TOOLS_COMPARE_PLOT_H

#include "compare/compare.h"
#include "plot/canvas.h"

/* Two images or records of one sample type. */
typedef struct ComparePlot {
    const Compared *a, *b;
} ComparePlot;

/* Returns a plot with a panel for each channel that both have. It refers to `both`. */
Plot compare_plot_of(const ComparePlot *both);

#endif
