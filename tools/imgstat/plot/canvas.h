/* SPDX-License-Identifier: MIT */
/* canvas.h: what a plot is drawn on: SVG or pixels. */
#ifndef IMGSTAT_TOOLS_PLOT_CANVAS_H
#define IMGSTAT_TOOLS_PLOT_CANVAS_H

#include <stdbool.h>
#include <stddef.h>

/* A panel of a picture, in units of the canvas: pixels of SVG, half as many as those of a PNG. */
enum { PLOT_WIDTH = 860, PLOT_HEIGHT = 480 };

typedef enum PlotStyle {
    PLOT_GRID,
    PLOT_FRAME,
    PLOT_CURVE,
    PLOT_CDF, /* dashed and fainter than the curve */
    PLOT_KEY  /* a sample of a curve in the legend */
} PlotStyle;

typedef enum PlotAnchor { PLOT_START, PLOT_MIDDLE, PLOT_END } PlotAnchor;

typedef struct PlotPoint {
    double x, y; /* y grows downwards */
} PlotPoint;

/* Sizes of text. */
enum { PLOT_TEXT = 12, PLOT_TITLE = 15 };

/* First member of each implementation. */
typedef struct PlotCanvas {
    double down; /* what is added to y: where the panel begins that is drawn */
    /* colour: "#rrggbb", for the styles that are a channel's; the others have their own. */
    void (*path)(struct PlotCanvas *canvas, PlotStyle style, const char *colour,
                 const PlotPoint *points, size_t n);
    /* Valid UTF-8 without control characters; at the baseline. turned: reads upwards. */
    void (*text)(struct PlotCanvas *canvas, double x, double y, PlotAnchor anchor, int size,
                 bool turned, const char *text);
} PlotCanvas;

/* A picture: panels below each other. */
typedef struct Plot {
    size_t panels;
    void (*draw)(PlotCanvas *canvas, size_t panel, const void *context);
    const void *context;
} Plot;

#endif
