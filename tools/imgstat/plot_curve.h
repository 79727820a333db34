/* SPDX-License-Identifier: MIT */
/* plot_curve.h: a channel's histogram, cut to what there is and grouped to what can be drawn. */
#ifndef IMGSTAT_TOOLS_PLOT_CURVE_H
#define IMGSTAT_TOOLS_PLOT_CURVE_H

#include "report.h"

typedef struct Curve {
    const char *name; /* the channel's; belongs to the file */
    double lo, hi;    /* values where the first point begins and the last one ends */
    double last;      /* the largest value drawn: hi, or one below it where a bin is one value */
    uint32_t n;       /* points, of equal width */
    uint64_t *counts; /* n of them; owned */
    uint64_t peak, total;
} Curve;

/* One curve for each channel, of at most max_points points; returns how many. The caller releases
 * them. Curves of the page share their limits where a bin is one value. */
size_t curves_create(const Report *report, uint32_t max_points, Curve **out);
void curves_release(Curve *curves, size_t n);

/* 0 for no count, 1 for the peak; log: of count + 1. */
double curve_height(uint64_t count, uint64_t peak, bool log);

#endif
