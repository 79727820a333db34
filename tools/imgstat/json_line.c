/* SPDX-License-Identifier: MIT */
/* json_line.c: values and lines of JSON, made with json-c; numbers are written exactly, by
 * text.c. */
#include "json_line.h"
#include "text.h"

#include <stdlib.h>

void line_check(const void *object)
{
    if (object == NULL)
        text_no_memory();
}

void line_add(json_object *object, const char *key, json_object *value)
{
    if (json_object_object_add(object, key, value) != 0)
        line_check(NULL);
}

json_object *line_string(const char *bytes)
{
    char *const utf8 = text_utf8(bytes);
    json_object *const string = json_object_new_string(utf8);
    free(utf8);
    line_check(string);
    return string;
}

json_object *line_raw(const char *text)
{
    json_object *const raw = json_object_new_double_s(0, text);
    line_check(raw);
    return raw;
}

json_object *line_count(uint64_t value)
{
    json_object *const count = json_object_new_uint64(value);
    line_check(count);
    return count;
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

void line_print(FILE *out, json_object *object)
{
    size_t bytes;
    const char *const text = json_object_to_json_string_length(
        object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &bytes);
    line_check(text);
    fwrite(text, 1, bytes, out);
    fputc('\n', out);
    json_object_put(object);
}

json_object *line_sentences(const Sentences *list)
{
    json_object *const array = json_object_new_array();
    line_check(array);
    for (size_t i = 0; i < list->n; i++)
        if (json_object_array_add(array, line_string(list->items[i])) != 0)
            line_check(NULL);
    return array;
}

json_object *line_boolean(bool value)
{
    json_object *const object = json_object_new_boolean(value);
    line_check(object);
    return object;
}
