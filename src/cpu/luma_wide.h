/* SPDX-License-Identifier: MIT */
/* luma_wide.h: luma of floats, doubles and 32-bit integers, and colours brought to a new one, by
 * blocks of doubles: the bits of luma_value and luma_scale_value (luma.h). */
#ifndef IMGSTAT_CPU_LUMA_WIDE_H
#define IMGSTAT_CPU_LUMA_WIDE_H

#include "base/image.h"
#include "transfer/map.h"

/* Pixels of a block. */
enum { LUMA_BLOCK = 128 };

/* What blocks of an image have in common. */
typedef struct LumaWide {
    ImgstatSample sample;
    unsigned channels; /* at least 3 */
    double nodata;     /* NaN: none */
} LumaWide;

typedef struct LumaBlock {
    double colour[3][LUMA_BLOCK];
    unsigned char luma[LUMA_BLOCK * sizeof(double)]; /* samples; 0 where a pixel has none */
    uint8_t has[LUMA_BLOCK];                         /* whether it has one */
    bool all;                                        /* whether all have */
} LumaBlock;

/* Whether blocks hold samples of this type; of outputs, narrow integers, too. */
bool luma_wide_takes(ImgstatSample sample);
bool luma_wide_gives(ImgstatSample sample);
LumaWide luma_wide_of(const ImagePro *image);
/* n <= LUMA_BLOCK pixels; mask: of each, NULL: none. */
void luma_wide_take(const LumaWide *wide, const unsigned char *from, const uint8_t *mask, size_t n,
                    LumaBlock *block);
/* Their colours at n luma samples of the range's type: those of pixels without luma are any. */
void luma_wide_give(const LumaWide *wide, const LumaBlock *block, const unsigned char *luma,
                    size_t n, const MapRange *range, unsigned char *to);

#endif
