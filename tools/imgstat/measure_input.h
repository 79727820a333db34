/* SPDX-License-Identifier: MIT */
/* measure_input.h: opens one input, measures its pages, hands each to a printer. */
#ifndef IMGSTAT_TOOLS_MEASURE_INPUT_H
#define IMGSTAT_TOOLS_MEASURE_INPUT_H

#include "inputs.h"
#include "report.h"

#include <stdio.h>

/* Prints one page; false: it failed, and said so on err. */
typedef bool (*PagePrinter)(void *context, const Report *report, FILE *out, FILE *err);

/* Every page, or the one asked for. Each page that fails gives one sentence on err and, with
 * --json, one error object on out; those after it are measured all the same. Where
 * none can be read, only the first is named. */
bool measure_input(const Options *options, const ImgstatMeasure *how, ImgstatDevice *device,
                   const Input *input, PagePrinter print, void *context, FILE *out, FILE *err);

#endif
