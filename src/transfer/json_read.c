/* SPDX-License-Identifier: MIT */
/* json_read.c: transfers from JSON text, every member checked. */
#include "transfer/json.h"

#include "base/compiler.h"
#include "transfer/json_numbers.h"

#include <json-c/json.h>
#include <string.h>

enum {
    MAX_DEPTH = 10,
    TABLE_BITS = 32 /* of an entry of Transfer's tables */
};

/* What is being read, for messages. */
typedef struct JsonReader {
    const char *name;
    ImgstatError *err;
    uint64_t memory; /* bytes that tables and knots may take */
    size_t entries;  /* of the tables read so far */
} JsonReader;

static ImgstatResult too_large(const char *name, uint64_t bytes, uint64_t memory, ImgstatError *err)
{
    return error_file(err, IMGSTAT_ERR_LIMIT, name,
                      "a transfer that takes about %llu MiB of memory, and %llu are allowed",
                      (unsigned long long)(bytes >> 20), (unsigned long long)(memory >> 20));
}

/* Estimates the memory of json-c for a text: each value is an object. */
static uint64_t parsed_bytes(const char *text, size_t n)
{
    enum { VALUE_BYTES = 72, ARRAY_BYTES = 160, OBJECT_BYTES = 1200 };
    uint64_t bytes = n;
    for (size_t i = 0; i < n; i++)
        bytes += text[i] == ',' || text[i] == ':' ? VALUE_BYTES
                 : text[i] == '['                 ? ARRAY_BYTES
                 : text[i] == '{'                 ? OBJECT_BYTES
                                                  : 0;
    return bytes;
}

static ImgstatResult wrong(const JsonReader *reader, const char *what)
{
    return error_file(reader->err, IMGSTAT_ERR_FORMAT, reader->name,
                      "not a transfer of imgstat: %s", what);
}

static ImgstatResult missing(const JsonReader *reader, const char *key)
{
    return error_file(reader->err, IMGSTAT_ERR_FORMAT, reader->name,
                      "not a transfer of imgstat: \"%s\" is missing or of the wrong type", key);
}

static ImgstatResult member(const JsonReader *reader, json_object *object, const char *key,
                            json_type type, json_object **out)
{
    if (!json_object_is_type(object, json_type_object) ||
        !json_object_object_get_ex(object, key, out) || !json_object_is_type(*out, type))
        return missing(reader, key);
    return IMGSTAT_OK;
}

static ImgstatResult word(const JsonReader *reader, json_object *object, const char *key,
                          const char *const *words, size_t n, unsigned *out)
{
    json_object *text;
    IMGSTAT_TRY(member(reader, object, key, json_type_string, &text));
    for (size_t i = 0; i < n; i++)
        if (strcmp(json_object_get_string(text), words[i]) == 0) {
            *out = (unsigned)i;
            return IMGSTAT_OK;
        }
    return error_file(reader->err, IMGSTAT_ERR_FORMAT, reader->name,
                      "not a transfer of imgstat: unknown %s \"%s\"", key,
                      json_object_get_string(text));
}

static bool finite_number(json_object *object, double *out)
{
    if (!json_object_is_type(object, json_type_int) &&
        !json_object_is_type(object, json_type_double))
        return false;
    *out = json_object_get_double(object);
    return isfinite(*out);
}

/* Finds the key of a number that a sample type holds exactly (floats: the nearest, if finite). */
static bool value_key(json_object *object, ImgstatSample sample, uint64_t *key)
{
    double x;
    if (!finite_number(object, &x))
        return false;
    if (sample_is_float(sample)) {
        *key = map_key(sample, x);
        return !map_undefined(sample, *key);
    }
    if (!json_object_is_type(object, json_type_int))
        return false;
    const uint64_t zero = (uint64_t)1 << (sample_bits(sample) - 1);
    if (sample_is_signed(sample)) {
        const int64_t i = json_object_get_int64(object);
        *key = (uint64_t)i + zero;
        /* json-c saturates its int64_t; its uint64_t has the number */
        return *key <= (zero | (zero - 1)) &&
               (i < 0 || json_object_get_uint64(object) == (uint64_t)i);
    }
    const uint64_t u = json_object_get_uint64(object);
    *key = u;
    return x >= 0 && u <= (zero | (zero - 1));
}

static ImgstatResult read_type(const JsonReader *reader, json_object *root, const char *key,
                               ImgstatSample *sample, uint8_t *bits, json_object **type)
{
    const char *names[IMGSTAT_F64 + 1];
    for (unsigned s = 0; s <= IMGSTAT_F64; s++)
        names[s] = imgstat_sample_name((ImgstatSample)s);
    unsigned index = 0;
    json_object *number;
    IMGSTAT_TRY(member(reader, root, key, json_type_object, type));
    IMGSTAT_TRY(word(reader, *type, "sample", names, IMGSTAT_F64 + 1, &index));
    IMGSTAT_TRY(member(reader, *type, "bits", json_type_int, &number));
    const int64_t n = json_object_get_int64(number);
    *sample = (ImgstatSample)index;
    if (n < 1 || n > (int64_t)sample_bits(*sample))
        return wrong(reader, "\"bits\" do not fit the sample type");
    *bits = (uint8_t)n;
    return IMGSTAT_OK;
}

static ImgstatResult read_pair(const JsonReader *reader, json_object *object, const char *key,
                               ImgstatSample sample, uint64_t *lo, uint64_t *hi)
{
    json_object *pair;
    IMGSTAT_TRY(member(reader, object, key, json_type_array, &pair));
    if (json_object_array_length(pair) != 2 ||
        !value_key(json_object_array_get_idx(pair, 0), sample, lo) ||
        !value_key(json_object_array_get_idx(pair, 1), sample, hi) || *lo > *hi)
        return error_file(reader->err, IMGSTAT_ERR_FORMAT, reader->name,
                          "not a transfer of imgstat: \"%s\" is not two ascending values", key);
    return IMGSTAT_OK;
}

/* Finds the key of an entry. Integers lie in the range; floats matched to floats may lie
 * anywhere. */
static bool entry_key(json_object *object, const MapRange *to, uint64_t *key)
{
    return value_key(object, to->sample, key) &&
           (sample_is_float(to->sample) || (*key >= to->lo_key && *key <= to->hi_key));
}

/* Whether an entry belongs to a sample that passes through. Its output is known, so any value, or
 * null, is valid. */
static bool entry_is_passthrough(json_object *object, const Map *map, uint64_t key)
{
    uint64_t value;
    return !object || (!map_undefined(map->from, key) && value_key(object, map->to.sample, &value));
}

static ImgstatResult read_table(const JsonReader *reader, json_object *values, const Map *map,
                                uint32_t *table)
{
    const uint32_t entries = sample_record_bins(map->from);
    const ImgstatSample to = map->to.sample;
    if (!json_object_is_type(values, json_type_array) ||
        json_object_array_length(values) != entries)
        return wrong(reader, "\"table\" does not have an entry for every level");
    for (uint32_t key = 0; key < entries; key++) {
        json_object *const entry = json_object_array_get_idx(values, key);
        const bool passthrough = map_is_passthrough(map, map->from, key);
        uint64_t value = passthrough ? map_unchanged(map, key) : 0;
        if (passthrough ? !entry_is_passthrough(entry, map, key)
                        : !entry_key(entry, &map->to, &value))
            return wrong(reader, "an entry of \"table\" is not a value of the output");
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
            !value_key(json_object_array_get_idx(knot, 0), map->from, &knots[k].key) ||
            !value_key(json_object_array_get_idx(knot, 1), map->to.sample, &knots[k].before) ||
            !value_key(json_object_array_get_idx(knot, 2), map->to.sample, &knots[k].at))
            return wrong(reader, "a knot is not three values of its types");
        if (k > 0 && knots[k].key <= knots[k - 1].key)
            return wrong(reader, "\"knots\" do not ascend");
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
            return wrong(reader, "a map is none of those known");
        if (!given || !finite_number(value, fields[i]))
            return missing(reader, keys[i]);
    }
    json_object *origin = NULL;
    if (sample_exceeds_double(map->from) &&
        (!json_object_object_get_ex(object, "origin", &origin) ||
         !value_key(origin, map->from, &map->origin)))
        return missing(reader, "origin");
    if (map->divisor < 0 || map->factor < 0)
        return wrong(reader, "\"divisor\" and \"factor\" are deviations: not below 0");
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

static ImgstatResult read_double(const JsonReader *reader, json_object *object, const char *key,
                                 double *out)
{
    json_object *value = NULL;
    return json_object_object_get_ex(object, key, &value) && finite_number(value, out)
               ? IMGSTAT_OK
               : missing(reader, key);
}

/* Reads the parameters that the table of a map was made from. */
static ImgstatResult read_parameters(const JsonReader *reader, json_object *map_object,
                                     ImgstatTransform transform, Map *map)
{
    json_object *object, *black = NULL, *white = NULL;
    IMGSTAT_TRY(member(reader, map_object, "parameters", json_type_object, &object));
    switch (transform) {
    case IMGSTAT_STRETCH:
    case IMGSTAT_PERCENTILE:
        map->kind = MAP_AFFINE;
        if (!json_object_object_get_ex(object, "black", &black) ||
            !json_object_object_get_ex(object, "white", &white) ||
            !value_key(black, map->from, &map->black) || !value_key(white, map->from, &map->white))
            return wrong(reader, "\"black\" and \"white\" are not values of the sample type");
        return IMGSTAT_OK;
    case IMGSTAT_MEANSTD:
        map->kind = MAP_LINEAR;
        IMGSTAT_TRY(read_double(reader, object, "mean", &map->center));
        IMGSTAT_TRY(read_double(reader, object, "stddev", &map->divisor));
        IMGSTAT_TRY(read_double(reader, object, "to_mean", &map->offset));
        return read_double(reader, object, "to_stddev", &map->factor);
    case IMGSTAT_GAMMA:
        map->kind = MAP_POWER;
        return read_double(reader, object, "gamma", &map->factor);
    default:
        return wrong(reader, "a method without parameters has \"parameters\"");
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
        return wrong(reader, "a map is no object");
    if (kinds_of(object) > 1)
        return wrong(reader, "a map is of two kinds");
    if (json_object_object_get_ex(object, "unchanged", &value)) {
        if (!json_object_is_type(value, json_type_boolean) || !json_object_get_boolean(value))
            return wrong(reader, "\"unchanged\" is not true");
        map_unchanged_image(map);
        transfer_unchanged(transfer, map);
        for (size_t key = 0; key < entries; key++)
            transfer->tables[m * entries + key] =
                (uint32_t)sample_raw(map->to.sample, map_sample(map, key));
        return IMGSTAT_OK;
    }
    if (entries) {
        IMGSTAT_TRY(member(reader, object, "table", json_type_array, &value));
        IMGSTAT_TRY(read_table(reader, value, map, transfer->tables + m * entries));
        if (json_object_object_get_ex(object, "parameters", NULL))
            return read_parameters(reader, object, transfer->transform, map);
        transfer->has_parameters =
            false; /* formulas of other programs, and files without parameters */
        return IMGSTAT_OK;
    }
    if (json_object_object_get_ex(object, "between", &value)) {
        map->kind = MAP_AFFINE;
        IMGSTAT_TRY(read_pair(reader, object, "between", map->from, &map->black, &map->white));
        return map->black < map->white ? IMGSTAT_OK
                                       : wrong(reader, "\"between\" is one value twice");
    }
    if (json_object_object_get_ex(object, "gamma", &value)) {
        map->kind = MAP_POWER;
        map->black = map->full_lo;
        map->white = map->full_hi;
        return finite_number(value, &map->factor) && map->factor > 0
                   ? IMGSTAT_OK
                   : wrong(reader, "\"gamma\" is not above 0");
    }
    if (json_object_object_get_ex(object, "knots", &value)) {
        if (!json_object_is_type(value, json_type_array) || json_object_array_length(value) == 0 ||
            json_object_array_length(value) > RANK_STEPS + 1)
            return wrong(reader, "\"knots\" are none, or too many");
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

static ImgstatResult read_maps(const JsonReader *reader, json_object *maps, Transfer *transfer)
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

/* Reads one transfer: all members of a file but its version, or one of a set. */
static ImgstatResult read_members(JsonReader *reader, json_object *root, Transfer **out)
{
    json_object *object, *maps, *luma, *nodata = NULL;
    unsigned transform = 0, like = 0;
    ImgstatSample from;
    uint8_t from_bits, to_bits;
    MapRange range = {0};
    IMGSTAT_TRY(word(reader, root, "method", transfer_transform_names, IMGSTAT_CLAHE,
                     &transform)); /* CLAHE cannot be saved */
    IMGSTAT_TRY(word(reader, root, "like", transfer_like_names, IMGSTAT_LIKE_VIPS + 1, &like));
    IMGSTAT_TRY(member(reader, root, "luma", json_type_boolean, &luma));
    IMGSTAT_TRY(read_type(reader, root, "from", &from, &from_bits, &object));
    IMGSTAT_TRY(read_type(reader, root, "to", &range.sample, &to_bits, &object));
    IMGSTAT_TRY(read_pair(reader, object, "range", range.sample, &range.lo_key, &range.hi_key));
    uint64_t full_lo, full_hi;
    sample_full_scale(range.sample, to_bits, &full_lo, &full_hi);
    if (!sample_is_float(range.sample) && (range.lo_key < full_lo || range.hi_key > full_hi))
        return wrong(reader, "\"range\" is not within the bits of the output");
    uint64_t nodata_key = 0;
    const bool has_nodata = json_object_object_get_ex(root, "nodata", &nodata);
    if (has_nodata && !value_key(nodata, from, &nodata_key))
        return wrong(reader, "\"nodata\" is not a value of the sample type");
    range_set_nodata(&range, from, has_nodata, nodata_key);
    IMGSTAT_TRY(member(reader, root, "maps", json_type_array, &maps));
    const size_t n_maps = json_object_array_length(maps);
    const bool is_luma = json_object_get_boolean(luma);
    if (n_maps == 0 || n_maps > UINT16_MAX || (is_luma && n_maps != 1))
        return wrong(reader, "the number of \"maps\" is wrong");
    if (sample_is_narrow(from)) {
        if (sample_bits(range.sample) > TABLE_BITS)
            return wrong(reader, "a \"table\" holds no samples of 64 bits");
        reader->entries += n_maps * sample_record_bins(from);
        /* A map that changes nothing is short in the file but has as many entries as any other. */
        if (reader->entries > reader->memory / sizeof(uint32_t))
            return too_large(reader->name, reader->entries * sizeof(uint32_t), reader->memory,
                             reader->err);
    }
    Transfer *transfer;
    IMGSTAT_TRY(transfer_begin(NULL, from, from_bits, &range, to_bits, (uint16_t)n_maps, has_nodata,
                               nodata_key, is_luma, &transfer, reader->err));
    transfer->transform = (ImgstatTransform)transform;
    transfer->like = (ImgstatLike)like;
    transfer->has_parameters = true;
    const ImgstatResult result = read_maps(reader, maps, transfer);
    if (result != IMGSTAT_OK) {
        transfer_destroy(transfer);
        return result;
    }
    transfer_prepare(NULL, transfer);
    *out = transfer;
    return IMGSTAT_OK;
}

/* Reads which images of a set a transfer is for. */
static ImgstatResult read_channel(const JsonReader *reader, json_object *root, TransferChannel *out)
{
    json_object *channel, *c, *name = NULL;
    *out = (TransferChannel){.known = false};
    if (!json_object_object_get_ex(root, "channel", &channel))
        return IMGSTAT_OK;
    IMGSTAT_TRY(member(reader, root, "channel", json_type_object, &channel));
    IMGSTAT_TRY(member(reader, channel, "c", json_type_int, &c));
    const int64_t place = json_object_get_int64(c);
    if (place < 0 || place > UINT32_MAX)
        return wrong(reader, "\"c\" is no place of a channel");
    if (json_object_object_get_ex(channel, "name", &name))
        IMGSTAT_TRY(member(reader, channel, "name", json_type_string, &name));
    out->known = true;
    out->c = (uint32_t)place;
    out->name = name ? json_object_get_string(name) : NULL;
    return IMGSTAT_OK;
}

/* Whether a set already has a transfer for the same images. */
static bool has_alike(const Transfer *set, const TransferChannel *channel, const Transfer *one)
{
    for (; set; set = set->next)
        if (transfer_channel_same(&set->channel, channel) && set->from == one->from &&
            set->from_bits == one->from_bits)
            return true;
    return false;
}

static ImgstatResult read_set(JsonReader *reader, json_object *root, Transfer **out)
{
    enum { MOST = 4096 }; /* each transfer is compared with all others */
    json_object *list;
    IMGSTAT_TRY(member(reader, root, "transfers", json_type_array, &list));
    const size_t n = json_object_array_length(list);
    if (n == 0 || n > MOST)
        return wrong(reader, "the number of \"transfers\" is wrong");
    for (size_t i = 0; i < n; i++) {
        json_object *const object = json_object_array_get_idx(list, i);
        TransferChannel channel;
        Transfer *one = NULL;
        if (!json_object_is_type(object, json_type_object))
            return wrong(reader, "one of the \"transfers\" is no object");
        IMGSTAT_TRY(read_channel(reader, object, &channel));
        IMGSTAT_TRY(read_members(reader, object, &one));
        const bool alike = has_alike(*out, &channel, one);
        IMGSTAT_TRY(transfer_set_add(out, one, &channel, reader->err));
        if (alike)
            return wrong(reader, "two \"transfers\" are for the same images");
    }
    return IMGSTAT_OK;
}

static ImgstatResult read_root(JsonReader *reader, json_object *root, Transfer **out)
{
    json_object *version;
    IMGSTAT_TRY(member(reader, root, "imgstat_transfer", json_type_int, &version));
    const int64_t number = json_object_get_int64(version);
    if (number == TRANSFER_VERSION)
        return read_members(reader, root, out);
    if (number != TRANSFER_SET_VERSION)
        return error_file(reader->err, IMGSTAT_ERR_UNSUPPORTED, reader->name,
                          "a transfer of version %lld; this is version %d", (long long)number,
                          TRANSFER_SET_VERSION);
    const ImgstatResult res = read_set(reader, root, out);
    if (res != IMGSTAT_OK) {
        transfer_destroy(*out);
        *out = NULL;
    }
    return res;
}

ImgstatResult transfer_from_json(const char *text, size_t bytes, const char *name, uint64_t memory,
                                 Transfer **out, ImgstatError *err)
{
    *out = NULL;
    JsonReader reader = {.name = name, .memory = memory ? memory : TRANSFER_MEMORY, .err = err};
    if (bytes > TRANSFER_MAX_BYTES)
        return error_file(err, IMGSTAT_ERR_LIMIT, name, "%zu bytes are more than a transfer has",
                          bytes);
    if (parsed_bytes(text, bytes) > reader.memory)
        return too_large(name, parsed_bytes(text, bytes), reader.memory, err);
    struct json_tokener *const tokener = json_tokener_new_ex(MAX_DEPTH);
    if (!tokener)
        return error_memory(err, bytes, "a transfer");
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
    json_object *root = json_tokener_parse_ex(tokener, text, (int)bytes);
    const enum json_tokener_error parsed = json_tokener_get_error(tokener);
    size_t end = json_tokener_get_parse_end(tokener);
    while (end < bytes && strchr(" \t\r\n", text[end]) && text[end])
        end++;
    const bool is_json = parsed == json_tokener_success && end == bytes;
    const char *const too_long = is_json ? json_find_too_long(text, text + bytes) : NULL;
    ImgstatResult result;
    if (!is_json)
        result = error_file(err, IMGSTAT_ERR_FORMAT, name,
                            "not a transfer of imgstat: no JSON text at byte %zu", end);
    else if (too_long)
        result = error_file(err, IMGSTAT_ERR_FORMAT, name,
                            "not a transfer of imgstat: the whole number at byte %zu is beyond "
                            "64 bits",
                            (size_t)(too_long - text));
    else
        result = read_root(&reader, root, out);
    json_object_put(root);
    json_tokener_free(tokener);
    return result;
}
