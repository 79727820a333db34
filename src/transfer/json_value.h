/* SPDX-License-Identifier: MIT */
/* json_value.h: members, numbers and maps of a transfer's JSON text, checked. */
#ifndef IMGSTAT_TRANSFER_JSON_VALUE_H
#define IMGSTAT_TRANSFER_JSON_VALUE_H

#include "transfer/transfer.h"

#include <json-c/json.h>

/* What is being read, for messages. */
typedef struct JsonReader {
    const char *name;
    ImgstatError *err;
    uint64_t memory; /* bytes that tables and knots may take */
    size_t entries;  /* of the tables read so far */
} JsonReader;

/* Fails with a sentence that what is read is no transfer: `what`. */
ImgstatResult json_wrong(const JsonReader *reader, const char *what);
/* Fails with a sentence that a key is missing or of the wrong type. */
ImgstatResult json_missing(const JsonReader *reader, const char *key);
/* Finds the value of a key, which has to have a type. */
ImgstatResult json_member(const JsonReader *reader, json_object *object, const char *key,
                          json_type type, json_object **out);
/* Returns whether a value is a finite number, and which. */
bool json_finite(json_object *object, double *out);
/* Finds the key of a number that a sample type holds exactly (floats: the nearest, if finite). */
bool json_value_key(json_object *object, ImgstatSample sample, uint64_t *key);
/* Finds two ascending values of a sample type. */
ImgstatResult json_pair(const JsonReader *reader, json_object *object, const char *key,
                        ImgstatSample sample, uint64_t *lo, uint64_t *hi);
/* Finds a finite number. */
ImgstatResult json_double(const JsonReader *reader, json_object *object, const char *key,
                          double *out);

/* ---- transfer/json_maps.c ---- */

/* Reads as many maps as the transfer has. Clears transfer->has_parameters where a map has a table
 * alone. */
ImgstatResult json_read_maps(const JsonReader *reader, json_object *maps, Transfer *transfer);

#endif
