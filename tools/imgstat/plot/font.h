/* SPDX-License-Identifier: MIT */
/* font.h: letters as strokes, for a canvas of pixels. */
#ifndef IMGSTAT_TOOLS_PLOT_FONT_H
#define IMGSTAT_TOOLS_PLOT_FONT_H

#include <stddef.h>

/* Strokes of one character on a grid: capitals are 6 high, y grows downwards, the baseline is at 6.
 * Each pair of digits is a point x, y; a blank lifts the pen. */
const char *font_strokes(unsigned char ascii);
/* For everything that is not ASCII. */
extern const char *const font_unknown;
/* Grid units from the start of a character to that of the next. */
int font_advance(const char *strokes);

enum { FONT_CAPITAL = 6 };

#endif
