/* SPDX-License-Identifier: MIT */
/* table.c: the parameters of a map, and for narrow types the table that holds its every output. */
#include "transfer/compat.h"
#include "transfer/maps.h"

void map_set_parameters(Map *map, const ImgstatMethod *method, const MapSource *source)
{
    const bool narrow = sample_is_narrow(map->from);
    const bool clipped = method->transform == IMGSTAT_PERCENTILE;
    const Clip clip = transfer_clip_of(method);
    switch (method->transform) {
    case IMGSTAT_STRETCH:
    case IMGSTAT_PERCENTILE:
        if (narrow)
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
        map->factor = method->stddev;
        map->offset = method->mean;
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

/* map_sample, except that a match takes reference_quantile, which regards the depths. */
static uint64_t table_key(const Map *map, const MapReference *reference, uint64_t key)
{
    if (map_is_passthrough(map, map->from, key) || map->kind != MAP_MATCH)
        return map_sample(map, key);
    const uint64_t count = map->cdf[key] > 0 ? map->cdf[key] : 1;
    const uint64_t level = reference_quantile(map, reference, count, map->n);
    return range_avoid(&map->to, range_clamp(&map->to, level));
}

void map_make_table(Map *map, const ImgstatMethod *method, const MapSource *source,
                    const MapReference *reference, uint32_t *table)
{
    const uint32_t entries = sample_record_bins(map->from);
    const bool like = method->like != IMGSTAT_LIKE_IMGSTAT && source->n > 0;
    if (like)
        compat_table(method, &map->to, source->cdf, entries, table);
    for (uint32_t key = 0; key < entries; key++) {
        uint64_t to = like && !map_is_passthrough(map, map->from, key)
                          ? range_avoid(&map->to, table[key])
                          : table_key(map, reference, key);
        table[key] = (uint32_t)sample_raw(map->to.sample, to);
    }
    map->cdf = map->reference_cdf = NULL; /* the table replaces them */
}
