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

/* Works as map_sample, but a match takes reference_quantile, which handles different depths. */
static uint64_t table_key(const Map *map, const MapReference *reference, uint64_t key)
{
    if (map_is_passthrough(map, map->from, key) || map->kind != MAP_MATCH)
        return map_sample(map, key);
    const uint64_t count = map->cdf[key] > 0 ? map->cdf[key] : 1;
    const uint64_t level = reference_quantile(map, reference, count, map->n);
    return range_avoid(&map->to, range_clamp(&map->to, level));
}

ImgstatResult map_make_table(Map *map, const ImgstatMethod *method, const MapSource *source,
                             const MapReference *reference, const uint32_t *rescaled,
                             uint32_t *table, ImgstatError *err)
{
    const uint32_t entries = sample_record_bins(map->from);
    const bool like = method->like != IMGSTAT_LIKE_IMGSTAT && source->n > 0;
    if (like)
        IMGSTAT_TRY(compat_table(method, &map->to, source->cdf, rescaled, entries, table, err));
    for (uint32_t key = 0; key < entries; key++) {
        uint64_t to = like && !map_is_passthrough(map, map->from, key)
                          ? range_avoid(&map->to, table[key])
                          : table_key(map, reference, key);
        table[key] = (uint32_t)sample_raw(map->to.sample, to);
    }
    map->cdf = map->reference_cdf = NULL;
    return IMGSTAT_OK;
}
