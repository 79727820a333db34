/* SPDX-License-Identifier: MIT */
/* json_value.c: members and numbers of a transfer's JSON text, checked. */
#include "transfer/json_value.h"

#include "transfer/map.h"

#include <math.h>

ImgstatResult json_wrong(const JsonReader *reader, const char *what)
{
    return error_file(reader->err, IMGSTAT_ERR_FORMAT, reader->name,
                      "not a transfer of imgstat: %s", what);
}

ImgstatResult json_missing(const JsonReader *reader, const char *key)
{
    return error_file(reader->err, IMGSTAT_ERR_FORMAT, reader->name,
                      "not a transfer of imgstat: \"%s\" is missing or of the wrong type", key);
}

ImgstatResult json_member(const JsonReader *reader, json_object *object, const char *key,
                          json_type type, json_object **out)
{
    if (!json_object_is_type(object, json_type_object) ||
        !json_object_object_get_ex(object, key, out) || !json_object_is_type(*out, type))
        return json_missing(reader, key);
    return IMGSTAT_OK;
}

bool json_finite(json_object *object, double *out)
{
    if (!json_object_is_type(object, json_type_int) &&
        !json_object_is_type(object, json_type_double))
        return false;
    *out = json_object_get_double(object);
    return isfinite(*out);
}

bool json_value_key(json_object *object, ImgstatSample sample, uint64_t *key)
{
    double x;
    if (!json_finite(object, &x))
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

ImgstatResult json_pair(const JsonReader *reader, json_object *object, const char *key,
                        ImgstatSample sample, uint64_t *lo, uint64_t *hi)
{
    json_object *pair;
    IMGSTAT_TRY(json_member(reader, object, key, json_type_array, &pair));
    if (json_object_array_length(pair) != 2 ||
        !json_value_key(json_object_array_get_idx(pair, 0), sample, lo) ||
        !json_value_key(json_object_array_get_idx(pair, 1), sample, hi) || *lo > *hi)
        return error_file(reader->err, IMGSTAT_ERR_FORMAT, reader->name,
                          "not a transfer of imgstat: \"%s\" is not two ascending values", key);
    return IMGSTAT_OK;
}

ImgstatResult json_double(const JsonReader *reader, json_object *object, const char *key,
                          double *out)
{
    json_object *value = NULL;
    return json_object_object_get_ex(object, key, &value) && json_finite(value, out)
               ? IMGSTAT_OK
               : json_missing(reader, key);
}
