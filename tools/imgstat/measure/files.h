/* SPDX-License-Identifier: MIT */
/* files.h: measures all inputs, and prints the results in their order. */
#ifndef IMGSTAT_TOOLS_MEASURE_FILES_H
#define IMGSTAT_TOOLS_MEASURE_FILES_H

#include "inputs/inputs.h"
#include "measure/shard_text.h"
#include "print/report.h"

#include <stdio.h>

typedef struct MeasureFiles {
    PartRun *part;     /* part whose inputs are measured */
    InputList *window; /* its first inputs, which are taken out of it */
    const ImgstatMeasure *how;
    void *context;
    /* Prints a page, on any thread: results to out, sentences to err. Returns false on failure. */
    bool (*print)(void *context, const Report *report, FILE *out, FILE *err);
    /* Receives the results of one input, on the calling thread. NULL: they go to standard output
     * unchanged. */
    void (*emit)(void *context, const char *text, size_t bytes);
} MeasureFiles;

/* Measures the images of every input. A failure is one sentence on standard error and, with --json,
 * one object; it raises the exit status and stops nothing else. Several inputs with failures end
 * with a line such as "118 measured, 2 failed". */
void measure_files(const MeasureFiles *what);

#endif
