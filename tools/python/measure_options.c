/* SPDX-License-Identifier: MIT */
/* measure_options.c: keyword arguments that say what is measured. */
#include "measure.h"
#include "values.h"

#include <stdlib.h>
#include <string.h>

const Keyword measure_keywords[] = {
    {"percentiles", offsetof(MeasureOptions, percentiles)},
    {"method", offsetof(MeasureOptions, method)},
    {"bins", offsetof(MeasureOptions, bins)},
    {"range", offsetof(MeasureOptions, range)},
    {"ddof", offsetof(MeasureOptions, ddof)},
    {"median", offsetof(MeasureOptions, median)},
    {"mode", offsetof(MeasureOptions, mode)},
    {"shape", offsetof(MeasureOptions, shape)},
    {NULL, 0},
};

bool percentile_is_one(PyObject *asked)
{
    if (!PyNumber_Check(asked) || PySequence_Size(asked) >= 0)
        return false;
    PyErr_Clear();
    return true;
}

/* A list of numbers, or one number. The list is malloc'ed. */
static int read_percentiles(PyObject *numbers, ImgstatMeasure *out)
{
    const bool single = percentile_is_one(numbers);
    const Py_ssize_t n = single ? 1 : PySequence_Size(numbers);
    if (n < 0)
        return -1;
    double *const list = malloc(((size_t)n + 1) * sizeof *list);
    if (!list) {
        PyErr_NoMemory();
        return -1;
    }
    out->percentiles = list;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *const item = single ? Py_NewRef(numbers) : PySequence_GetItem(numbers, i);
        const int status = item ? number_read(item, "percentile", &list[i]) : -1;
        Py_XDECREF(item);
        if (status < 0)
            return -1;
    }
    out->n_percentiles = (size_t)n;
    return 0;
}

static int read_method(PyObject *method, ImgstatMeasure *out)
{
    const bool text = PyUnicode_Check(method) != 0;
    if (text && PyUnicode_CompareWithASCIIString(method, "linear") == 0)
        out->percentile_method = IMGSTAT_LINEAR;
    else if (text && PyUnicode_CompareWithASCIIString(method, "nearest") == 0)
        out->percentile_method = IMGSTAT_NEAREST;
    else {
        PyErr_Format(PyExc_ValueError, "method=%R should be \"linear\" or \"nearest\"", method);
        return -1;
    }
    return 0;
}

static int read_flag(PyObject *option, bool *out)
{
    const int truth = option_given(option) ? PyObject_IsTrue(option) : 0;
    *out = truth > 0;
    return truth < 0 ? -1 : 0;
}

static int read_unsigned(PyObject *option, const char *name, uint32_t *out)
{
    long long number = 0;
    if (option_given(option) && integer_read(option, name, 0, INT32_MAX, &number) < 0)
        return -1;
    *out = (uint32_t)number;
    return 0;
}

/* The items of a tuple, list or array, as a new tuple; NULL with an exception that has `form`. */
static PyObject *read_items(PyObject *given, const char *form, Py_ssize_t count)
{
    if (PySequence_Check(given) && !PyUnicode_Check(given) && PySequence_Size(given) == count)
        return PySequence_Tuple(given);
    PyErr_Clear();
    return PyErr_Format(PyExc_TypeError, "%R should be %s", given, form);
}

static int read_range(PyObject *range, ImgstatMeasure *out)
{
    if (!option_given(range))
        return 0;
    out->has_range = true;
    PyObject *const pair = read_items(range, "range=(lo, hi)", 2);
    const int status = pair && number_read(PyTuple_GetItem(pair, 0), "range", &out->lo) == 0
                           ? number_read(PyTuple_GetItem(pair, 1), "range", &out->hi)
                           : -1;
    Py_XDECREF(pair);
    return status;
}

int region_read(PyObject *region, ImgstatRegion *out)
{
    if (!option_given(region))
        return 0;
    uint32_t *const to[] = {&out->x, &out->y, &out->width, &out->height};
    PyObject *const numbers = read_items(region, "region=(x, y, width, height)", 4);
    int status = numbers ? 0 : -1;
    for (Py_ssize_t i = 0; i < 4 && status == 0; i++) {
        long long number = 0;
        status = integer_read(PyTuple_GetItem(numbers, i), "region", 0, UINT32_MAX, &number);
        *to[i] = (uint32_t)number;
    }
    Py_XDECREF(numbers);
    return status;
}

int measure_read(const MeasureOptions *options, bool narrow, ImgstatMeasure *out)
{
    uint32_t ddof = 0;
    *out = (ImgstatMeasure){.histogram = narrow || option_given(options->bins) ||
                                         option_given(options->range)};
    if ((option_given(options->percentiles) && read_percentiles(options->percentiles, out) < 0) ||
        (option_given(options->method) && read_method(options->method, out) < 0) ||
        read_unsigned(options->bins, "bins", &out->bins) < 0 ||
        read_unsigned(options->ddof, "ddof", &ddof) < 0 || read_range(options->range, out) < 0 ||
        read_flag(options->median, &out->median) < 0 || read_flag(options->mode, &out->mode) < 0 ||
        read_flag(options->shape, &out->shape) < 0)
        return -1;
    out->ddof = ddof;
    return 0;
}

bool measure_copy(const ImgstatMeasure *measure, ImgstatMeasure *out)
{
    const size_t bytes = measure->n_percentiles * sizeof(double);
    double *const percentiles = malloc(bytes + 1);
    *out = *measure;
    out->percentiles = percentiles;
    if (percentiles && bytes)
        memcpy(percentiles, measure->percentiles, bytes);
    return percentiles != NULL;
}

void measure_release(ImgstatMeasure *measure)
{
    free((void *)(uintptr_t)measure->percentiles);
    *measure = (ImgstatMeasure){.percentiles = NULL};
}
