/* SPDX-License-Identifier: MIT */
/* stats.h: what the parts of the type imgstat.Stats share. */
#ifndef IMGSTAT_PYTHON_STATS_H
#define IMGSTAT_PYTHON_STATS_H

#include "chains.h"

typedef struct Stats {
    PyObject_HEAD uint16_t channels;
    ImgstatSample sample;
    ImgstatMeasure how; /* its percentiles are this object's */
    uint16_t n_records; /* 1, or one a channel */
    ImgstatRecord **records;
    PyObject *owner; /* NULL, or what has the records */
    /* Of an unpickled one: a tuple of the fields of each channel. It has no record. */
    PyObject *values;
    /* Of a measurement on a GPU that has not been read; the record is NULL till then: */
    HeldChain *later;
    PyObject *array;
} Stats;

/* Attributes with a value for each channel. */
typedef enum Field {
    COUNT,
    N_NAN,
    N_INF,
    NODATA,
    MASKED,
    MIN,
    MAX,
    MIN_AT,
    MAX_AT,
    MIN_PAGE,
    MAX_PAGE,
    MIN_FILE,
    MAX_FILE,
    SUM,
    MEAN,
    VARIANCE,
    STDDEV,
    MEDIAN,
    MODE,
    ENTROPY,
    LOW,
    HIGH,
    SKEWNESS,
    KURTOSIS,
    PERCENTILES,
    HISTOGRAM,
    FIELDS
} Field;

/* Makes a Stats of n records, or with `records` NULL of one that comes later or never. NULL: an
 * exception. */
Stats *stats_new(State *state, ImgstatRecord *const *records, uint16_t n,
                 const ImgstatMeasure *how);

/* Waits for a measurement that has not been read. 0, or -1 with an exception. */
int stats_settle(Stats *stats);

/* Returns an attribute of a channel, of a Stats that is settled; None where it was not measured.
 * NULL: an exception. */
PyObject *stats_field(PyObject *self, uint16_t channel, Field field);

/* Methods: __reduce__, and what it names to make a Stats again. */
PyObject *stats_reduce(PyObject *self, PyObject *unused);
PyObject *stats_unpickle(PyObject *type, PyObject *args);

#endif
