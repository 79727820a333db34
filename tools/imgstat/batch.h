/* SPDX-License-Identifier: MIT */
/* batch.h: many inputs over several threads, results in the order of the inputs. */
#ifndef IMGSTAT_TOOLS_BATCH_H
#define IMGSTAT_TOOLS_BATCH_H

#include "inputs.h"

#include <stdio.h>

typedef struct Batch {
    const Options *options;
    const InputList *inputs;
    const ImgstatMeasure *how; /* what pages are measured for: a device is chosen by it */
    void *context;
    /* Handles one input, on any thread: results to out, sentences to err. False: it failed. */
    bool (*work)(void *context, ImgstatDevice *device, const Input *input, FILE *out, FILE *err);
    /* Takes the results of one input, on the calling thread. NULL: they are written to standard
     * output as they are. */
    void (*emit)(void *context, const char *text, size_t bytes);
} Batch;

/* Runs all of them, raises the exit status, and ends with a line on standard error where one of
 * several inputs failed: "118 measured, 2 failed". */
void batch_run(const Batch *batch);

#endif
