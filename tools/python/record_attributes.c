/* SPDX-License-Identifier: MIT */
/* record_attributes.c: what a Record is of, and what is computed from it. */
#include "error.h"
#include "measure.h"
#include "record.h"
#include "saved.h"
#include "values.h"

#include <stdlib.h>
#include <string.h>

/* ---- What it is of ---- */

typedef enum Attribute {
    SAMPLE,
    BITS,
    CHANNELS,
    ALPHA,
    PHOTOMETRIC,
    FILES,
    PAGES,
    GROUP
} Attribute;

/* Makes numbers and texts alone: they never collect garbage, and so run no code of Python. */
static PyObject *attribute(const ImgstatRecord *record, Attribute which)
{
    ImgstatKind kind;
    uint64_t files, pages;
    imgstat_record_kind(record, &kind);
    imgstat_record_images(record, &files, &pages);
    switch (which) {
    case SAMPLE:
        return PyUnicode_FromString(imgstat_sample_name(kind.sample));
    case BITS:
        return PyLong_FromLong(kind.bits ? kind.bits : 8 * (long)imgstat_sample_bytes(kind.sample));
    case CHANNELS:
        return PyLong_FromLong(kind.channels);
    case ALPHA:
        return kind.alpha < 0 ? Py_NewRef(Py_None) : PyLong_FromLong(kind.alpha);
    case PHOTOMETRIC:
        return PyUnicode_FromString(kind.photometric);
    case FILES:
        return PyLong_FromUnsignedLongLong(files);
    case PAGES:
        return PyLong_FromUnsignedLongLong(pages);
    case GROUP:
        return PyUnicode_DecodeFSDefault(imgstat_record_group(record));
    }
    Py_RETURN_NONE;
}

static PyObject *get(PyObject *self, void *which)
{
    PyObject *const made = attribute(saved_lock(self), (Attribute)(intptr_t)which);
    saved_unlock(self);
    return made;
}

/* Copies the names of the channels, each with its NUL; free() frees them. NULL: no memory. */
static char *copy_names(const ImgstatKind *kind)
{
    size_t bytes = 0;
    for (uint16_t c = 0; c < kind->channels; c++)
        bytes += strlen(kind->names[c]) + 1;
    char *const copy = malloc(bytes);
    char *to = copy;
    for (uint16_t c = 0; copy && c < kind->channels; c++) {
        strcpy(to, kind->names[c]);
        to += strlen(to) + 1;
    }
    return copy;
}

static PyObject *get_names(PyObject *self, void *unused)
{
    (void)unused;
    ImgstatKind kind;
    imgstat_record_kind(saved_lock(self), &kind);
    char *const names = copy_names(&kind);
    saved_unlock(self);
    if (!names)
        return PyErr_NoMemory();
    PyObject *made = PyTuple_New(kind.channels);
    const char *name = names;
    for (uint16_t c = 0; made && c < kind.channels; c++) {
        PyObject *const text = PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name), "replace");
        if (!text || PyTuple_SetItem(made, c, text) < 0)
            Py_CLEAR(made);
        name += strlen(name) + 1;
    }
    free(names);
    return made;
}

/* ---- Statistics ---- */

/* Computes what `options` ask for, in a copy: a Record itself changes by merging alone. */
static PyObject *compute(PyObject *self, const MeasureOptions *options)
{
    State *const state = state_of_type(Py_TYPE(self));
    ImgstatRecord *const record = record_copy(state, self);
    if (!record)
        return NULL;
    ImgstatKind kind;
    ImgstatMeasure how;
    PyObject *made = NULL;
    imgstat_record_kind(record, &kind);
    if (measure_read(options, imgstat_sample_bytes(kind.sample) <= 2, &how) < 0) {
        imgstat_record_destroy(record);
    } else {
        ImgstatError err = {0};
        ImgstatResult res;
        Py_BEGIN_ALLOW_THREADS
        res = imgstat_record_compute(record, &how, &err);
        if (res != IMGSTAT_OK)
            imgstat_record_destroy(record);
        Py_END_ALLOW_THREADS
        made = res == IMGSTAT_OK ? stats_of_record(state, record, &how)
                                 : raise_result(state, res, &err);
    }
    measure_release(&how);
    return made;
}

PyObject *record_stats(PyObject *self, PyObject *args, PyObject *kwargs)
{
    MeasureOptions options = {NULL};
    const KeywordSet set = {measure_keywords, &options};
    if (!PyArg_ParseTuple(args, ":stats") || keywords_read("stats", kwargs, &set, 1) < 0)
        return NULL;
    return compute(self, &options);
}

/* An attribute that Stats has as well. */
static PyObject *get_statistic(PyObject *self, void *name)
{
    const MeasureOptions none = {NULL};
    PyObject *const stats = compute(self, &none);
    PyObject *const value = stats ? PyObject_GetAttrString(stats, name) : NULL;
    if (stats && !value && PyErr_ExceptionMatches(PyExc_AttributeError))
        PyErr_Format(PyExc_AttributeError,
                     "a record has no %s of samples beyond 16 bits: imgstat.stats has it, of the "
                     "pixels",
                     (const char *)name);
    Py_XDECREF(stats);
    return value;
}

PyObject *record_percentile(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *words[] = {"q", "method", NULL};
    MeasureOptions m = {NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$O:percentile", words, &m.percentiles,
                                     &m.method))
        return NULL;
    if (!option_given(m.percentiles))
        return PyErr_Format(PyExc_TypeError, "percentile() needs the argument 'q'");
    PyObject *const stats = compute(self, &m);
    PyObject *const values = stats ? PyObject_GetAttrString(stats, "percentiles") : NULL;
    PyObject *const answer = values ? percentile_answer(values, m.percentiles) : NULL;
    Py_XDECREF(stats);
    Py_XDECREF(values);
    return answer;
}

/* ---- Bounds ---- */

static PyObject *channel_bounds(void *context, uint16_t channel)
{
    const ImgstatRecord *const record = context;
    double lo, hi;
    if (!imgstat_record_bounds(record, channel, 0, &lo, &hi))
        lo = hi = imgstat_record_percentile(record, channel, 0);
    return Py_BuildValue("(dd)", lo, hi);
}

PyObject *record_bounds(PyObject *self, PyObject *q)
{
    double percent;
    if (number_read(q, "q", &percent) < 0)
        return NULL;
    State *const state = state_of_type(Py_TYPE(self));
    ImgstatRecord *const record = record_copy(state, self);
    if (!record)
        return NULL;
    const ImgstatMeasure how = {.percentiles = &percent, .n_percentiles = 1};
    ImgstatError err = {0};
    ImgstatResult res;
    Py_BEGIN_ALLOW_THREADS
    res = imgstat_record_compute(record, &how, &err);
    Py_END_ALLOW_THREADS
    PyObject *const made =
        res == IMGSTAT_OK ? each_channel(imgstat_record_channels(record), channel_bounds, record)
                          : raise_result(state, res, &err);
    imgstat_record_destroy(record);
    return made;
}

#define IS(which) ((void *)(intptr_t)(which))
PyGetSetDef record_attributes[] = {
    {"sample", get, NULL, "Type of the samples: 'u8', 'u16', 'f32' ...", IS(SAMPLE)},
    {"bits", get, NULL, "Significant bits of a sample.", IS(BITS)},
    {"channels", get, NULL, "Number of channels.", IS(CHANNELS)},
    {"alpha", get, NULL, "Index of the alpha channel, or None.", IS(ALPHA)},
    {"photometric", get, NULL, "'gray', 'rgb' ...; '' of arrays.", IS(PHOTOMETRIC)},
    {"names", get_names, NULL, "Names of the channels: 'red' ...; '' of arrays.", NULL},
    {"files", get, NULL, "Number of files that were measured.", IS(FILES)},
    {"pages", get, NULL, "Number of pages and arrays that were measured.", IS(PAGES)},
    {"group", get, NULL, "Group in the data set that it is from; '' elsewhere.", IS(GROUP)},
    {"count", get_statistic, NULL, "Finite and valid samples, of each channel.", "count"},
    {"min", get_statistic, NULL, "Smallest sample of each channel.", "min"},
    {"max", get_statistic, NULL, "Largest sample of each channel.", "max"},
    {"sum", get_statistic, NULL, "Sum of each channel; exact for integers.", "sum"},
    {"mean", get_statistic, NULL, "Mean of each channel.", "mean"},
    {"std", get_statistic, NULL, "Standard deviation of each channel (divided by n).", "std"},
    {"median", get_statistic, NULL, "Median of each channel.", "median"},
    {"histogram", get_statistic, NULL, "Histogram of each channel.", "histogram"},
    {NULL, NULL, NULL, NULL, NULL},
};
