/* SPDX-License-Identifier: MIT */
/* dataset_wide.h: statistics of a data set that need the pixels again. */
#ifndef IMGSTAT_BATCH_DATASET_WIDE_H
#define IMGSTAT_BATCH_DATASET_WIDE_H

#include "batch/device_list.h"
#include "batch/measure_batch.h"

/* Computes the records of wide types; reads all files for them as often as needed.
 * *again, after a failure: whether a device failed, and what is opened then may do all of it again.
 */
ImgstatResult dataset_compute_wide(ImgstatDataset *dataset, const ImgstatMeasureBatch *batch,
                                   const ImgstatMeasure *how, const ImgstatJobStream *stream,
                                   DeviceList *devices, bool *again, ImgstatError *err);

#endif
