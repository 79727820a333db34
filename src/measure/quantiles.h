/* SPDX-License-Identifier: MIT */
/* quantiles.h: the quantile table of a channel of a wide type, in bounded memory. */
#ifndef IMGSTAT_MEASURE_QUANTILES_H
#define IMGSTAT_MEASURE_QUANTILES_H

#include "device/read_request.h"
#include "record/quantile_table.h"

/* Adds every valid key of `channel` to the builder, or those that hold a step's rank. bins: counts
 * of the keys by their leading 16 bits. room: keys that are gathered and sorted at once; each takes
 * 16 bytes. */
ImgstatResult quantiles_build(ImgstatSample sample, uint16_t channel, const uint64_t *bins,
                              size_t room, FurtherReads reads, RankBuilder *builder,
                              ImgstatError *err);

#endif
