/* SPDX-License-Identifier: MIT */
/* json_line.h: values and lines of JSON. On allocation failure the program ends with a message. */
#ifndef IMGSTAT_TOOLS_TEXT_JSON_LINE_H
#define IMGSTAT_TOOLS_TEXT_JSON_LINE_H

#include "imgstat.h"
#include "text/sentences.h"

#include <json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

json_object *line_object(void);
json_object *line_array(void);

/* Adds a value, which the object then owns. */
void line_add(json_object *object, const char *key, json_object *value);

/* Adds a value, which the array then owns. */
void line_append(json_object *array, json_object *value);

/* Returns a string, or null for NULL. bytes: a name, in any encoding. */
json_object *line_string(const char *bytes);

/* Returns JSON text that is written as it stands. */
json_object *line_raw(const char *text);

/* Returns null for IMGSTAT_COUNT_UNKNOWN. */
json_object *line_count(uint64_t value);

/* Returns a number, or null if it is not finite. */
json_object *line_real(double value);

/* Returns a value, or null if it is not defined. */
json_object *line_value(ImgstatValue value, bool defined);

/* Returns a nodata value: a number, "NaN", "Infinity" or "-Infinity", since null means none. */
json_object *line_nodata(ImgstatValue value);

json_object *line_boolean(bool value);

json_object *line_sentences(const Sentences *list);

/* Prints an object as a line, and frees it. */
void line_print(FILE *out, json_object *object);

#endif
