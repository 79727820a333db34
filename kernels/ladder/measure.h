/* SPDX-License-Identifier: MIT */
/* ladder/measure.h: a row of the program's table: times on a GPU, counts of what happened where
 * there is none. */
#ifndef IMGSTAT_LADDER_MEASURE_H
#define IMGSTAT_LADDER_MEASURE_H

#include "ladder/check.h"

enum { MEASURE_CELLS = 6, MEASURE_CELL = 24 };

typedef char MeasureCells[MEASURE_CELLS][MEASURE_CELL];

/* The device: NULL if there is one, else why not. */
const char *measure_open(void);
/* A sentence about it, with its ceilings, which this measures. */
cudaError_t measure_machine(char *text, size_t size);
/* The heads of the cells. */
void measure_heads(MeasureCells heads);
/* The cells of a trial that ran before and was right. */
cudaError_t measure_trial(const LadderCase *c, const LadderTrial *trial, MeasureCells cells);
size_t measure_samples(LadderKind kind); /* of an input, unless the user says how many */

#endif
