/* SPDX-License-Identifier: MIT */
/* deviation.h: deviations that doubles hold while the variances overflow or underflow. */
#ifndef IMGSTAT_MEASURE_DEVIATION_H
#define IMGSTAT_MEASURE_DEVIATION_H

#include "device/read_request.h"
#include "record/record.h"

/* Returns whether a channel lacks squares (statistics.h): deviation_find needs a record with bins.
 */
bool deviation_needs_bins(const Record *record);

/* Replaces *stddev if the channel lacks squares and the record has bins. Reads the pixels again for
 * that. */
ImgstatResult deviation_find(const Record *record, uint16_t channel, unsigned ddof,
                             FurtherReads reads, double *stddev, ImgstatError *err);

#endif
