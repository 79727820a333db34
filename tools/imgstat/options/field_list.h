/* SPDX-License-Identifier: MIT */
/* field_list.h: names of the columns of statistics. */
#ifndef IMGSTAT_TOOLS_OPTIONS_FIELD_LIST_H
#define IMGSTAT_TOOLS_OPTIONS_FIELD_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* Fields, in the order of CSV. */
typedef enum Field {
    FIELD_FILE,
    FIELD_PAGE,
    FIELD_PAGES,
    FIELD_FORMAT,
    FIELD_WIDTH,
    FIELD_HEIGHT,
    FIELD_SAMPLE,
    FIELD_BITS,
    FIELD_PHOTOMETRIC,
    FIELD_DEVICE,
    FIELD_HASH,
    FIELD_CHANNEL,
    FIELD_COUNT,
    FIELD_NAN,
    FIELD_INF,
    FIELD_NODATA,
    FIELD_MASKED,
    FIELD_MIN,
    FIELD_MAX,
    FIELD_MIN_X,
    FIELD_MIN_Y,
    FIELD_MAX_X,
    FIELD_MAX_Y,
    FIELD_MIN_PAGE,
    FIELD_MAX_PAGE,
    FIELD_MIN_FILE,
    FIELD_MAX_FILE,
    FIELD_FILES,
    FIELD_FAILED,
    FIELD_SUM,
    FIELD_MEAN,
    FIELD_STDDEV,
    FIELD_MEDIAN,
    FIELD_MODE,
    FIELD_ENTROPY,
    FIELD_LOW,
    FIELD_HIGH,
    FIELD_SKEWNESS,
    FIELD_KURTOSIS,
    FIELD_PERCENTILES, /* all requested percentiles */
    N_FIELDS
} Field;

/* Properties of a field. */
typedef struct FieldInfo {
    const char *name; /* in tables, CSV and --fields */
    const char *keys; /* in JSON, separated by blanks */
    bool of_channel;  /* of a channel; else of the image */
    bool is_text;     /* aligned left in a table */
} FieldInfo;

extern const FieldInfo field_table[N_FIELDS];

/* A list without repeated fields. */
typedef struct FieldList {
    Field items[N_FIELDS];
    size_t n;
} FieldList;

void fields_add(FieldList *list, Field field);
bool fields_have(const FieldList *list, Field field);
/* Whether a field is of a channel; otherwise a row is about an image. */
bool fields_have_channels(const FieldList *list);

#endif
