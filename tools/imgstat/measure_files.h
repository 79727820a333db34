/* SPDX-License-Identifier: MIT */
/* measure_files.h: measures all inputs, and prints what was found in their order. */
#ifndef IMGSTAT_TOOLS_MEASURE_FILES_H
#define IMGSTAT_TOOLS_MEASURE_FILES_H

#include "inputs.h"
#include "report.h"
#include "shard_text.h"

#include <stdio.h>

typedef struct MeasureFiles {
    PartRun *part;     /* whose inputs are measured */
    InputList *window; /* the first of them; the next ones follow in its place */
    const ImgstatMeasure *how;
    void *context;
    /* Prints a page, on any thread: results to out, sentences to err. False: it failed. */
    bool (*print)(void *context, const Report *report, FILE *out, FILE *err);
    /* Takes the results of one input, on the calling thread. NULL: they are written to standard
     * output as they are. */
    void (*emit)(void *context, const char *text, size_t bytes);
} MeasureFiles;

/* Measures every page of every input, or the one asked for, a window of inputs after another. A
 * failure is one sentence on standard error and, with --json, one object; it raises the exit status
 * and stops nothing else. Several inputs with failures end with a line such as "118 measured, 2
 * failed". */
void measure_files(const MeasureFiles *what);

#endif
