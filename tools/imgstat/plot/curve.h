/* SPDX-License-Identifier: MIT */
/* curve.h: a channel's histogram, cut to its values and grouped into points. */
#ifndef IMGSTAT_TOOLS_PLOT_CURVE_H
#define IMGSTAT_TOOLS_PLOT_CURVE_H

#include "plot/canvas.h"
#include "print/report.h"

typedef struct Curve {
    char *name;       /* of the channel, as text_display gives it; owned */
    double lo, hi;    /* values where the first point begins and the last one ends */
    double last;      /* the largest value drawn: hi, or one below it where a bin is one value */
    uint32_t n;       /* points, of equal width */
    uint64_t *counts; /* n of them; owned */
    uint64_t peak, total;
} Curve;

/* Creates a curve of at most max_points points for each channel; returns their number. The caller
 * releases them. Curves of the page share their limits if a bin is one value. */
size_t curves_create(const Report *report, uint32_t max_points, Curve **out);
/* Returns bins [first, first + n) of a channel's histogram as a curve. The caller frees its
 * counts. */
Curve curve_of_bins(const ImgstatHistogram *h, uint32_t first, uint32_t n, uint32_t max_points);
/* Writes values and the shares of samples up to them, n + 1 points; returns that number. */
size_t curve_distribution(const Curve *curve, PlotPoint *points);
void curves_release(Curve *curves, size_t n);

/* Returns 0 for no count, 1 for the peak; log: of count + 1. */
double curve_height(double count, double peak, bool log);

#endif
