/* SPDX-License-Identifier: MIT */
/* field_list.c: the columns of statistics, and lists of them. */
#include "options/field_list.h"

const FieldInfo field_table[N_FIELDS] = {
    [FIELD_FILE] = {"file", "file", false, true},
    [FIELD_PAGE] = {"page", "page page_name page_list by c channel role", false, true},
    [FIELD_PAGES] = {"pages", "pages", false, false},
    [FIELD_FORMAT] = {"format", "format", false, true},
    [FIELD_WIDTH] = {"width", "width", false, false},
    [FIELD_HEIGHT] = {"height", "height", false, false},
    [FIELD_SAMPLE] = {"sample", "sample", false, true},
    [FIELD_BITS] = {"bits", "bits", false, false},
    [FIELD_PHOTOMETRIC] = {"photometric", "photometric", false, true},
    [FIELD_DEVICE] = {"device", "device", false, true},
    [FIELD_HASH] = {"hash", "hash", false, true},
    [FIELD_CHANNEL] = {"channel", "name", true, true},
    [FIELD_COUNT] = {"count", "count", true, false},
    [FIELD_NAN] = {"nan", "nan", true, false},
    [FIELD_INF] = {"inf", "inf", true, false},
    [FIELD_NODATA] = {"nodata", "nodata", true, false},
    [FIELD_MASKED] = {"masked", "masked", true, false},
    [FIELD_MIN] = {"min", "min", true, false},
    [FIELD_MAX] = {"max", "max", true, false},
    [FIELD_MIN_X] = {"min_x", "min_at", true, false},
    [FIELD_MIN_Y] = {"min_y", "min_at", true, false},
    [FIELD_MAX_X] = {"max_x", "max_at", true, false},
    [FIELD_MAX_Y] = {"max_y", "max_at", true, false},
    [FIELD_MIN_PAGE] = {"min_page", "min_page min_page_name", true, false},
    [FIELD_MAX_PAGE] = {"max_page", "max_page max_page_name", true, false},
    [FIELD_MIN_FILE] = {"min_file", "min_at", true, true},
    [FIELD_MAX_FILE] = {"max_file", "max_at", true, true},
    [FIELD_FILES] = {"files", "files", false, false},
    [FIELD_FAILED] = {"failed", "failed", false, false},
    [FIELD_SUM] = {"sum", "sum", true, false},
    [FIELD_MEAN] = {"mean", "mean", true, false},
    [FIELD_STDDEV] = {"stddev", "stddev", true, false},
    [FIELD_MEDIAN] = {"median", "median bounds", true, false},
    [FIELD_MODE] = {"mode", "mode", true, false},
    [FIELD_ENTROPY] = {"entropy", "entropy", true, false},
    [FIELD_LOW] = {"low", "low", true, false},
    [FIELD_HIGH] = {"high", "high", true, false},
    [FIELD_SKEWNESS] = {"skewness", "skewness", true, false},
    [FIELD_KURTOSIS] = {"kurtosis", "kurtosis", true, false},
    [FIELD_PERCENTILES] = {"percentiles", "percentiles bounds", true, false},
};

bool fields_have(const FieldList *list, Field field)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->items[i] == field)
            return true;
    return false;
}

void fields_add(FieldList *list, Field field)
{
    if (!fields_have(list, field))
        list->items[list->n++] = field;
}

bool fields_have_channels(const FieldList *list)
{
    for (size_t i = 0; i < list->n; i++)
        if (field_table[list->items[i]].of_channel)
            return true;
    return false;
}
