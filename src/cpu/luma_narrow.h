/* SPDX-License-Identifier: MIT */
/* luma_narrow.h: luma of colours, and colours brought to a new one, many pixels at a time: the bits
 * of luma_key and luma_scale (luma.h). */
#ifndef IMGSTAT_CPU_LUMA_NARROW_H
#define IMGSTAT_CPU_LUMA_NARROW_H

#include "base/cpu_features.h"
#include "transfer/map.h"

/* from: n pixels of `channels` >= 3 samples of `bytes` (1: u8, 2: u16), at any alignment. */
typedef struct Recolours {
    /* Luma, of the same type. */
    void (*luma)(const void *from, unsigned bytes, unsigned channels, size_t n, void *luma);
    /* The colours at this luma, which has the samples' type too, within the range, whose sample it
     * is as well; further samples as they are. `to` may be `from`. */
    void (*scale)(const void *from, unsigned bytes, unsigned channels, size_t n, const void *luma,
                  const MapRange *range, void *to);
} Recolours;

const Recolours *recolours_of(CpuLevel level);
/* Those for cpu_features_level(). */
const Recolours *recolours(void);

#endif
