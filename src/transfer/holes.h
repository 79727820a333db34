/* SPDX-License-Identifier: MIT */
/* holes.h: what samples that a map does not define become: nodata that the output cannot hold, NaN,
 * masked samples. Compiled by C and by CUDA C. */
#ifndef IMGSTAT_TRANSFER_HOLES_H
#define IMGSTAT_TRANSFER_HOLES_H

#include "base/image.h"
#include "transfer/map.h"

/* What luma is made of: the first channels of an image. */
enum { HOLES_COLOURS = 3 };

/* All zero: every sample stays as the map leaves it. */
typedef struct Holes {
    uint32_t fills;           /* nodata, and NaN that the output cannot hold, become `hole` */
    uint32_t masked;          /* masked samples become `mask_hole` */
    uint32_t nan;             /* with `fills`: NaN becomes `hole` in floats as well */
    uint32_t whole;           /* a pixel with one such colour is filled in all HOLES_COLOURS */
    uint64_t hole, mask_hole; /* keys of the output */
    MapRange range;           /* with `fills`: keeps other samples off the hole */
} Holes;

/* Whether a sample of type `in` with this key becomes a hole where `fills` is set. */
IMGSTAT_INLINE bool holes_take(const Holes *holes, ImgstatSample in, ImgstatSample out,
                               bool has_nodata, uint64_t nodata_key, uint64_t key)
{
    if (has_nodata && key == nodata_key)
        return true;
    return sample_is_float(in) && (holes->nan || !sample_is_float(out)) &&
           (key < sample_key_infinity(in, true) || key > sample_key_infinity(in, false));
}

/* Fills the holes of a mapped host image. alpha: the channel that stays, or -1. With `fills`, `to`
 * is not `from`. */
void holes_fill(const Holes *holes, const ImagePro *from, int16_t alpha, ImagePro *to);

#endif
