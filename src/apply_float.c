/* SPDX-License-Identifier: MIT */
/* apply_float.c: straight lines over 32-bit floats, in values where transfer_math.h works in order
 * keys: the same operations in the same order, without branches, so that compilers make vectors of
 * them. Keys order floats as their values do; only the two zeros share one, and it is +0 that a key
 * becomes. */
#include "apply.h"

/* A map, and what its keys are as values. */
typedef struct Line {
    double from, divisor;  /* the unit is (x - from) / divisor; */
    double factor, offset; /* the output unit * factor + offset, */
    double lo, hi;         /* which stays between these */
    float lo_value, hi_value;
    float black, white;     /* at and beyond which there is lo or hi; infinite: never */
    double least, most;     /* units likewise */
    float stays;            /* nodata of the input; NaN: none */
    float avoided, instead; /* nodata of the output, and what is written in its place; NaN: none */
} Line;

static float value_of(uint64_t key)
{
    const uint32_t raw = (uint32_t)sample_raw(IMGSTAT_F32, key);
    float value;
    memcpy(&value, &raw, sizeof value);
    return value;
}

/* False for maps that are no straight line. */
static bool line_of(const Map *map, Line *line)
{
    const MapRange *const to = &map->to;
    *line = (Line){.lo = to->lo,
                   .hi = to->hi,
                   .lo_value = value_of(to->lo_key),
                   .hi_value = value_of(to->hi_key),
                   .black = -INFINITY,
                   .white = INFINITY,
                   .least = -INFINITY,
                   .most = INFINITY,
                   .stays = map->has_nodata ? value_of(map->nodata_key) : NAN,
                   .avoided = NAN};
    if (map->from != IMGSTAT_F32 || to->sample != IMGSTAT_F32 || map->passthrough)
        return false;
    if (to->has_nodata) {
        line->avoided = value_of(to->nodata_key);
        line->instead = value_of(range_avoid(to, to->nodata_key));
    }
    if (map->kind == MAP_LINEAR && map->divisor > 0.0 && map->factor > 0.0) {
        line->from = map->center;
        line->divisor = map->divisor;
        line->factor = map->factor;
        line->offset = map->offset;
        return true;
    }
    if (map->kind != MAP_AFFINE || map->black >= map->white)
        return false;
    line->black = value_of(map->black);
    line->white = value_of(map->white);
    line->from = (double)line->black;
    line->divisor = map_sub((double)line->white, (double)line->black);
    line->factor = map_sub(to->hi, to->lo);
    line->offset = to->lo;
    line->least = 0.0;
    line->most = 1.0;
    return true;
}

/* `step` is a constant where this is inlined. */
static inline void map_line(const Line *line, const unsigned char *from, size_t step, size_t n,
                            unsigned char *to)
{
    const Line l = *line;
    for (size_t i = 0; i < n; i++) {
        uint32_t raw, made;
        float x;
        memcpy(&raw, from + i * step * sizeof raw, sizeof raw);
        memcpy(&x, &raw, sizeof x);
        const double unit = map_sub((double)x, l.from) / l.divisor;
        double y = map_add(map_mul(unit, l.factor), l.offset);
        y = y > l.lo ? y : l.lo;
        y = y < l.hi ? y : l.hi;
        y = unit > l.least ? y : l.lo;
        y = unit < l.most ? y : l.hi;
        y = x > l.black ? y : l.lo;
        y = x < l.white ? y : l.hi;
        float value = (float)y + 0.0f; /* never -0 */
        value = value == l.avoided ? l.instead : value;
        memcpy(&made, &value, sizeof made);
        const uint32_t magnitude = raw & 0x7FFFFFFFu; /* undefined from infinity on */
        made = magnitude >= 0x7F800000u || x == l.stays ? raw : made;
        memcpy(to + i * step * sizeof made, &made, sizeof made);
    }
}

bool apply_line(const Map *map, const unsigned char *from, size_t step, size_t n, unsigned char *to)
{
    Line line;
    if (!line_of(map, &line))
        return false;
    if (step == 1)
        map_line(&line, from, 1, n, to);
    else
        map_line(&line, from, step, n, to);
    return true;
}
