/* SPDX-License-Identifier: MIT */
/* json_write.c: writes transfers as JSON text; docs/transforms.md has the schema. */
#include "transfer/json.h"

#include "base/text_buffer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- JSON ---- */

/* Puts a comma, unless this is the first item of an object or an array, or the value of a key. */
static void separate(TextBuffer *text)
{
    if (text->n > 0 && !strchr("{[:", text->data[text->n - 1]))
        text_add(text, ",", 1);
}

static void put_key(TextBuffer *text, const char *key)
{
    separate(text);
    text_print(text, "\"%s\":", key);
}

/* Opens an object or an array, by its bracket. */
static void open_key(TextBuffer *text, const char *key, char bracket)
{
    put_key(text, key);
    text_add(text, &bracket, 1);
}

static void put_close(TextBuffer *text, char bracket)
{
    text_add(text, &bracket, 1);
}

/* Puts a real number, with a point or an exponent. */
static void put_real(TextBuffer *text, double value)
{
    char number[40];
    separate(text);
    if (!isfinite(value)) {
        text_print(text, isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
        return;
    }
    snprintf(number, sizeof number, "%.17g", value);
    text_plain_number(number);
    text_print(text, "%s%s", number, strpbrk(number, ".e") ? "" : ".0");
}

static void put_key_real(TextBuffer *text, const char *key, double value)
{
    put_key(text, key);
    put_real(text, value);
}

static void put_key_count(TextBuffer *text, const char *key, uint64_t value)
{
    put_key(text, key);
    text_print(text, "%" PRIu64, value);
}

static void put_key_string(TextBuffer *text, const char *key, const char *value)
{
    put_key(text, key);
    text_add(text, "\"", 1);
    for (const char *at = value; *at; at++) {
        if ((unsigned char)*at < ' ')
            text_print(text, "\\u%04x", *at);
        else if (*at == '"' || *at == '\\')
            text_print(text, "\\%c", *at);
        else
            text_add(text, at, 1);
    }
    text_add(text, "\"", 1);
}

/* ---- Transfers ---- */

static void put_value(TextBuffer *text, ImgstatSample sample, uint64_t key)
{
    if (sample_is_float(sample) && !map_undefined(sample, key)) {
        put_real(text, map_value(sample, key));
        return;
    }
    separate(text);
    if (map_undefined(sample, key))
        text_print(text, "null");
    else if (sample_is_signed(sample))
        text_print(text, "%" PRId64, (int64_t)(key - ((uint64_t)1 << (sample_bits(sample) - 1))));
    else
        text_print(text, "%" PRIu64, sample_raw(sample, key));
}

static void put_key_value(TextBuffer *text, const char *key, ImgstatSample sample, uint64_t value)
{
    put_key(text, key);
    put_value(text, sample, value);
}

static void put_type(TextBuffer *text, ImgstatSample sample, uint8_t bits)
{
    put_key_string(text, "sample", imgstat_sample_name(sample));
    put_key_count(text, "bits", bits ? bits : sample_bits(sample));
}

static void put_pair(TextBuffer *text, const char *key, ImgstatSample sample, uint64_t lo,
                     uint64_t hi)
{
    open_key(text, key, '[');
    put_value(text, sample, lo);
    put_value(text, sample, hi);
    put_close(text, ']');
}

static void put_table(TextBuffer *text, const Transfer *transfer, const uint32_t *table)
{
    const uint32_t entries = sample_record_bins(transfer->from);
    const ImgstatSample to = transfer->range.sample;
    open_key(text, "table", '[');
    for (uint32_t key = 0; key < entries; key++) {
        if (map_undefined(transfer->from, key)) {
            separate(text);
            text_print(text, "null");
        } else {
            put_value(text, to, sample_key(to, table[key]));
        }
    }
    put_close(text, ']');
}

static void put_knots(TextBuffer *text, const Map *map)
{
    open_key(text, "knots", '[');
    for (uint32_t k = 0; k < map->n_knots; k++) {
        separate(text);
        text_add(text, "[", 1);
        put_value(text, map->from, map->knots[k].key);
        put_value(text, map->to.sample, map->knots[k].before);
        put_value(text, map->to.sample, map->knots[k].at);
        put_close(text, ']');
    }
    put_close(text, ']');
}

/* Whether the numbers that a map was made from are known; some have none. */
static bool has_parameters(const Transfer *transfer, const Map *map)
{
    return (!sample_is_narrow(map->from) || transfer->has_parameters) &&
           (map->kind == MAP_AFFINE || map->kind == MAP_LINEAR || map->kind == MAP_POWER);
}

/* Puts a black or white: `part` above a key. */
static void put_key_level(TextBuffer *text, const char *key, ImgstatSample sample, uint64_t value,
                          double part)
{
    if (part > 0)
        put_key_real(text, key, (double)value + part);
    else
        put_key_value(text, key, sample, value);
}

/* Puts the parameters of a map. */
static void put_parameters(TextBuffer *text, const Map *map)
{
    if (map->kind == MAP_AFFINE) {
        put_key_level(text, "black", map->from, map->black, map->black_part);
        put_key_level(text, "white", map->from, map->white, map->white_part);
    } else if (map->kind == MAP_POWER) {
        put_key_real(text, "gamma", map->factor);
    } else {
        const double origin =
            sample_exceeds_double(map->from) ? map_value(map->from, map->origin) : 0.0;
        put_key_real(text, "mean", origin + map->center);
        put_key_real(text, "stddev", map->divisor);
        put_key_real(text, "to_mean", map->offset);
        put_key_real(text, "to_stddev", map->factor);
    }
}

/* Puts the members of a map as it is saved. */
static void put_map(TextBuffer *text, const Transfer *transfer, uint16_t m)
{
    const Map *const map = &transfer->maps[m];
    if (sample_is_narrow(transfer->from)) {
        const size_t entries = sample_record_bins(transfer->from);
        put_table(text, transfer, transfer->tables + m * entries);
        if (has_parameters(transfer, map)) {
            open_key(text, "parameters", '{');
            put_parameters(text, map);
            put_close(text, '}');
        }
        return;
    }
    switch (map->kind) {
    case MAP_AFFINE:
        put_pair(text, "between", map->from, map->black, map->white);
        break;
    case MAP_POWER:
        put_key_real(text, "gamma", map->factor);
        break;
    case MAP_KNOTS:
        put_knots(text, map);
        break;
    default: /* MAP_LINEAR; counts belong to narrow types */
        if (sample_exceeds_double(map->from))
            put_key_value(text, "origin", map->from, map->origin);
        put_key_real(text, "center", map->center);
        put_key_real(text, "divisor", map->divisor);
        put_key_real(text, "factor", map->factor);
        put_key_real(text, "offset", map->offset);
    }
}

/* Puts the members of a map as it is described. */
static void put_map_described(TextBuffer *text, const Transfer *transfer, uint16_t m)
{
    const Map *const map = &transfer->maps[m];
    if (has_parameters(transfer, map))
        put_parameters(text, map);
}

typedef void PutMap(TextBuffer *text, const Transfer *transfer, uint16_t m);

static void put_maps(TextBuffer *text, const Transfer *transfer, PutMap *put)
{
    open_key(text, "maps", '[');
    for (uint16_t m = 0; m < transfer->n_maps; m++) {
        separate(text);
        text_add(text, "{", 1);
        if (transfer->maps[m].passthrough)
            text_print(text, "\"unchanged\":true");
        else
            put(text, transfer, m);
        put_close(text, '}');
    }
    put_close(text, ']');
}

/* Puts what undefined samples become. */
static void put_hole(TextBuffer *text, ImgstatSample sample, uint64_t key)
{
    if (!map_undefined(sample, key))
        put_key_value(text, "nodata", sample, key);
    else
        put_key_string(text, "nodata",
                       key == sample_key_infinity(sample, false)  ? "Infinity"
                       : key == sample_key_infinity(sample, true) ? "-Infinity"
                                                                  : "NaN");
}

/* Puts all members of a transfer, each map as `put` does. */
static void put_members(TextBuffer *text, const Transfer *transfer, PutMap *put)
{
    const ImgstatSample to = transfer->range.sample;
    if (transfer->channel.known) { /* of a set: the channel that it is for */
        open_key(text, "channel", '{');
        put_key_count(text, "c", transfer->channel.c);
        if (transfer->channel.name)
            put_key_string(text, "name", transfer->channel.name);
        put_close(text, '}');
    }
    put_key_string(text, "method", transfer_transform_names[transfer->transform]);
    put_key_string(text, "like", transfer_like_names[transfer->like]);
    put_key(text, "luma");
    text_print(text, transfer->luma ? "true" : "false");
    open_key(text, "from", '{');
    put_type(text, transfer->from, transfer->from_bits);
    put_close(text, '}');
    open_key(text, "to", '{');
    put_type(text, to, transfer->to_bits);
    put_pair(text, "range", to, transfer->range.lo_key, transfer->range.hi_key);
    if (transfer->has_hole)
        put_hole(text, to, transfer->hole_key);
    put_close(text, '}');
    /* Luma may have any value, so its map ignores nodata. An infinity passes anyway. */
    const uint64_t nodata = transfer->passthrough.nodata_key;
    if (transfer->passthrough.has_nodata && !map_undefined(transfer->from, nodata))
        put_key_value(text, "nodata", transfer->from, nodata);
    put_maps(text, transfer, put);
}

/* Puts a transfer, or all of a set. */
static void put_all(TextBuffer *text, const Transfer *set, PutMap *put)
{
    if (!set->next) {
        put_members(text, set, put);
        return;
    }
    open_key(text, "transfers", '[');
    for (; set; set = set->next) {
        separate(text);
        text_add(text, "{", 1);
        put_members(text, set, put);
        put_close(text, '}');
    }
    put_close(text, ']');
}

/* Ends a text, which the caller frees. Returns NULL on allocation failure. */
static char *end_text(TextBuffer *text, ImgstatError *err)
{
    put_close(text, '}');
    if (!text->failed)
        return text->data;
    (void)!error_memory(err, text->n, "the text of a transfer");
    text_release(text);
    return NULL;
}

static TextBuffer begin_text(void)
{
    TextBuffer text = {.data = NULL};
    text_add(&text, "{", 1);
    return text;
}

char *transfer_to_json(const Transfer *transfer, ImgstatError *err)
{
    TextBuffer text = begin_text();
    put_key_count(&text, "imgstat_transfer",
                  transfer->next ? TRANSFER_SET_VERSION : TRANSFER_VERSION);
    put_all(&text, transfer, put_map);
    return end_text(&text, err);
}

char *transfer_describe(const Transfer *transfer, ImgstatError *err)
{
    TextBuffer text = begin_text();
    put_members(&text, transfer, put_map_described);
    return end_text(&text, err);
}

char *transfer_describe_set(const Transfer *set, ImgstatError *err)
{
    TextBuffer text = begin_text();
    put_all(&text, set, put_map_described);
    return end_text(&text, err);
}

char *transfer_describe_clahe(const ImgstatMethod *method, ImgstatError *err)
{
    const double usual = method->like == IMGSTAT_LIKE_OPENCV ? 40.0 : 0.01;
    TextBuffer text = begin_text();
    put_key_string(&text, "method", transfer_transform_names[IMGSTAT_CLAHE]);
    put_key_string(&text, "like", transfer_like_names[method->like]);
    open_key(&text, "grid", '[');
    text_print(&text, "%u,%u", method->tiles_x ? method->tiles_x : 8,
               method->tiles_y ? method->tiles_y : 8);
    put_close(&text, ']');
    put_key_real(&text, "clip_limit", method->clip_limit > 0 ? method->clip_limit : usual);
    return end_text(&text, err);
}

/* Copies as much of a text as fits, frees the text and returns its length; 0 for NULL. */
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
