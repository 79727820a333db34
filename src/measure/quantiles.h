/* SPDX-License-Identifier: MIT */
/* quantiles.h: the quantile table of a channel of a wide type, in bounded memory. */
#ifndef IMGSTAT_MEASURE_QUANTILES_H
#define IMGSTAT_MEASURE_QUANTILES_H

#include "device/read_request.h"
#include "record/quantile_table.h"

/* Feeds the builder with every valid key of `channel`, or with those that hold a step's rank. bins:
 * their counts by leading 16 bits. room: how many keys are gathered and sorted at once; each takes
 * 16 bytes. */
ImgstatResult quantiles_build(ImgstatSample sample, uint16_t channel, const uint64_t *bins,
                              size_t room, FurtherReads reads, RankBuilder *builder,
                              ImgstatError *err);

#endif
