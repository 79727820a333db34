/* SPDX-License-Identifier: MIT */
/* json_line.c: values and lines of JSON, made with json-c; numbers are written exactly, by
 * text.c. */
#include "text/json_line.h"
#include "text/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What json-c made. */
static json_object *made(json_object *object)
{
    if (object == NULL)
        text_no_memory();
    return object;
}

json_object *line_object(void)
{
    return made(json_object_new_object());
}

json_object *line_array(void)
{
    return made(json_object_new_array());
}

void line_add(json_object *object, const char *key, json_object *value)
{
    if (json_object_object_add(object, key, value) != 0)
        text_no_memory();
}

void line_append(json_object *array, json_object *value)
{
    if (json_object_array_add(array, value) != 0)
        text_no_memory();
}

json_object *line_string(const char *bytes)
{
    if (bytes == NULL)
        return line_raw("null");
    char *const utf8 = text_utf8(bytes);
    json_object *const string = made(json_object_new_string(utf8));
    free(utf8);
    return string;
}

json_object *line_raw(const char *text)
{
    return made(json_object_new_double_s(0, text));
}

json_object *line_count(uint64_t value)
{
    return value == IMGSTAT_COUNT_UNKNOWN ? line_raw("null") : made(json_object_new_uint64(value));
}

json_object *line_real(double value)
{
    char text[TEXT_NUMBER];
    text_real(text, value);
    return line_raw(text);
}

json_object *line_value(ImgstatValue value, bool defined)
{
    char text[TEXT_NUMBER] = "null";
    if (defined)
        text_value(text, value);
    return line_raw(text);
}

json_object *line_nodata(ImgstatValue value)
{
    const double x = imgstat_value_double(value);
    if (isfinite(x))
        return line_value(value, true);
    return line_string(isnan(x) ? "NaN" : x > 0 ? "Infinity" : "-Infinity");
}

/* Bytes as JSON: those of UTF-8 stay. */
static void put_string(FILE *out, const char *text, size_t n)
{
    static const char plain[] = "\b\t\n\f\r\"\\", letter[] = "btnfr\"\\";
    fputc('"', out);
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)text[i];
        const char *const at = c != '\0' ? strchr(plain, c) : NULL;
        if (at != NULL)
            fprintf(out, "\\%c", letter[at - plain]);
        else if (c < ' ')
            fprintf(out, "\\u%04x", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
}

static void put(FILE *out, json_object *value);

static void put_members(FILE *out, json_object *object)
{
    char before = '{';
    json_object_object_foreach(object, key, value)
    {
        fputc(before, out);
        put_string(out, key, strlen(key));
        fputc(':', out);
        put(out, value);
        before = ',';
    }
    fputs(before == '{' ? "{}" : "}", out);
}

static void put_items(FILE *out, json_object *array)
{
    const size_t n = json_object_array_length(array);
    fputc('[', out);
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            fputc(',', out);
        put(out, json_object_array_get_idx(array, i));
    }
    fputc(']', out);
}

/* json-c's own texts silently lose what they have no memory for. */
static void put(FILE *out, json_object *value)
{
    switch (json_object_get_type(value)) {
    case json_type_object:
        put_members(out, value);
        break;
    case json_type_array:
        put_items(out, value);
        break;
    case json_type_string:
        put_string(out, json_object_get_string(value), (size_t)json_object_get_string_len(value));
        break;
    case json_type_double: /* of line_raw */
        fputs(json_object_get_userdata(value), out);
        break;
    case json_type_boolean:
        fputs(json_object_get_boolean(value) ? "true" : "false", out);
        break;
    case json_type_int:
        fprintf(out, "%" PRIu64, json_object_get_uint64(value));
        break;
    case json_type_null:
        fputs("null", out);
    }
}

void line_print(FILE *out, json_object *object)
{
    put(out, object);
    fputc('\n', out);
    json_object_put(object);
}

json_object *line_sentences(const Sentences *list)
{
    json_object *const array = line_array();
    for (size_t i = 0; i < list->n; i++)
        line_append(array, line_string(list->items[i]));
    return array;
}

json_object *line_boolean(bool value)
{
    return made(json_object_new_boolean(value));
}
