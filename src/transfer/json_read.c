/* SPDX-License-Identifier: MIT */
/* json_read.c: transfers from JSON text, every member checked. */
#include "transfer/json.h"

#include "transfer/json_value.h"

#include <string.h>

enum {
    MAX_DEPTH = 10,
    TABLE_BITS = 32 /* of an entry of Transfer's tables */
};

static const char *string_end(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        at += *at == '\\';
    return at;
}

/* Finds a whole number that neither an int64_t nor a uint64_t holds: json-c would make the nearest
 * of them out of it. Returns NULL if there is none. */
static const char *find_too_long(const char *at, const char *end)
{
    for (; at < end; at++) {
        if (*at == '"') {
            at = string_end(at, end);
            continue;
        }
        if (*at != '-' && !(*at >= '0' && *at <= '9'))
            continue;
        const char *const start = at;
        const uint64_t most = *at == '-' ? (uint64_t)INT64_MAX + 1 : UINT64_MAX;
        uint64_t n = 0;
        bool whole = true, fits = true;
        for (at += *at == '-'; at < end && memchr("0123456789+-.eE", *at, 15); at++) {
            const unsigned digit = (unsigned)(*at - '0');
            whole = whole && digit <= 9;
            fits = fits && (digit > 9 || n <= (most - digit) / 10);
            n = 10 * n + digit;
        }
        if (whole && !fits)
            return start;
        at--;
    }
    return NULL;
}

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

static ImgstatResult word(const JsonReader *reader, json_object *object, const char *key,
                          const char *const *words, size_t n, unsigned *out)
{
    json_object *text;
    IMGSTAT_TRY(json_member(reader, object, key, json_type_string, &text));
    for (size_t i = 0; i < n; i++)
        if (strcmp(json_object_get_string(text), words[i]) == 0) {
            *out = (unsigned)i;
            return IMGSTAT_OK;
        }
    return error_file(reader->err, IMGSTAT_ERR_FORMAT, reader->name,
                      "not a transfer of imgstat: unknown %s \"%s\"", key,
                      json_object_get_string(text));
}

static ImgstatResult read_type(const JsonReader *reader, json_object *root, const char *key,
                               ImgstatSample *sample, uint8_t *bits, json_object **type)
{
    const char *names[IMGSTAT_F64 + 1];
    for (unsigned s = 0; s <= IMGSTAT_F64; s++)
        names[s] = imgstat_sample_name((ImgstatSample)s);
    unsigned index = 0;
    json_object *number;
    IMGSTAT_TRY(json_member(reader, root, key, json_type_object, type));
    IMGSTAT_TRY(word(reader, *type, "sample", names, IMGSTAT_F64 + 1, &index));
    IMGSTAT_TRY(json_member(reader, *type, "bits", json_type_int, &number));
    const int64_t n = json_object_get_int64(number);
    *sample = (ImgstatSample)index;
    if (n < 1 || n > (int64_t)sample_bits(*sample))
        return json_wrong(reader, "\"bits\" do not fit the sample type");
    *bits = (uint8_t)n;
    return IMGSTAT_OK;
}

/* Reads what undefined samples become. Floats may become NaN or infinite. */
static bool read_hole(json_object *object, ImgstatSample sample, uint64_t *key)
{
    if (!sample_is_float(sample) || !json_object_is_type(object, json_type_string))
        return json_value_key(object, sample, key);
    const char *const text = json_object_get_string(object);
    const bool negative = text[0] == '-', is_nan = strcmp(text, "NaN") == 0;
    *key = is_nan ? sample_key_nan(sample) : sample_key_infinity(sample, negative);
    return is_nan || strcmp(text + negative, "Infinity") == 0;
}

/* Reads one transfer: all members of a file but its version, or one of a set. */
static ImgstatResult read_members(JsonReader *reader, json_object *root, Transfer **out)
{
    json_object *object, *maps, *luma, *nodata = NULL, *hole = NULL;
    unsigned transform = 0, like = 0;
    ImgstatSample from;
    uint8_t from_bits, to_bits;
    MapRange range = {0};
    IMGSTAT_TRY(word(reader, root, "method", transfer_transform_names, IMGSTAT_CLAHE,
                     &transform)); /* CLAHE cannot be saved */
    IMGSTAT_TRY(word(reader, root, "like", transfer_like_names, IMGSTAT_LIKE_VIPS + 1, &like));
    IMGSTAT_TRY(json_member(reader, root, "luma", json_type_boolean, &luma));
    IMGSTAT_TRY(read_type(reader, root, "from", &from, &from_bits, &object));
    IMGSTAT_TRY(read_type(reader, root, "to", &range.sample, &to_bits, &object));
    IMGSTAT_TRY(json_pair(reader, object, "range", range.sample, &range.lo_key, &range.hi_key));
    uint64_t full_lo, full_hi;
    sample_full_scale(range.sample, to_bits, &full_lo, &full_hi);
    if (!sample_is_float(range.sample) && (range.lo_key < full_lo || range.hi_key > full_hi))
        return json_wrong(reader, "\"range\" is not within the bits of the output");
    uint64_t nodata_key = 0, hole_key = 0;
    const bool has_hole = json_object_object_get_ex(object, "nodata", &hole);
    if (has_hole && !read_hole(hole, range.sample, &hole_key))
        return json_wrong(reader, "\"nodata\" is not a value of the output");
    const bool has_nodata = json_object_object_get_ex(root, "nodata", &nodata);
    if (has_nodata && !json_value_key(nodata, from, &nodata_key))
        return json_wrong(reader, "\"nodata\" is not a value of the sample type");
    if (has_hole)
        range_set_hole(&range, hole_key);
    else
        range_set_nodata(&range, from, has_nodata, nodata_key);
    IMGSTAT_TRY(json_member(reader, root, "maps", json_type_array, &maps));
    const size_t n_maps = json_object_array_length(maps);
    const bool is_luma = json_object_get_boolean(luma);
    if (n_maps == 0 || n_maps > UINT16_MAX || (is_luma && n_maps != 1))
        return json_wrong(reader, "the number of \"maps\" is wrong");
    if (sample_is_narrow(from)) {
        if (sample_bits(range.sample) > TABLE_BITS)
            return json_wrong(reader, "a \"table\" holds no samples of 64 bits");
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
    transfer->has_hole = has_hole;
    transfer->hole_key = hole_key;
    const ImgstatResult result = json_read_maps(reader, maps, transfer);
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
    IMGSTAT_TRY(json_member(reader, root, "channel", json_type_object, &channel));
    IMGSTAT_TRY(json_member(reader, channel, "c", json_type_int, &c));
    const int64_t place = json_object_get_int64(c);
    if (place < 0 || place > UINT32_MAX)
        return json_wrong(reader, "\"c\" is no place of a channel");
    if (json_object_object_get_ex(channel, "name", &name))
        IMGSTAT_TRY(json_member(reader, channel, "name", json_type_string, &name));
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
    IMGSTAT_TRY(json_member(reader, root, "transfers", json_type_array, &list));
    const size_t n = json_object_array_length(list);
    if (n == 0 || n > MOST)
        return json_wrong(reader, "the number of \"transfers\" is wrong");
    for (size_t i = 0; i < n; i++) {
        json_object *const object = json_object_array_get_idx(list, i);
        TransferChannel channel;
        Transfer *one = NULL;
        if (!json_object_is_type(object, json_type_object))
            return json_wrong(reader, "one of the \"transfers\" is no object");
        IMGSTAT_TRY(read_channel(reader, object, &channel));
        IMGSTAT_TRY(read_members(reader, object, &one));
        const bool alike = has_alike(*out, &channel, one);
        IMGSTAT_TRY(transfer_set_add(out, one, &channel, reader->err));
        if (alike)
            return json_wrong(reader, "two \"transfers\" are for the same images");
    }
    return IMGSTAT_OK;
}

static ImgstatResult read_root(JsonReader *reader, json_object *root, Transfer **out)
{
    json_object *version;
    IMGSTAT_TRY(json_member(reader, root, "imgstat_transfer", json_type_int, &version));
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
    const char *const too_long = is_json ? find_too_long(text, text + bytes) : NULL;
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
