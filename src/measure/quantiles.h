/* SPDX-License-Identifier: MIT */
/* quantiles.h: all samples of a wide type in ascending order, in bounded memory. */
#ifndef IMGSTAT_MEASURE_QUANTILES_H
#define IMGSTAT_MEASURE_QUANTILES_H

#include "device/read_request.h"
#include "transfer/transfer.h"

/* Feeds the builder with every valid key of `channel`, or with those that hold a step's rank. bins:
 * their counts by leading 16 bits. keys: how many are gathered and sorted at once; 16 bytes each.
 */
ImgstatResult order_stream(ImgstatSample sample, uint16_t channel, const uint64_t *bins,
                           size_t keys, PixelSource reader, RankBuilder *builder,
                           ImgstatError *err);

#endif
