/* SPDX-License-Identifier: MIT */
/* measure_dataset.h: measures all inputs into one data set. */
#ifndef IMGSTAT_TOOLS_MEASURE_MEASURE_DATASET_H
#define IMGSTAT_TOOLS_MEASURE_MEASURE_DATASET_H

#include "inputs/inputs.h"
#include "measure/shard_text.h"

/* Measures the inputs of a part into a data set, and computes its statistics unless `how` is
 * NULL. Failures are reported in the order of the inputs, as measure_files does. Sets the counts
 * of inputs in `run`. Returns false, after a sentence on standard error, if nothing can be
 * measured. */
bool measure_dataset(PartRun *run, InputList *window, const ImgstatMeasure *how,
                     ImgstatDataset *into);

/* Names the first input of a part that is in no group of --by group. Reads the names again. */
void measure_report_unmatched(const Options *options, InputPart part);

#endif
