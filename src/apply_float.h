/* SPDX-License-Identifier: MIT */
/* apply_float.h: what maps from 32-bit floats to such share: what becomes of any output. */
#ifndef IMGSTAT_APPLY_FLOAT_H
#define IMGSTAT_APPLY_FLOAT_H

#include "apply.h"

/* The limits of outputs and what avoids nodata, as values. */
typedef struct Finish {
    double lo, hi;
    float stays;            /* nodata of the input; NaN: none */
    float avoided, instead; /* nodata of the output, and what is written in its place; NaN: none */
} Finish;

static inline float value_of_raw(uint32_t raw)
{
    float value;
    memcpy(&value, &raw, sizeof value);
    return value;
}

static inline float value_of(uint64_t key)
{
    return value_of_raw((uint32_t)sample_raw(IMGSTAT_F32, key));
}

static inline Finish finish_of(const Map *map)
{
    const MapRange *const to = &map->to;
    Finish finish = {.lo = to->lo,
                     .hi = to->hi,
                     .stays = map->has_nodata ? value_of(map->nodata_key) : NAN,
                     .avoided = NAN};
    if (to->has_nodata) {
        finish.avoided = value_of(to->nodata_key);
        finish.instead = value_of(range_avoid(to, to->nodata_key));
    }
    return finish;
}

static inline double limited(const Finish *f, double y)
{
    y = y > f->lo ? y : f->lo;
    return y < f->hi ? y : f->hi;
}

/* The output of the sample x with the bits `raw` that a map sends to y, within the limits. */
static inline uint32_t finished(const Finish *f, uint32_t raw, float x, double y)
{
    uint32_t made;
    float value = (float)y + 0.0f; /* never -0 */
    value = value == f->avoided ? f->instead : value;
    memcpy(&made, &value, sizeof made);
    const uint32_t magnitude = raw & 0x7FFFFFFFu; /* undefined from infinity on */
    return magnitude >= 0x7F800000u || x == f->stays ? raw : made;
}

static inline bool is_float_map(const Map *map)
{
    return map->from == IMGSTAT_F32 && map->to.sample == IMGSTAT_F32 && !map->passthrough;
}

#endif
