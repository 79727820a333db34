/* SPDX-License-Identifier: MIT */
/* json_write.c: writes transfers as JSON text; docs/transforms.md has the schema. */
#include "transfer/json.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

const char *const transfer_transform_names[] = {"stretch",  "percentile", "meanstd", "gamma",
                                                "equalize", "match",      "clahe"};
const char *const transfer_like_names[] = {"imgstat", "opencv",         "skimage", "imagemagick",
                                           "imagej",  "imagej-classic", "pillow",  "vips"};

static json_object *value_new(ImgstatSample sample, uint64_t key)
{
    if (map_undefined(sample, key))
        return NULL;
    if (sample_is_float(sample))
        return json_object_new_double(map_value(sample, key));
    const uint64_t raw = sample_raw(sample, key);
    if (!sample_is_signed(sample))
        return json_object_new_uint64(raw);
    const uint64_t zero = (uint64_t)1 << (sample_bits(sample) - 1);
    return json_object_new_int64((int64_t)(key - zero));
}

static json_object *type_new(ImgstatSample sample, uint8_t bits)
{
    json_object *const type = json_object_new_object();
    json_object_object_add(type, "sample", json_object_new_string(imgstat_sample_name(sample)));
    json_object_object_add(type, "bits",
                           json_object_new_int(bits ? bits : (int)sample_bits(sample)));
    return type;
}

static json_object *pair_new(ImgstatSample sample, uint64_t lo, uint64_t hi)
{
    json_object *const pair = json_object_new_array();
    json_object_array_add(pair, value_new(sample, lo));
    json_object_array_add(pair, value_new(sample, hi));
    return pair;
}

static json_object *table_new(const Transfer *transfer, const uint32_t *table)
{
    const uint32_t entries = sample_record_bins(transfer->from);
    const ImgstatSample to = transfer->range.sample;
    json_object *const values = json_object_new_array();
    for (uint32_t key = 0; key < entries; key++) {
        const bool undefined = map_undefined(transfer->from, key);
        json_object_array_add(values, undefined ? NULL : value_new(to, sample_key(to, table[key])));
    }
    return values;
}

static json_object *knots_new(const Map *map)
{
    json_object *const knots = json_object_new_array();
    for (uint32_t k = 0; k < map->n_knots; k++) {
        json_object *const knot = json_object_new_array();
        json_object_array_add(knot, value_new(map->from, map->knots[k].key));
        json_object_array_add(knot, value_new(map->to.sample, map->knots[k].before));
        json_object_array_add(knot, value_new(map->to.sample, map->knots[k].at));
        json_object_array_add(knots, knot);
    }
    return knots;
}

/* The numbers that a map was made from; NULL: it has none, or they are not known. */
static json_object *parameters_new(const Transfer *transfer, const Map *map)
{
    const bool narrow = sample_is_narrow(map->from);
    if (narrow && !transfer->has_parameters)
        return NULL;
    switch (map->kind) {
    case MAP_AFFINE: {
        json_object *const object = json_object_new_object();
        json_object_object_add(object, "black", value_new(map->from, map->black));
        json_object_object_add(object, "white", value_new(map->from, map->white));
        return object;
    }
    case MAP_LINEAR: {
        const double origin =
            sample_exceeds_double(map->from) ? map_value(map->from, map->origin) : 0.0;
        json_object *const object = json_object_new_object();
        json_object_object_add(object, "mean", json_object_new_double(origin + map->center));
        json_object_object_add(object, "stddev", json_object_new_double(map->divisor));
        json_object_object_add(object, "to_mean", json_object_new_double(map->offset));
        json_object_object_add(object, "to_stddev", json_object_new_double(map->factor));
        return object;
    }
    case MAP_POWER: {
        json_object *const object = json_object_new_object();
        json_object_object_add(object, "gamma", json_object_new_double(map->factor));
        return object;
    }
    default:
        return NULL;
    }
}

static json_object *map_new(const Transfer *transfer, uint16_t m)
{
    const Map *const map = &transfer->maps[m];
    json_object *const object = json_object_new_object();
    if (map->passthrough) {
        json_object_object_add(object, "unchanged", json_object_new_boolean(true));
        return object;
    }
    if (sample_is_narrow(transfer->from)) {
        const size_t entries = sample_record_bins(transfer->from);
        json_object_object_add(object, "table",
                               table_new(transfer, transfer->tables + m * entries));
        json_object *const parameters = parameters_new(transfer, map);
        if (parameters)
            json_object_object_add(object, "parameters", parameters);
        return object;
    }
    switch (map->kind) {
    case MAP_AFFINE:
        json_object_object_add(object, "between", pair_new(map->from, map->black, map->white));
        break;
    case MAP_POWER:
        json_object_object_add(object, "gamma", json_object_new_double(map->factor));
        break;
    case MAP_KNOTS:
        json_object_object_add(object, "knots", knots_new(map));
        break;
    default: /* MAP_LINEAR; counts belong to narrow types */
        if (sample_exceeds_double(map->from))
            json_object_object_add(object, "origin", value_new(map->from, map->origin));
        json_object_object_add(object, "center", json_object_new_double(map->center));
        json_object_object_add(object, "divisor", json_object_new_double(map->divisor));
        json_object_object_add(object, "factor", json_object_new_double(map->factor));
        json_object_object_add(object, "offset", json_object_new_double(map->offset));
    }
    return object;
}

/* The map in a description. */
static json_object *map_described(const Transfer *transfer, uint16_t m)
{
    const Map *const map = &transfer->maps[m];
    if (map->passthrough)
        return map_new(transfer, m);
    json_object *const parameters = parameters_new(transfer, map);
    return parameters ? parameters : json_object_new_object();
}

/* Takes over root. */
static char *text_of(json_object *root, ImgstatError *err)
{
    const char *const text =
        root ? json_object_to_json_string_ext(root, JSON_C_TO_STRING_PLAIN) : NULL;
    char *const copy = text ? strdup(text) : NULL;
    json_object_put(root);
    if (!copy)
        error_memory(err, 0, "the text of a transfer");
    return copy;
}

/* The channel of a set that a transfer is for. */
static json_object *channel_new(const TransferChannel *channel)
{
    json_object *const object = json_object_new_object();
    json_object_object_add(object, "c", json_object_new_int64(channel->c));
    if (channel->name)
        json_object_object_add(object, "name", json_object_new_string(channel->name));
    return object;
}

/* Adds all members, each map as `map` makes it. */
static void add_members(json_object *root, const Transfer *transfer,
                        json_object *(*map)(const Transfer *transfer, uint16_t m))
{
    if (transfer->channel.known)
        json_object_object_add(root, "channel", channel_new(&transfer->channel));
    json_object_object_add(root, "method",
                           json_object_new_string(transfer_transform_names[transfer->transform]));
    json_object_object_add(root, "like",
                           json_object_new_string(transfer_like_names[transfer->like]));
    json_object_object_add(root, "luma", json_object_new_boolean(transfer->luma));
    json_object_object_add(root, "from", type_new(transfer->from, transfer->from_bits));
    json_object *const to = type_new(transfer->range.sample, transfer->to_bits);
    json_object_object_add(
        to, "range",
        pair_new(transfer->range.sample, transfer->range.lo_key, transfer->range.hi_key));
    json_object_object_add(root, "to", to);
    /* A map of luma, which may be any value, does not know of it. */
    if (transfer->passthrough.has_nodata)
        json_object_object_add(root, "nodata",
                               value_new(transfer->from, transfer->passthrough.nodata_key));
    json_object *const maps = json_object_new_array();
    for (uint16_t m = 0; m < transfer->n_maps; m++)
        json_object_array_add(maps, map(transfer, m));
    json_object_object_add(root, "maps", maps);
}

static void add_set(json_object *root, const Transfer *set,
                    json_object *(*map)(const Transfer *transfer, uint16_t m))
{
    json_object *const transfers = json_object_new_array();
    for (; set; set = set->next) {
        json_object *const object = json_object_new_object();
        add_members(object, set, map);
        json_object_array_add(transfers, object);
    }
    json_object_object_add(root, "transfers", transfers);
}

char *transfer_to_json(const Transfer *transfer, ImgstatError *err)
{
    json_object *const root = json_object_new_object();
    const int version = transfer->next ? TRANSFER_SET_VERSION : TRANSFER_VERSION;
    json_object_object_add(root, "imgstat_transfer", json_object_new_int(version));
    if (transfer->next)
        add_set(root, transfer, map_new);
    else
        add_members(root, transfer, map_new);
    return text_of(root, err);
}

char *transfer_describe(const Transfer *transfer, ImgstatError *err)
{
    json_object *const root = json_object_new_object();
    add_members(root, transfer, map_described);
    return text_of(root, err);
}

char *transfer_describe_set(const Transfer *set, ImgstatError *err)
{
    if (!set->next)
        return transfer_describe(set, err);
    json_object *const root = json_object_new_object();
    add_set(root, set, map_described);
    return text_of(root, err);
}

char *transfer_describe_clahe(const ImgstatMethod *method, ImgstatError *err)
{
    json_object *const root = json_object_new_object(), *const grid = json_object_new_array();
    json_object_object_add(root, "method",
                           json_object_new_string(transfer_transform_names[IMGSTAT_CLAHE]));
    json_object_object_add(root, "like", json_object_new_string(transfer_like_names[method->like]));
    json_object_array_add(grid, json_object_new_int(method->tiles_x ? (int)method->tiles_x : 8));
    json_object_array_add(grid, json_object_new_int(method->tiles_y ? (int)method->tiles_y : 8));
    json_object_object_add(root, "grid", grid);
    const double usual = method->like == IMGSTAT_LIKE_OPENCV ? 40.0 : 0.01;
    json_object_object_add(
        root, "clip_limit",
        json_object_new_double(method->clip_limit > 0 ? method->clip_limit : usual));
    return text_of(root, err);
}

/* Copies a text as far as it fits, frees it and returns its length; 0 of NULL. */
static size_t hand_over(char *text, char *out, size_t capacity)
{
    if (!text)
        return 0;
    const size_t length = strlen(text), kept = length < capacity ? length
                                               : capacity        ? capacity - 1
                                                                 : 0;
    if (capacity) {
        memcpy(out, text, kept);
        out[kept] = '\0';
    }
    free(text);
    return length;
}

size_t imgstat_transfer_describe(const ImgstatTransfer *transfer, char *out, size_t capacity)
{
    return hand_over(transfer_describe_set(transfer, NULL), out, capacity);
}

size_t imgstat_transfer_text(const ImgstatTransfer *transfer, char *out, size_t capacity)
{
    if (transfer_set_has_groups(transfer) || transfer_set_has_kinds(transfer))
        return 0;
    return hand_over(transfer_to_json(transfer, NULL), out, capacity);
}
