/* SPDX-License-Identifier: MIT */
/* dataset_rounds.h: statistics of a data set that need the pixels again. */
#ifndef IMGSTAT_BATCH_DATASET_ROUNDS_H
#define IMGSTAT_BATCH_DATASET_ROUNDS_H

#include "batch/device_list.h"
#include "batch/measure_batch.h"

/* Computes the records of wider types than 16 bits; reads all files for them as often as needed.
 * *again, after a failure: whether a device failed, and what is opened then may do all of it again.
 */
ImgstatResult dataset_read_again(ImgstatDataset *dataset, const ImgstatMeasureBatch *batch,
                                 const ImgstatMeasure *how, const ImgstatJobStream *stream,
                                 DeviceList *devices, bool *again, ImgstatError *err);

#endif
