/* SPDX-License-Identifier: MIT */
/* file.h: a file that is complete or absent. */
#ifndef IMGSTAT_TOOLS_PLOT_FILE_H
#define IMGSTAT_TOOLS_PLOT_FILE_H

#include "plot/canvas.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct PlotFile {
    FILE *stream;
    char *path, *temporary; /* owned; links are followed */
    bool special;           /* a device or a pipe, which is written itself */
} PlotFile;

/* Checks before the work that a file can be written at path, "-" included. Returns false after a
 * sentence and a raised status. */
bool plot_file_check(const char *path, bool force);
/* Opens a temporary file beside path, or the device or pipe at path. Returns false after a reason
 * on err. */
bool plot_file_open(const char *path, bool force, PlotFile *out, FILE *err);
/* Closes the file and gives it its name. On failure nothing remains, and the reason is on err. */
bool plot_file_commit(PlotFile *file, bool force, FILE *err);
/* Writes a plot to FILE.svg, FILE.png, or as SVG to standard output for "-", which is out. */
bool plot_file_write(const char *path, bool force, const Plot *plot, FILE *out, FILE *err);

#endif
