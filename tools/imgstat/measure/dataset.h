/* SPDX-License-Identifier: MIT */
/* dataset.h: stats and hist of data sets: of all inputs merged, or of saved records. */
#ifndef IMGSTAT_TOOLS_MEASURE_DATASET_H
#define IMGSTAT_TOOLS_MEASURE_DATASET_H

#include "inputs/inputs.h"
#include "measure/shard_text.h"
#include "print/report.h"

/* How a command prints a data set. */
typedef struct DatasetPrint {
    const ImgstatMeasure *how; /* what to compute */
    void *context;
    /* Prints one record. Returns false on failure, after a sentence on standard error. */
    bool (*print)(void *context, const Report *report);
} DatasetPrint;

/* Checks before all the work, as far as possible, that the files of --save-record and --plot may be
 * written. Returns false after a sentence. */
bool dataset_check_saving(const Options *options);

/* Saves a data set as --save-record says, if it is given. */
void dataset_save(const Options *options, ImgstatDataset *dataset);

/* Measures the inputs of a part, and prints and saves the merged records. */
void dataset_of_images(PartRun *run, InputList *window, const DatasetPrint *print);

/* Merges the records that the command line names, and prints or saves them. */
void dataset_of_records(const Options *options, const DatasetPrint *print);

/* Prints the records of a data set. */
void dataset_print(const Options *options, ImgstatDataset *dataset, const DatasetPrint *print);

#endif
