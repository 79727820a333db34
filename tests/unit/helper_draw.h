/* SPDX-License-Identifier: MIT */
/* helper_draw.h: keys, and ranges of outputs, at random. */
#ifndef IMGSTAT_HELPER_DRAW_H
#define IMGSTAT_HELPER_DRAW_H

#include "support.h"
#include "transfer/map.h"

static uint64_t draw_state = 88172645463325252u;

static inline uint64_t draw(void)
{
    return splitmix64(&draw_state);
}

static inline uint64_t all_bits(ImgstatSample s)
{
    return sample_bits(s) == 64 ? UINT64_MAX : ((uint64_t)1 << sample_bits(s)) - 1;
}

/* Any, or small, or of a value that images have; defined. */
static inline uint64_t draw_key(ImgstatSample s)
{
    const uint64_t zero = map_key(s, 0.0);
    uint64_t key;
    switch (draw() % 4) {
    case 0:
        key = draw() >> 8 & all_bits(s);
        break;
    case 1:
        key = map_key(s, (double)(draw() % 1000) / (sample_is_float(s) ? 999.0 : 1.0));
        break;
    case 2:
        key = (zero + draw() % 300) & all_bits(s);
        break;
    default:
        key = map_key(s, ((double)(draw() % 20001) - 10000.0) / 7.0);
    }
    return map_undefined(s, key) || (sample_is_float(s) && key == zero - 1) ? zero : key;
}

static inline void order(uint64_t *low, uint64_t *high)
{
    if (*low > *high) {
        const uint64_t swap = *low;
        *low = *high;
        *high = swap;
    }
}

static inline MapRange draw_range(ImgstatSample sample)
{
    MapRange to = {.sample = sample, .has_nodata = draw() % 2};
    to.lo_key = draw_key(sample);
    to.hi_key = draw_key(sample);
    while (to.hi_key == to.lo_key)
        to.hi_key = draw_key(sample);
    order(&to.lo_key, &to.hi_key);
    to.lo = map_value(sample, to.lo_key);
    to.hi = map_value(sample, to.hi_key);
    to.nodata_key = draw() % 2 ? draw_key(sample) : draw() % 2 ? to.lo_key : to.hi_key;
    return to;
}

#endif
