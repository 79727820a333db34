/* SPDX-License-Identifier: MIT */
/* draw.h: histogram and cumulative distribution of a page, on any canvas. */
#ifndef IMGSTAT_TOOLS_PLOT_DRAW_H
#define IMGSTAT_TOOLS_PLOT_DRAW_H

#include "plot/canvas.h"
#include "plot/curve.h"
#include "print/report.h"

/* Returns the plot of a report, which it refers to. */
Plot plot_of(const Report *report);

/* ---- For other plots ---- */

/* The axes of a panel. */
typedef struct PlotFrame {
    double lo, hi;     /* values at the left and right end */
    double peak;       /* at the top of the left axis; 0: it has no numbers */
    bool log, whole;   /* whole: the left axis has whole numbers */
    const char *label; /* of the left axis */
} PlotFrame;

/* Most points of a curve. */
enum { PLOT_POINTS = 512 };

void plot_axes(PlotCanvas *canvas, const PlotFrame *frame, const char *title);
/* Draws a curve, a step per point. scale: of a count, on the left axis. */
void plot_curve(PlotCanvas *canvas, const PlotFrame *frame, const Curve *curve, double scale,
                const char *colour);
/* Draws a distribution. points: values and the shares of samples up to them, from 0 to 1. */
void plot_distribution(PlotCanvas *canvas, const PlotFrame *frame, const PlotPoint *points,
                       size_t n, const char *colour);
/* Draws a line of the legend; x and y in units of the panel. */
void plot_key(PlotCanvas *canvas, double x, double y, const char *colour, const char *name);
/* Left end of the panel's curves. */
enum { PLOT_LEFT = 84 };

#endif
