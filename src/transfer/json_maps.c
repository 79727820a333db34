/* SPDX-License-Identifier: MIT */
/* json_maps.c: the maps of a transfer from JSON text: tables, knots and parameters. */
#include "transfer/json_value.h"

#include "base/compiler.h"

/* Finds the key of an entry. Integers lie in the range; floats matched to floats may lie
 * anywhere. */
static bool entry_key(json_object *object, const MapRange *to, uint64_t *key)
{
    return json_value_key(object, to->sample, key) &&
           (sample_is_float(to->sample) || (*key >= to->lo_key && *key <= to->hi_key));
}

/* Whether an entry belongs to a sample that passes through. Its output is known, so any value, or
 * null, is valid. */
static bool entry_is_passthrough(json_object *object, const Map *map, uint64_t key)
{
    uint64_t value;
    return !object ||
           (!map_undefined(map->from, key) && json_value_key(object, map->to.sample, &value));
}

static ImgstatResult read_table(const JsonReader *reader, json_object *values, const Map *map,
                                uint32_t *table)
{
    const uint32_t entries = sample_record_bins(map->from);
    const ImgstatSample to = map->to.sample;
    if (!json_object_is_type(values, json_type_array) ||
        json_object_array_length(values) != entries)
        return json_wrong(reader, "\"table\" does not have an entry for every level");
    for (uint32_t key = 0; key < entries; key++) {
        json_object *const entry = json_object_array_get_idx(values, key);
        const bool passthrough = map_is_passthrough(map, map->from, key);
        uint64_t value = passthrough ? map_unchanged(map, key) : 0;
        if (passthrough ? !entry_is_passthrough(entry, map, key)
                        : !entry_key(entry, &map->to, &value))
            return json_wrong(reader, "an entry of \"table\" is not a value of the output");
        table[key] = (uint32_t)sample_raw(to, value);
    }
    return IMGSTAT_OK;
}

static ImgstatResult read_knots(const JsonReader *reader, json_object *list, Map *map,
                                MapKnot *knots)
{
    const size_t n = json_object_array_length(list);
    map->kind = MAP_KNOTS;
    map->n_knots = (uint32_t)n;
    map->knots = knots;
    for (size_t k = 0; k < n; k++) {
        json_object *const knot = json_object_array_get_idx(list, k);
        if (!json_object_is_type(knot, json_type_array) || json_object_array_length(knot) != 3 ||
            !json_value_key(json_object_array_get_idx(knot, 0), map->from, &knots[k].key) ||
            !json_value_key(json_object_array_get_idx(knot, 1), map->to.sample, &knots[k].before) ||
            !json_value_key(json_object_array_get_idx(knot, 2), map->to.sample, &knots[k].at))
            return json_wrong(reader, "a knot is not three values of its types");
        if (k > 0 && knots[k].key <= knots[k - 1].key)
            return json_wrong(reader, "\"knots\" do not ascend");
    }
    return IMGSTAT_OK;
}

static ImgstatResult read_linear(const JsonReader *reader, json_object *object, Map *map)
{
    static const char *const keys[4] = {"center", "divisor", "factor", "offset"};
    double *const fields[4] = {&map->center, &map->divisor, &map->factor, &map->offset};
    map->kind = MAP_LINEAR;
    for (int i = 0; i < 4; i++) {
        json_object *value = NULL;
        const bool given = json_object_object_get_ex(object, keys[i], &value);
        if (!given && i == 0)
            return json_wrong(reader, "a map is none of those known");
        if (!given || !json_finite(value, fields[i]))
            return json_missing(reader, keys[i]);
    }
    json_object *origin = NULL;
    if (sample_exceeds_double(map->from) &&
        (!json_object_object_get_ex(object, "origin", &origin) ||
         !json_value_key(origin, map->from, &map->origin)))
        return json_missing(reader, "origin");
    if (map->divisor < 0 || map->factor < 0)
        return json_wrong(reader, "\"divisor\" and \"factor\" are deviations: not below 0");
    return IMGSTAT_OK;
}

/* Counts the members that name the kind of a map: exactly one is allowed. */
static unsigned kinds_of(json_object *map)
{
    static const char *const kinds[] = {"unchanged", "table", "between",
                                        "center",    "gamma", "knots"};
    unsigned n = 0;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        n += json_object_object_get_ex(map, kinds[i], NULL) ? 1u : 0u;
    return n;
}

/* Finds the key of a black or white. That of an unsigned type may lie between two levels. */
static bool read_level(json_object *object, ImgstatSample sample, uint64_t *key, double *part)
{
    const double end = (double)((uint32_t)1 << sample_bits(sample));
    if (sample_is_float(sample) || sample_is_signed(sample) ||
        !json_object_is_type(object, json_type_double))
        return json_value_key(object, sample, key);
    const double x = json_object_get_double(object);
    if (!(x >= 0 && x < end))
        return false;
    *key = (uint64_t)x;
    *part = x - (double)*key;
    return true;
}

/* Reads the parameters that the table of a map was made from. */
static ImgstatResult read_parameters(const JsonReader *reader, json_object *map_object,
                                     ImgstatTransform transform, Map *map)
{
    json_object *object, *black = NULL, *white = NULL;
    IMGSTAT_TRY(json_member(reader, map_object, "parameters", json_type_object, &object));
    switch (transform) {
    case IMGSTAT_STRETCH:
    case IMGSTAT_PERCENTILE:
        map->kind = MAP_AFFINE;
        if (!json_object_object_get_ex(object, "black", &black) ||
            !json_object_object_get_ex(object, "white", &white) ||
            !read_level(black, map->from, &map->black, &map->black_part) ||
            !read_level(white, map->from, &map->white, &map->white_part))
            return json_wrong(reader, "\"black\" and \"white\" are not values of the sample type");
        return IMGSTAT_OK;
    case IMGSTAT_MEANSTD:
        map->kind = MAP_LINEAR;
        IMGSTAT_TRY(json_double(reader, object, "mean", &map->center));
        IMGSTAT_TRY(json_double(reader, object, "stddev", &map->divisor));
        IMGSTAT_TRY(json_double(reader, object, "to_mean", &map->offset));
        return json_double(reader, object, "to_stddev", &map->factor);
    case IMGSTAT_GAMMA:
        map->kind = MAP_POWER;
        map->black = map->full_lo;
        map->white = map->full_hi;
        return json_double(reader, object, "gamma", &map->factor);
    default:
        return json_wrong(reader, "a method without parameters has \"parameters\"");
    }
}

/* Reads map m. *knots: the memory left for knots. */
static ImgstatResult read_map(const JsonReader *reader, json_object *object, Transfer *transfer,
                              uint16_t m, MapKnot **knots)
{
    Map *const map = &transfer->maps[m];
    json_object *value = NULL;
    const size_t entries =
        sample_is_narrow(transfer->from) ? sample_record_bins(transfer->from) : 0;
    if (!json_object_is_type(object, json_type_object))
        return json_wrong(reader, "a map is no object");
    if (kinds_of(object) > 1)
        return json_wrong(reader, "a map is of two kinds");
    if (json_object_object_get_ex(object, "unchanged", &value)) {
        if (!json_object_is_type(value, json_type_boolean) || !json_object_get_boolean(value))
            return json_wrong(reader, "\"unchanged\" is not true");
        map_unchanged_image(map);
        transfer_unchanged(transfer, map);
        for (size_t key = 0; key < entries; key++)
            transfer->tables[m * entries + key] =
                (uint32_t)sample_raw(map->to.sample, map_sample(map, key));
        return IMGSTAT_OK;
    }
    if (entries) {
        IMGSTAT_TRY(json_member(reader, object, "table", json_type_array, &value));
        IMGSTAT_TRY(read_table(reader, value, map, transfer->tables + m * entries));
        if (json_object_object_get_ex(object, "parameters", NULL))
            return read_parameters(reader, object, transfer->transform, map);
        transfer->has_parameters =
            false; /* formulas of other programs, and files without parameters */
        return IMGSTAT_OK;
    }
    if (json_object_object_get_ex(object, "between", &value)) {
        map->kind = MAP_AFFINE;
        IMGSTAT_TRY(json_pair(reader, object, "between", map->from, &map->black, &map->white));
        return map->black < map->white ? IMGSTAT_OK
                                       : json_wrong(reader, "\"between\" is one value twice");
    }
    if (json_object_object_get_ex(object, "gamma", &value)) {
        map->kind = MAP_POWER;
        map->black = map->full_lo;
        map->white = map->full_hi;
        return json_finite(value, &map->factor) && map->factor > 0
                   ? IMGSTAT_OK
                   : json_wrong(reader, "\"gamma\" is not above 0");
    }
    if (json_object_object_get_ex(object, "knots", &value)) {
        if (!json_object_is_type(value, json_type_array) || json_object_array_length(value) == 0 ||
            json_object_array_length(value) > RANK_STEPS + 1)
            return json_wrong(reader, "\"knots\" are none, or too many");
        IMGSTAT_TRY(read_knots(reader, value, map, *knots));
        *knots += map->n_knots;
        return IMGSTAT_OK;
    }
    return read_linear(reader, object, map);
}

static size_t count_knots(json_object *maps)
{
    size_t n = 0;
    for (size_t m = 0; m < json_object_array_length(maps); m++) {
        json_object *knots = NULL;
        json_object *const map = json_object_array_get_idx(maps, m);
        if (json_object_is_type(map, json_type_object) &&
            json_object_object_get_ex(map, "knots", &knots) &&
            json_object_is_type(knots, json_type_array))
            n += json_object_array_length(knots);
    }
    return n;
}

ImgstatResult json_read_maps(const JsonReader *reader, json_object *maps, Transfer *transfer)
{
    const size_t n_knots = count_knots(maps);
    transfer->knots = buffer_cache_acquire(NULL, n_knots * sizeof *transfer->knots);
    if (!transfer->knots)
        return error_memory(reader->err, n_knots * sizeof(MapKnot), "a transfer");
    MapKnot *knots = transfer->knots;
    for (uint16_t m = 0; m < transfer->n_maps; m++)
        IMGSTAT_TRY(read_map(reader, json_object_array_get_idx(maps, m), transfer, m, &knots));
    return IMGSTAT_OK;
}
