/* SPDX-License-Identifier: MIT */
/* any_transfers: pairs of values of a transfer, whatever json-c returns. */
#include "any.h"

#include "transfer/json_value.c"

/* CBMC: --unwind 6 */

/* ---- json-c: anything that it may return ---- */

int json_object_is_type(const json_object *object, json_type type)
{
    (void)object, (void)type;
    return (int)any(2);
}

json_bool json_object_object_get_ex(const json_object *object, const char *key, json_object **value)
{
    static char some;
    (void)object, (void)key;
    *value = (json_object *)(void *)(any(2) ? &some : NULL);
    return (json_bool)any(2);
}

size_t json_object_array_length(const json_object *object)
{
    (void)object;
    return any(UINT32_MAX);
}

json_object *json_object_array_get_idx(const json_object *object, size_t i)
{
    static char some;
    (void)object, (void)i;
    return (json_object *)(void *)(any(2) ? &some : NULL);
}

double json_object_get_double(const json_object *object)
{
    double x;
    (void)object;
    return x;
}

int64_t json_object_get_int64(const json_object *object)
{
    int64_t i;
    (void)object;
    return i;
}

uint64_t json_object_get_uint64(const json_object *object)
{
    uint64_t u;
    (void)object;
    return u;
}

ImgstatResult error_file(ImgstatError *err, ImgstatResult result, const char *name,
                         const char *format, ...)
{
    (void)err, (void)name, (void)format;
    return result;
}

void prove(void)
{
    static char some;
    const JsonReader reader = {.name = "a"};
    const ImgstatSample samples[] = {IMGSTAT_U8, IMGSTAT_I16, IMGSTAT_U32, IMGSTAT_I64,
                                     IMGSTAT_U64};
    const ImgstatSample sample = samples[any(5)];
    uint64_t lo, hi;
    if (json_pair(&reader, (json_object *)(void *)&some, "a", sample, &lo, &hi) == IMGSTAT_OK)
        demand(lo <= hi && hi <= UINT64_MAX >> (64 - sample_bits(sample)),
               "a value that its type has not");
}
