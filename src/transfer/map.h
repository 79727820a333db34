/* SPDX-License-Identifier: MIT */
/* map.h: the map of one sample to another; compiled by C and by CUDA C, so that both give the same
 * bits. docs/transforms.md has the formulas. */
#ifndef IMGSTAT_TRANSFER_MAP_H
#define IMGSTAT_TRANSFER_MAP_H

#include "base/half.h"
#include "transfer/power.h"
#include "transfer/ratio.h"
#include "transfer/unfused.h"

/* ---- Values and keys ----------------------------------------------------------------------- */

/* The value of a key, as the nearest double. */
IMGSTAT_INLINE double map_value(ImgstatSample s, uint64_t key)
{
    const uint64_t raw = sample_raw(s, key);
    if (s == IMGSTAT_F64) {
        double value;
        memcpy(&value, &raw, sizeof value);
        return value;
    }
    if (s == IMGSTAT_F32) {
        const uint32_t low = (uint32_t)raw;
        float value;
        memcpy(&value, &low, sizeof value);
        return (double)value;
    }
    if (s == IMGSTAT_F16)
        return half_value((uint32_t)raw);
    if (!sample_is_signed(s))
        return (double)raw;
    const uint64_t zero = (uint64_t)1 << (sample_bits(s) - 1);
    return key >= zero ? (double)(key - zero) : -(double)(zero - key);
}

/* The key of the sample of type s that is nearest to x, which is no NaN. Integers round half to
 * even and saturate. */
IMGSTAT_INLINE uint64_t map_key(ImgstatSample s, double x)
{
    uint64_t raw;
    if (s == IMGSTAT_F64) {
        memcpy(&raw, &x, sizeof raw);
        return sample_key(s, raw);
    }
    if (s == IMGSTAT_F32) {
        const float value = (float)x;
        uint32_t low;
        memcpy(&low, &value, sizeof low);
        return sample_key(s, low);
    }
    if (s == IMGSTAT_F16)
        return sample_key(s, half_raw(x));
    const uint32_t width = sample_bits(s);
    const uint64_t sign = (uint64_t)1 << (width - 1);
    const uint64_t top = sign | (sign - 1);
    const double whole = rint(x);
    const uint64_t zero = sample_is_signed(s) ? sign : 0;
    if (whole < 0.0) {
        if (zero == 0 || -whole >= (double)zero)
            return 0;
        return zero - (uint64_t)-whole;
    }
    /* 2^width and 2^(width - 1) are doubles: what is below them converts */
    if (whole >= (zero ? (double)sign : 2.0 * (double)sign))
        return top;
    return zero + (uint64_t)whole;
}

/* Whether a key is that of NaN or of an infinity. */
IMGSTAT_INLINE bool map_undefined(ImgstatSample s, uint64_t key)
{
    return sample_is_float(s) &&
           (key <= sample_key_infinity(s, true) || key >= sample_key_infinity(s, false));
}

/* ---- Maps ---------------------------------------------------------------------------------- */

/* The range that samples are mapped to, in keys of the output type. Plain data. */
typedef struct MapRange {
    ImgstatSample sample;
    uint32_t has_nodata; /* no defined sample becomes nodata_key */
    uint64_t nodata_key;
    uint64_t lo_key, hi_key; /* lo_key <= hi_key */
    double lo, hi;           /* their values */
} MapRange;

typedef enum MapKind {
    MAP_AFFINE,   /* black..white to lo..hi, clamped; integers exactly */
    MAP_LINEAR,   /* (x - center) / divisor * factor + offset, clamped; x counts from `origin` where
                     doubles do not hold the type */
    MAP_POWER,    /* black..white to the unit range, to the power `factor`, to lo..hi */
    MAP_EQUALIZE, /* narrow types, from counts */
    MAP_MATCH,    /* narrow types, from counts and the counts of a reference */
    MAP_KNOTS     /* wide types: piecewise linear between exact order statistics */
} MapKind;

/* A key where a map is exact. at: its output; before: the limit of the output from below; both are
 * keys of the output type, since doubles do not hold 64-bit integers. */
typedef struct MapKnot {
    uint64_t key, before, at;
} MapKnot;

/* The parameters of a map. Plain data; pointers are to memory of the device that evaluates it. */
typedef struct Map {
    MapKind kind;
    ImgstatSample from;
    MapRange to;
    uint32_t passthrough; /* all samples pass, in another type or depth rescaled */
    uint32_t same_scale;  /* the output has the type and the full scale of `from` */
    uint32_t has_nodata;
    uint64_t nodata_key;           /* of `from`; such samples pass */
    uint64_t full_lo, full_hi;     /* full scale of `from`, keys */
    uint64_t black, white;         /* keys of `from` */
    double black_part, white_part; /* of a table: how far they lie above these (fewer_bits.c) */
    uint64_t origin;               /* key of `from` that MAP_LINEAR counts from */
    double center, divisor, factor, offset;
    uint64_t n;                          /* valid samples */
    uint64_t first;                      /* samples with the smallest key (MAP_EQUALIZE) */
    const uint64_t *cdf;                 /* inclusive counts by key */
    ImgstatSample reference;             /* its sample type (MAP_MATCH) */
    uint64_t reference_lo, reference_hi; /* its full scale, keys */
    uint64_t reference_n;                /* its valid samples */
    const uint64_t *reference_cdf;       /* its inclusive counts by key */
    const MapKnot *knots;                /* ascending keys */
    uint32_t n_knots;
} Map;

/* The key that a defined sample takes in place of `key`, which may be that of nodata. */
IMGSTAT_INLINE uint64_t range_avoid(const MapRange *to, uint64_t key)
{
    if (!to->has_nodata || key != to->nodata_key)
        return key;
    return key >= to->hi_key ? key - 1 : key + 1;
}

/* The key of the range that is nearest to `key`. */
IMGSTAT_INLINE uint64_t range_clamp(const MapRange *to, uint64_t key)
{
    return key < to->lo_key ? to->lo_key : key > to->hi_key ? to->hi_key : key;
}

/* The key of a value, clamped to the range. */
IMGSTAT_INLINE uint64_t range_key(const MapRange *to, double x)
{
    if (!(x > to->lo))
        return to->lo_key;
    if (x >= to->hi)
        return to->hi_key;
    return range_clamp(to, map_key(to->sample, x));
}

/* The integer key that lies `part`, 0 to 1, of the way between two others; half to even. */
IMGSTAT_INLINE uint64_t key_between(uint64_t from, uint64_t to, double part)
{
    const uint64_t most = from < to ? to - from : from - to;
    const double way = map_mul((double)most, part);
    uint64_t step = most; /* its double may be larger */
    if (!(way > 0.0))
        step = 0;
    else if (way < (double)most && (uint64_t)rint(way) < most)
        step = (uint64_t)rint(way);
    return from < to ? from + step : from - step;
}

/* The key at t of the range; below 0 its low end, above 1 its high end. */
IMGSTAT_INLINE uint64_t range_unit(const MapRange *to, double t)
{
    if (!(t > 0.0))
        return to->lo_key;
    if (t >= 1.0)
        return to->hi_key;
    if (sample_exceeds_double(to->sample))
        return key_between(to->lo_key, to->hi_key, t);
    return range_key(to, map_add(map_mul(t, map_sub(to->hi, to->lo)), to->lo));
}

/* The key at a / b of the range; exact among integers, half to even. b > 0, a <= b. */
IMGSTAT_INLINE uint64_t range_ratio(const MapRange *to, uint64_t a, uint64_t b)
{
    if (sample_is_float(to->sample))
        return range_unit(to, (double)a / (double)b);
    return to->lo_key + ratio_even(a, to->hi_key - to->lo_key, b);
}

/* The key at the share of the range that `key` has of black..white; black < white. */
IMGSTAT_INLINE uint64_t range_affine(const MapRange *to, ImgstatSample from, uint64_t black,
                                     uint64_t white, uint64_t key)
{
    if (key <= black)
        return to->lo_key;
    if (key >= white)
        return to->hi_key;
    if (!sample_is_float(from))
        return range_ratio(to, key - black, white - black);
    /* halves: the difference of two finite doubles may be infinite */
    const double scale = from == IMGSTAT_F64 ? 0.5 : 1.0;
    const double b = map_value(from, black) * scale;
    const double x = map_value(from, key) * scale, w = map_value(from, white) * scale;
    return range_unit(to, map_sub(x, b) / map_sub(w, b));
}

/* The output of a key between two knots. Below the first knot and above the last one, left and
 * right are that knot. */
IMGSTAT_INLINE uint64_t map_between_knots(const Map *map, const MapKnot *left, const MapKnot *right,
                                          uint64_t key)
{
    if (key <= left->key || key >= right->key)
        return range_clamp(&map->to, left->at);
    double part;
    if (sample_is_float(map->from)) {
        const double scale = map->from == IMGSTAT_F64 ? 0.5 : 1.0;
        const double a = map_value(map->from, left->key) * scale;
        const double x = map_value(map->from, key) * scale;
        part = map_sub(x, a) / map_sub(map_value(map->from, right->key) * scale, a);
    } else
        part = (double)(key - left->key) / (double)(right->key - left->key);
    if (sample_exceeds_double(map->to.sample))
        return range_clamp(&map->to, key_between(left->at, right->before, part));
    const double from = map_value(map->to.sample, left->at);
    const double rise = map_mul(map_sub(map_value(map->to.sample, right->before), from), part);
    return range_key(&map->to, map_add(from, rise));
}

/* The knot at or below a key that has `count` knots at or below it; the first one if count is 0. */
IMGSTAT_INLINE const MapKnot *map_left_knot(const Map *map, uint32_t count)
{
    return &map->knots[count > 0 ? count - 1 : 0];
}

/* The knot above a key that has `count` knots at or below it; the last one if there is none. */
IMGSTAT_INLINE const MapKnot *map_right_knot(const Map *map, uint32_t count)
{
    return &map->knots[count < map->n_knots ? count : count - 1];
}

/* map_defined for MAP_KNOTS. */
IMGSTAT_INLINE uint64_t map_knots(const Map *map, uint64_t key)
{
    const uint32_t above = first_above(&map->knots->key, sizeof *map->knots, map->n_knots, key);
    return map_between_knots(map, map_left_knot(map, above), map_right_knot(map, above), key);
}

/* The output key of a defined sample, before range_avoid. */
IMGSTAT_INLINE uint64_t map_defined(const Map *map, uint64_t key)
{
    const MapRange *to = &map->to;
    switch (map->kind) {
    case MAP_AFFINE:
        return range_affine(to, map->from, map->black, map->white, key);
    case MAP_LINEAR: {
        if (map->divisor == 0.0)
            return range_key(to, map->offset);
        const double x = sample_exceeds_double(map->from) ? key_distance(key, map->origin)
                                                          : map_value(map->from, key);
        const double unit = map_sub(x, map->center) / map->divisor;
        return range_key(to, map_add(map_mul(unit, map->factor), map->offset));
    }
    case MAP_POWER: {
        if (sample_exceeds_double(map->from))
            return range_unit(
                to, map_power(key_distance(key, map->black) / key_distance(map->white, map->black),
                              map->factor));
        const double black = map_value(map->from, map->black);
        const double span = map_sub(map_value(map->from, map->white), black);
        const double unit = map_sub(map_value(map->from, key), black) / span;
        return range_unit(to, map_power(unit, map->factor));
    }
    case MAP_EQUALIZE: {
        const uint64_t count = map->cdf[key];
        if (count <= map->first)
            return to->lo_key;
        return range_ratio(to, count - map->first, map->n - map->first);
    }
    case MAP_MATCH: {
        const uint64_t count = map->cdf[key] > 0 ? map->cdf[key] : 1;
        const uint64_t match =
            share_match(map->reference_cdf, sizeof *map->reference_cdf,
                        sample_record_bins(map->reference), map->reference_n, count, map->n);
        if (map->reference == to->sample) /* a level of the reference */
            return range_clamp(to, match);
        return range_affine(to, map->reference, map->reference_lo, map->reference_hi, match);
    }
    case MAP_KNOTS:
        return map_knots(map, key);
    }
    return to->lo_key;
}

/* The output key of a sample that passes: the nearest value of the output type. NaN becomes the low
 * end of an integer range. */
IMGSTAT_INLINE uint64_t map_unchanged(const Map *map, uint64_t key)
{
    if (map->from == map->to.sample)
        return key;
    const double x = map_value(map->from, key);
    if (sample_is_float(map->to.sample))
        return x == x ? map_key(map->to.sample, x) : sample_key_nan(map->to.sample);
    return x == x ? map_key(map->to.sample, x) : map->to.lo_key;
}

/* Whether all samples keep their bits. */
IMGSTAT_INLINE bool map_is_identity(const Map *map)
{
    return map->passthrough && map->same_scale;
}

/* Whether a sample passes: it is undefined, or nodata. from: the input type of the map, a constant
 * where this is inlined. */
IMGSTAT_INLINE bool map_is_passthrough(const Map *map, ImgstatSample from, uint64_t key)
{
    if (map_undefined(from, key))
        return true;
    return map->has_nodata && key == map->nodata_key;
}

/* The output key of any sample. */
IMGSTAT_INLINE uint64_t map_sample(const Map *map, uint64_t key)
{
    if (map_is_passthrough(map, map->from, key))
        return map_unchanged(map, key);
    if (map_is_identity(map))
        return key;
    return range_avoid(&map->to, map_defined(map, key));
}

/* The output bits of a sample with the bits `raw`. They hold more than a key: zeros have signs, and
 * NaN payloads. from, to: the types of the map, constants where this is inlined. */
IMGSTAT_INLINE uint64_t map_raw(const Map *map, ImgstatSample from, ImgstatSample to, uint64_t raw)
{
    const uint64_t key = sample_key(from, raw);
    if (from == to && (map_is_identity(map) || map_is_passthrough(map, from, key)))
        return raw;
    return sample_raw(to, map_sample(map, key));
}

/* map_raw for MAP_KNOTS, with the knots on both sides of the sample; any knots if it passes. */
IMGSTAT_INLINE uint64_t map_raw_between_knots(const Map *map, ImgstatSample from, ImgstatSample to,
                                              const MapKnot *left, const MapKnot *right,
                                              uint64_t raw)
{
    const uint64_t key = sample_key(from, raw);
    if (map_is_passthrough(map, from, key))
        return from == to ? raw : sample_raw(to, map_unchanged(map, key));
    return sample_raw(to, range_avoid(&map->to, map_between_knots(map, left, right, key)));
}

/* Makes all samples of an image pass, in another type or depth from its full scale to the output
 * range: the map of an image without contrast. */
IMGSTAT_INLINE void map_unchanged_image(Map *map)
{
    map->kind = MAP_AFFINE;
    map->black = map->full_lo;
    map->white = map->full_hi;
    map->passthrough = 1;
}

/* Completes a MAP_AFFINE. black, white: keys of `from`; without contrast between them all samples
 * pass. */
IMGSTAT_INLINE void map_between(Map *map, uint64_t black, uint64_t white)
{
    map->kind = MAP_AFFINE;
    map->black = black;
    map->white = white;
    if (black >= white)
        map_unchanged_image(map);
}

/* Narrow types: completes a stretch from inclusive counts of valid samples by key. nano_lo,
 * nano_hi: the part cut at either end, in billionths of a percent. */
IMGSTAT_INLINE void map_clip_counts(Map *map, const uint64_t *cdf, uint64_t nano_lo,
                                    uint64_t nano_hi)
{
    const uint32_t bins = sample_record_bins(map->from);
    const uint64_t n = cdf[bins - 1];
    if (n == 0) {
        map_unchanged_image(map);
        return;
    }
    const uint32_t black = cdf_above(cdf, bins, clip_rank(n, nano_lo));
    const uint32_t white = cdf_above(cdf, bins, n - 1 - clip_rank(n, nano_hi));
    map_between(map, black, white);
}

/* Narrow types: completes a MAP_EQUALIZE of n valid samples; `first` of them have the smallest key.
 * cdf: inclusive counts by key, which the map points to. */
IMGSTAT_INLINE void map_equalize_from(Map *map, const uint64_t *cdf, uint64_t n, uint64_t first)
{
    map->kind = MAP_EQUALIZE;
    map->cdf = cdf;
    map->n = n;
    map->first = first;
    if (first == n)
        map_unchanged_image(map);
}

/* Narrow types: completes a MAP_EQUALIZE from inclusive counts by key, which the map points to. */
IMGSTAT_INLINE void map_equalize_counts(Map *map, const uint64_t *cdf)
{
    const uint32_t bins = sample_record_bins(map->from);
    const uint64_t n = cdf[bins - 1];
    map_equalize_from(map, cdf, n, n ? cdf[cdf_above(cdf, bins, 0)] : 0);
}

/* Narrow types: completes a MAP_MATCH whose reference is set. cdf: inclusive counts by key, which
 * the map points to. */
IMGSTAT_INLINE void map_match_counts(Map *map, const uint64_t *cdf)
{
    map->kind = MAP_MATCH;
    map->cdf = cdf;
    map->n = cdf[sample_record_bins(map->from) - 1];
    if (map->n == 0 || map->reference_n == 0)
        map_unchanged_image(map);
}

#endif
