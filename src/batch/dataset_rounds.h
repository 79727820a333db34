/* SPDX-License-Identifier: MIT */
/* dataset_rounds.h: statistics of a data set that need the pixels again. */
#ifndef IMGSTAT_BATCH_DATASET_ROUNDS_H
#define IMGSTAT_BATCH_DATASET_ROUNDS_H

#include "batch/measure_batch.h"

/* Computes the records of wider types than 16 bits; reads all files for them as often as needed. */
ImgstatResult dataset_read_again(ImgstatDataset *dataset, const ImgstatMeasureBatch *batch,
                                 const ImgstatMeasure *how, const ImgstatJobStream *stream,
                                 ImgstatError *err);

#endif
