/* SPDX-License-Identifier: MIT */
/* map_values.h: maps in values where map.h works in order keys: the same operations in the same
 * order, without branches. Keys order floats as their values do, but both zeros have one key, which
 * becomes +0. Compiled by C and by CUDA C. */
#ifndef IMGSTAT_TRANSFER_MAP_VALUES_H
#define IMGSTAT_TRANSFER_MAP_VALUES_H

#include "transfer/map.h"

/* The 32-bit float with the bits `raw`. */
IMGSTAT_INLINE float value_of_raw(uint32_t raw)
{
    float value;
    memcpy(&value, &raw, sizeof value);
    return value;
}

/* The 32-bit float with that key. */
IMGSTAT_INLINE float value_of(uint64_t key)
{
    return value_of_raw((uint32_t)sample_raw(IMGSTAT_F32, key));
}

/* Clamps an output to a range; NaN becomes its low end. */
IMGSTAT_INLINE double clamp_value(double y, double lo, double hi)
{
    y = y > lo ? y : lo;
    return y < hi ? y : hi;
}

/* The output type, and the bits that are never written; `instead` takes their place, and equals
 * them where nothing is avoided. */
typedef struct OutputType {
    ImgstatSample sample;
    uint64_t avoided, instead;
    double lo; /* of the range: what NaN becomes among integers */
} OutputType;

IMGSTAT_INLINE OutputType output_type_of(const MapRange *to)
{
    OutputType output;
    output.sample = to->sample;
    output.avoided = output.instead = 0;
    output.lo = to->lo;
    if (to->has_nodata) {
        output.avoided = sample_raw(to->sample, to->nodata_key);
        output.instead = sample_raw(to->sample, range_avoid(to, to->nodata_key));
    }
    return output;
}

/* Nodata of the input as a value; NaN if there is none. */
IMGSTAT_INLINE double nodata_of(const Map *map)
{
    return map->has_nodata ? map_value(map->from, map->nodata_key) : NAN;
}

/* Whether a sample passes: it is undefined, or nodata. */
IMGSTAT_INLINE bool value_is_passthrough(double x, double nodata)
{
    return (int)!(fabs(x) < INFINITY) | (int)(x == nodata); /* without a branch */
}

/* A straight line, in doubles, which hold every value of its types. */
typedef struct Line {
    double scale;          /* 1, or of 64-bit floats 1/2, where differences may be infinite */
    double from, divisor;  /* the unit is (x * scale - from) / divisor; */
    double inverse;        /* 1 / divisor where products find that quotient, else 0 */
    double factor, offset; /* the output unit * factor + offset */
    double black, white;   /* at and beyond these samples the output is lo or hi */
    double least, most;    /* at and beyond these units the output is lo or hi */
    double passthrough;    /* nodata of the input; NaN: none */
    double lo, hi;         /* of the output range */
} Line;

/* a / by, rounded, from inverse = 1 / by, rounded. a is the difference of a 32-bit float and a
 * `from` for which line_has_inverse holds. The first two steps find one of the two doubles next to
 * the quotient; the last one, whose remainder is exact, takes the nearer of them (P. Markstein, IBM
 * J. Res. Dev. 34, 1990). */
IMGSTAT_INLINE double line_quotient(double a, double by, double inverse)
{
    const double rough = map_mul(a, inverse);
    const double near = fma(fma(-by, rough, a), inverse, rough);
    return fma(fma(-by, near, a), inverse, near);
}

/* Whether line_quotient is exact: no remainder is subnormal and no quotient infinite. */
IMGSTAT_INLINE bool line_has_inverse(ImgstatSample sample, double from, double by)
{
    const double least = 0x1p-200, most = 0x1p+200;
    return sample != IMGSTAT_F64 && by >= least && by <= most &&
           (from == 0.0 || (fabs(from) >= least && fabs(from) <= most));
}

/* Derives the line of a map. False: the map is no straight line in doubles. Integers that become
 * integers are not: they go by exact ratios. */
IMGSTAT_INLINE bool line_of(const Map *map, Line *line)
{
    const MapRange *const to = &map->to;
    if (sample_is_narrow(map->from) || sample_exceeds_double(map->from) ||
        to->sample == IMGSTAT_F16 || sample_exceeds_double(to->sample) || map_is_identity(map))
        return false;
    line->scale = 1.0;
    line->black = line->least = -INFINITY;
    line->white = line->most = INFINITY;
    line->passthrough = nodata_of(map);
    line->lo = to->lo;
    line->hi = to->hi;
    if (map->kind == MAP_LINEAR && map->divisor > 0.0 && map->factor > 0.0) {
        line->from = map->center;
        line->divisor = map->divisor;
        line->factor = map->factor;
        line->offset = map->offset;
    } else if (map->kind == MAP_AFFINE && map->black < map->white &&
               (sample_is_float(map->from) || sample_is_float(to->sample))) {
        line->scale = map->from == IMGSTAT_F64 ? 0.5 : 1.0;
        line->black = map_value(map->from, map->black);
        line->white = map_value(map->from, map->white);
        line->from = line->black * line->scale;
        line->divisor = map_sub(line->white * line->scale, line->from);
        line->factor = map_sub(to->hi, to->lo);
        line->offset = to->lo;
        line->least = 0.0;
        line->most = 1.0;
    } else {
        return false;
    }
    line->inverse =
        line_has_inverse(map->from, line->from, line->divisor) ? 1.0 / line->divisor : 0;
    return true;
}

/* The output of the sample x. by_products: line->inverse is not 0. */
IMGSTAT_INLINE double line_value(const Line *line, ImgstatSample sample, bool by_products, double x)
{
    const double scaled = sample == IMGSTAT_F64 ? map_mul(x, line->scale) : x;
    const double way = map_sub(scaled, line->from);
    const double unit =
        by_products ? line_quotient(way, line->divisor, line->inverse) : way / line->divisor;
    double y = clamp_value(map_add(map_mul(unit, line->factor), line->offset), line->lo, line->hi);
    y = unit < line->most ? y : line->hi;
    y = unit > line->least ? y : line->lo; /* or NaN: halves of subnormals may be equal */
    y = x > line->black ? y : line->lo;
    return x < line->white ? y : line->hi;
}

/* The exact map of integers to integers: lo + (x - black) / divisor of the range. */
typedef struct Ratio {
    double black, divisor, range, share; /* range / divisor */
    double lo;
    double passthrough; /* nodata of the input; NaN: none */
} Ratio;

/* Derives the ratio of a map. False: the map is none of 32-bit integers to integers. */
IMGSTAT_INLINE bool ratio_of(const Map *map, Ratio *ratio)
{
    const MapRange *const to = &map->to;
    if (map->kind != MAP_AFFINE || (map->from != IMGSTAT_U32 && map->from != IMGSTAT_I32) ||
        map->black >= map->white || sample_is_float(to->sample) ||
        sample_exceeds_double(to->sample) || map_is_identity(map))
        return false;
    ratio->black = map_value(map->from, map->black);
    ratio->divisor = (double)(map->white - map->black);
    ratio->range = (double)(to->hi_key - to->lo_key);
    ratio->lo = to->lo;
    ratio->passthrough = nodata_of(map);
    ratio->share = ratio->range / ratio->divisor;
    return true;
}

/* The output of the sample x. The product of two whole numbers below 2^32 is `high` + `low`, and
 * its remainder a whole number below 2^33: both are exact. The quotient is off by less than 0.6
 * before it is rounded, so the remainder selects it or a neighbour. */
IMGSTAT_INLINE double ratio_value(const Ratio *r, double x)
{
    double a = map_sub(x, r->black);
    a = a > 0.0 ? a : 0.0;
    a = a < r->divisor ? a : r->divisor;
    const double quotient = rint(map_mul(a, r->share)), half = quotient * 0.5;
    const double high = map_mul(a, r->range), low = fma(a, r->range, -high);
    const double twice = 2.0 * (fma(-quotient, r->divisor, high) + low);
    const double odd = half != rint(half) ? 1.0 : 0.0;
    const double up = twice > r->divisor - odd ? 1.0 : 0.0;
    const double down = twice < odd - r->divisor ? 1.0 : 0.0;
    return r->lo + (quotient + up - down);
}

#endif
