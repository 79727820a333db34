/* SPDX-License-Identifier: MIT */
/* luma/luma.cuh: the luma of a pixel, and a colour brought to a new one, as cpu/luma.c has them. */
#ifndef IMGSTAT_KERNELS_LUMA_LUMA_CUH
#define IMGSTAT_KERNELS_LUMA_LUMA_CUH

#include "maps/apply.cuh"
#include "transfer/luma.h"

/* As cpu/luma.c: integers where samples have at most 16 bits. */
DEVICE bool luma_is_integer(ImgstatSample sample)
{
    return sample_is_narrow(sample) && !sample_is_float(sample);
}

/* The key of a pixel's luma from those of its colours; false where it has none. */
DEVICE bool luma_of(ImgstatSample sample, const ApplyPixels &p, const uint64_t key[3],
                    uint64_t *luma)
{
    for (int c = 0; c < 3; c++)
        if (map_undefined(sample, key[c]) || (p.has_nodata && key[c] == p.nodata_key))
            return false;
    *luma = luma_is_integer(sample)
                ? luma_key((uint32_t)key[0], (uint32_t)key[1], (uint32_t)key[2])
                : map_key(sample, luma_value(map_value(sample, key[0]), map_value(sample, key[1]),
                                             map_value(sample, key[2])));
    return true;
}

/* Keys of a colour brought to the luma `to`, itself a key. */
DEVICE void rescale_luma(ImgstatSample in, ImgstatSample out, const MapRange &range, uint64_t to,
                         uint64_t key[3])
{
    if (luma_is_integer(in) && luma_is_integer(out)) {
        const uint32_t colour[3] = {(uint32_t)key[0], (uint32_t)key[1], (uint32_t)key[2]};
        uint32_t scaled[3];
        luma_scale(colour, (uint32_t)to, (uint32_t)range.hi_key, scaled);
        for (int c = 0; c < 3; c++) {
            const uint64_t k = scaled[c];
            key[c] = range_avoid(&range, k < range.lo_key   ? range.lo_key
                                         : k > range.hi_key ? range.hi_key
                                                            : k);
        }
        return;
    }
    const double colour[3] = {map_value(in, key[0]), map_value(in, key[1]), map_value(in, key[2])};
    double scaled[3];
    luma_scale_value(colour, luma_black(in), map_value(out, to), range.hi, luma_black(out), scaled);
    for (int c = 0; c < 3; c++)
        key[c] = range_avoid(&range, range_key(&range, scaled[c]));
}

#endif
