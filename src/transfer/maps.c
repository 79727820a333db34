/* SPDX-License-Identifier: MIT */
/* maps.c: completes the maps of a transfer: their parameters, the tables of narrow types, and the
 * knots of wide types that equalize or match. */
#include "transfer/maps.h"

#include "base/error.h"
#include "transfer/compat.h"

/* ---- Knots from exact order statistics ---- */

/* Sets the share of the output range at each knot. */
static void knots_equalize(const MapRange *to, const RankTable *ranks, MapKnot *knots)
{
    const uint64_t first = ranks->knots[0].upto;
    for (uint32_t k = 0; k < ranks->n_knots; k++) {
        const RankKnot *const rank = &ranks->knots[k];
        const uint64_t below = rank->below > first ? rank->below - first : 0;
        knots[k] = (MapKnot){.key = rank->key,
                             .before = range_ratio(to, below, ranks->n - first),
                             .at = range_ratio(to, rank->upto - first, ranks->n - first)};
    }
}

uint64_t reference_quantile(const Map *map, const MapReference *reference, uint64_t count,
                            uint64_t of)
{
    const MapSource *const source = reference->source;
    uint64_t key;
    if (source->cdf)
        key = share_match(source->cdf, sizeof *source->cdf, sample_record_bins(map->reference),
                          source->n, count, of);
    else {
        const RankTable *const ranks = source->ranks;
        const uint32_t low = share_match(&ranks->knots->upto, sizeof *ranks->knots, ranks->n_knots,
                                         ranks->n, count, of);
        key = ranks->knots[low].key;
        const RankKnot *const right = &ranks->knots[low];
        /* Strictly between two knots the distribution is taken as even. */
        if (low > 0 && (Wide128)right->below * of >= (Wide128)count * ranks->n) {
            const RankKnot *const left = right - 1;
            const double target = (double)count / (double)of * (double)ranks->n;
            const double part = (target - (double)left->upto) / (double)(right->below - left->upto);
            if (sample_exceeds_double(map->reference))
                key = key_between(left->key, key, part);
            else {
                const double a = map_value(map->reference, left->key);
                const double b = map_value(map->reference, key);
                key = map_key(map->reference, a * (1.0 - part) + b * part);
            }
        }
    }
    if (reference->as_is)
        return key;
    if (sample_is_float(map->reference) && sample_is_float(map->to.sample))
        return range_key(&map->to, map_value(map->reference, key));
    return range_affine(&map->to, map->reference, map->reference_lo, map->reference_hi, key);
}

static void knots_match(const Map *map, const RankTable *ranks, const MapReference *reference,
                        MapKnot *knots)
{
    for (uint32_t k = 0; k < ranks->n_knots; k++) {
        const RankKnot *const rank = &ranks->knots[k];
        const uint64_t below = rank->below ? rank->below : 1;
        knots[k] = (MapKnot){.key = rank->key,
                             .before = reference_quantile(map, reference, below, ranks->n),
                             .at = reference_quantile(map, reference, rank->upto, ranks->n)};
    }
}

void map_make_knots(Map *map, const ImgstatMethod *method, const MapSource *source,
                    const MapReference *reference, MapKnot *knots)
{
    const RankTable *const ranks = source->ranks;
    const bool one_level = ranks && ranks->n_knots == 1;
    if (!ranks || ranks->n == 0 || (method->transform == IMGSTAT_EQUALIZE && one_level) ||
        (reference->source && reference->source->n == 0)) {
        map_unchanged_image(map);
        return;
    }
    map->kind = MAP_KNOTS;
    map->knots = knots;
    map->n_knots = ranks->n_knots;
    if (method->transform == IMGSTAT_EQUALIZE)
        knots_equalize(&map->to, ranks, knots);
    else
        knots_match(map, ranks, reference, knots);
}

/* ---- Parameters, and tables that hold every output ---- */

void map_set_parameters(Map *map, const ImgstatMethod *method, const TransferShape *shape,
                        const MapSource *source)
{
    uint8_t bits;
    const bool narrow = sample_is_narrow(map->from);
    const bool clipped = method->transform == IMGSTAT_PERCENTILE;
    const Clip clip = transfer_clip_of(method);
    switch (method->transform) {
    case IMGSTAT_STRETCH:
    case IMGSTAT_PERCENTILE:
        if (method->has_in_range) {
            transfer_in_range(method, map->from, shape->bits, &map->black, &map->white);
            map_between(map, map->black, map->white);
        } else if (narrow)
            map_clip_counts(map, source->cdf, clip_nano(clip.lo), clip_nano(clip.hi));
        else if (source->n == 0)
            map_unchanged_image(map);
        else
            map_between(map, clipped ? source->black : source->min_key,
                        clipped ? source->white : source->max_key);
        return;
    case IMGSTAT_MEANSTD:
        map->kind = MAP_LINEAR;
        map->origin = source->origin;
        map->center = source->mean;
        map->divisor = source->stddev;
        (void)transfer_output(method, shape, &bits);
        map->factor = transfer_stddev(method, map->to.sample, bits);
        map->offset = transfer_mean(method, map->to.sample, bits);
        if (source->n == 0 || !isfinite(source->mean) || !isfinite(source->stddev))
            map_unchanged_image(map);
        return;
    case IMGSTAT_GAMMA:
        map->kind = MAP_POWER;
        map->black = map->full_lo;
        map->white = map->full_hi;
        map->factor = method->gamma;
        return;
    case IMGSTAT_EQUALIZE:
        map_equalize_counts(map, source->cdf);
        return;
    case IMGSTAT_MATCH:
        map_match_counts(map, source->cdf);
        return;
    case IMGSTAT_CLAHE:
        return;
    }
}

/* ---- Tables ---- */

static void table_fill(uint32_t *table, uint64_t first, uint64_t end, uint64_t key)
{
    for (uint64_t k = first; k < end; k++)
        table[k] = (uint32_t)key;
}

/* MAP_AFFINE. Among integers from one key to the next quotient and remainder of range_ratio grow by
 * the same amounts. */
static void table_affine(const Map *map, uint32_t entries, uint32_t *table)
{
    const MapRange *const to = &map->to;
    table_fill(table, 0, map->black + 1, to->lo_key);
    table_fill(table, map->white, entries, to->hi_key);
    if (sample_is_float(map->from) || sample_is_float(to->sample)) {
        for (uint64_t key = map->black + 1; key < map->white; key++)
            table[key] = (uint32_t)range_affine(to, map->from, map->black, map->white, key);
        return;
    }
    const uint32_t span = (uint32_t)(to->hi_key - to->lo_key);
    const uint32_t of = (uint32_t)(map->white - map->black);
    const uint32_t step = span / of, rest = span % of;
    uint32_t quotient = 0, remainder = 0;
    for (uint64_t key = map->black + 1; key < map->white; key++) {
        quotient += step;
        remainder += rest;
        const bool more = remainder >= of;
        quotient += more;
        remainder -= more ? of : 0;
        table[key] = (uint32_t)(to->lo_key + ratio_finish(quotient, remainder, of));
    }
}

/* MAP_EQUALIZE and MAP_MATCH: keys with one count have one output. A match takes
 * reference_quantile, which handles different depths. */
static void table_counts(const Map *map, const MapReference *reference, uint32_t entries,
                         uint32_t *table)
{
    const uint32_t least = cdf_above(map->cdf, entries, 0); /* keys of the extrema */
    const uint32_t most = cdf_above(map->cdf, entries, map->n - 1);
    for (uint32_t key = least; key <= most; key++) {
        if (key > least && map->cdf[key] == map->cdf[key - 1])
            table[key] = table[key - 1];
        else if (map->kind == MAP_EQUALIZE)
            table[key] = (uint32_t)map_defined(map, key);
        else
            table[key] = (uint32_t)range_clamp(
                &map->to, reference_quantile(map, reference, map->cdf[key], map->n));
    }
    table_fill(table, 0, least, table[least]);
    table_fill(table, most, entries, table[most]);
}

static void table_each(const Map *map, uint64_t first, uint64_t end, uint32_t *table)
{
    for (uint64_t key = first; key < end; key++)
        table[key] = map_undefined(map->from, key) ? 0 : (uint32_t)map_defined(map, key);
}

/* MAP_POWER among integers, with exponent g. From a distance r of black on, powers of some keys
 * follow from one: (r + d)^g = r^g (1 + d/r)^g, and with |d/r| < 1/32 the binomial series, cut
 * before its term 9, is off by less than 1e-13, as no further coefficient of g <= 9 is above 1. Its
 * place in the range is then off by less than 1e-7; map_defined finds outputs that are as near to a
 * half. */
static void table_power(const Map *map, uint32_t entries, uint32_t *table)
{
    enum { TERMS = 9, LEAST = 1024, SIDE = 32 };
    const double g = map->factor, span = (double)(map->white - map->black);
    const double range = (double)(map->to.hi_key - map->to.lo_key), near = 1e-6;
    double binomial[TERMS] = {1.0};
    for (int k = 1; k < TERMS; k++)
        binomial[k] = binomial[k - 1] * (g - (double)(k - 1)) / (double)k;
    uint64_t key = map->black + LEAST < map->white && g <= TERMS ? map->black + LEAST : entries;
    table_each(map, 0, key, table);
    for (; key + 2 * SIDE < map->white; key += 2 * SIDE) {
        const double r = (double)(key + SIDE - map->black);
        const double scale = map_power(r / span, g) * range, step = 1.0 / r;
        double place[2 * SIDE];
        for (int i = 0; i < 2 * SIDE; i++) {
            const double x = (double)(i - SIDE) * step;
            double series = binomial[TERMS - 1];
            for (int k = TERMS - 2; k >= 0; k--)
                series = series * x + binomial[k];
            place[i] = scale * series + 0.5;
        }
        for (unsigned i = 0; i < 2 * SIDE; i++) {
            const uint32_t whole = (uint32_t)place[i];
            const double part = place[i] - (double)whole;
            if (part > near && part < 1.0 - near)
                table[key + i] = (uint32_t)map->to.lo_key + whole;
            else
                table_each(map, key + i, key + i + 1, table);
        }
    }
    table_each(map, key, entries, table);
}

/* Sets the key of the output of each defined sample, as if nothing were nodata. */
static void table_keys(const Map *map, const MapReference *reference, uint32_t entries,
                       uint32_t *table)
{
    if (map_is_identity(map))
        for (uint32_t key = 0; key < entries; key++)
            table[key] = key;
    else if (map->kind == MAP_AFFINE)
        table_affine(map, entries, table);
    else if (map->kind == MAP_EQUALIZE || map->kind == MAP_MATCH)
        table_counts(map, reference, entries, table);
    else if (map->kind == MAP_POWER && !sample_is_float(map->from) &&
             !sample_is_float(map->to.sample))
        table_power(map, entries, table);
    else
        table_each(map, 0, entries, table);
}

/* Makes samples of keys: those that pass keep their value, others, with `avoids`, avoid nodata. */
static void table_samples(const Map *map, bool avoids, uint32_t entries, uint32_t *table)
{
    const MapRange *const to = &map->to;
    const bool floats = sample_is_float(map->from);
    const uint32_t first = floats ? (uint32_t)sample_key_infinity(map->from, true) + 1 : 0;
    const uint32_t end = floats ? (uint32_t)sample_key_infinity(map->from, false) : entries;
    const uint32_t nodata = (uint32_t)to->nodata_key;
    const uint32_t other = (uint32_t)range_avoid(to, to->nodata_key);
    const uint32_t sign = (uint32_t)1 << (sample_bits(to->sample) - 1), all = sign | (sign - 1);
    if (to->has_nodata && avoids)
        for (uint32_t key = first; key < end; key++)
            table[key] = table[key] == nodata ? other : table[key];
    for (uint32_t key = 0; key < first; key++)
        table[key] = (uint32_t)map_unchanged(map, key);
    for (uint32_t key = end; key < entries; key++)
        table[key] = (uint32_t)map_unchanged(map, key);
    if (map->has_nodata && map->nodata_key < entries)
        table[map->nodata_key] = (uint32_t)map_unchanged(map, map->nodata_key);
    if (sample_is_float(to->sample)) /* sample_raw, of many */
        for (uint32_t key = 0; key < entries; key++)
            table[key] ^= table[key] & sign ? sign : all;
    else if (sample_is_signed(to->sample))
        for (uint32_t key = 0; key < entries; key++)
            table[key] ^= sign;
}

ImgstatResult map_make_table(Map *map, const ImgstatMethod *method, const MapSource *source,
                             const MapReference *reference, const uint32_t *rescaled,
                             uint32_t *table, ImgstatError *err)
{
    const uint32_t entries = sample_record_bins(map->from);
    const bool like = method->like != IMGSTAT_LIKE_IMGSTAT && source->n > 0;
    if (like)
        IMGSTAT_TRY(compat_table(method, &map->to, source->cdf, rescaled, entries, table, err));
    else
        table_keys(map, reference, entries, table);
    table_samples(map, like || !map_is_identity(map), entries, table);
    map->cdf = map->reference_cdf = NULL;
    return IMGSTAT_OK;
}

void rescale_make_table(const Map *rescale, uint32_t *table)
{
    const uint32_t entries = sample_record_bins(rescale->from);
    table_keys(rescale, NULL, entries, table);
    table_samples(rescale, false, entries, table); /* it knows no nodata */
}
