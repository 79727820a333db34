/* SPDX-License-Identifier: MIT */
/* luma_wide.h: luma of floats, doubles and 32-bit integers, and colours scaled to a new luma, by
 * blocks of doubles, with the bits of luma_value and luma_scale_value (luma.h). */
#ifndef IMGSTAT_CPU_LUMA_WIDE_H
#define IMGSTAT_CPU_LUMA_WIDE_H

#include "base/image.h"
#include "transfer/map.h"

/* Pixels of a block. */
enum { LUMA_BLOCK = 128 };

/* What all blocks of an image have in common. */
typedef struct LumaWide {
    ImgstatSample sample;
    unsigned channels; /* at least 3 */
    double nodata;     /* NaN: none */
} LumaWide;

typedef struct LumaBlock {
    double colour[3][LUMA_BLOCK];
    unsigned char luma[LUMA_BLOCK * sizeof(double)]; /* luma samples; 0 for pixels without luma */
    uint8_t has[LUMA_BLOCK];                         /* whether the pixel has a luma */
    bool all;                                        /* whether all pixels have a luma */
} LumaBlock;

/* Returns whether blocks can be loaded from samples of this type. */
static inline bool luma_wide_loads(ImgstatSample sample)
{
    return !sample_is_narrow(sample) && !sample_exceeds_double(sample);
}

/* Returns whether blocks can be stored as samples of this type. */
static inline bool luma_wide_stores(ImgstatSample sample)
{
    return sample != IMGSTAT_F16 && !sample_exceeds_double(sample);
}

static inline LumaWide luma_wide_of(const ImagePro *image)
{
    return (LumaWide){.sample = image->sample,
                      .channels = image->channels,
                      .nodata =
                          image->has_nodata ? map_value(image->sample, image->nodata_key) : NAN};
}

#endif
