/* SPDX-License-Identifier: MIT */
/* measure.c: the functions stats, histogram and percentile. */
#include "lookup.h"
#include "measure_array.h"
#include "methods.h"

#include <string.h>

PyDoc_STRVAR(
    stats_function_doc,
    "stats(x, /, *, percentiles=None, method='linear', bins=None, range=None, ddof=0,\n"
    "      median=None, mode=None, shape=False, axes=None, mask=None, nodata=None, "
    "bits=None,\n      device=None, threads=0, stream=None)\n--\n\n"
    "Measures an array, channel by channel, and returns imgstat.Stats; of a batch a list "
    "of these.\n\n"
    "x: integers of 8 to 64 bits or floats of 16, 32 or 64, of any library: (H, W), (H, W, "
    "C) with C <= 4,\n  or what axes says, a letter for each axis: 'CHW', 'NHWC' ... "
    "Arrays on a GPU are measured there.\n"
    "  Or a path, the bytes of a file, or a file object: all images of the file as one, with the "
    "options of File.stats.\n"
    "percentiles: numbers from 0 to 100; method 'linear' (numpy's) or 'nearest'. Exact for "
    "every type.\n"
    "bins, range: of the histogram. By default one bin a value of integers up to 16 bits, 256 of "
    "float16, none for wider types.\n"
    "median, mode: True to have them of types beyond 16 bits. shape: skewness and "
    "kurtosis.\n"
    "mask: bool or uint8 array of H x W; pixels where it is 0 do not count.\n"
    "nodata: a number; samples that have it do not count.\n"
    "bits: significant bits of integers, such as 12 in uint16.\n"
    "device: 'cpu' or 'cuda:0' for arrays in host memory. threads: 0 for all "
    "processors.\n"
    "stream: of arrays on a GPU; by default their library's current one.");

/* What a call of one of the functions says. */
typedef struct Words {
    ArrayOptions array;
    MeasureOptions measure;
    RunOptions run;
} Words;

/* Whether an argument is a path, the bytes of a file, or a file object. */
static bool names_file(PyObject *x)
{
    return PyUnicode_Check(x) || PyBytes_Check(x) || attribute_has(x, "__fspath__") ||
           (!PyErr_Occurred() && !PyObject_CheckBuffer(x) && attribute_has(x, "read") &&
            attribute_has(x, "seek"));
}

/* Measures all images of a file as one. measure: what came by position. */
static PyObject *measured_file(PyObject *x, const MeasureOptions *measure, PyObject *kwargs)
{
    PyObject *const all = kwargs ? PyDict_Copy(kwargs) : PyDict_New();
    PyObject *const files = all ? PyImport_ImportModule("imgstat.files") : NULL;
    PyObject *const function = files ? PyObject_GetAttrString(files, "_stats") : NULL;
    PyObject *const args = function ? PyTuple_Pack(1, x) : NULL;
    PyObject *result = NULL;
    int status = args ? 0 : -1;
    for (const Keyword *k = measure_keywords; k->name && status == 0; k++) {
        PyObject *const value = *(PyObject *const *)((const char *)measure + k->offset);
        if (value)
            status = PyDict_SetItemString(all, k->name, value);
    }
    if (status == 0)
        result = PyObject_Call(function, args, all);
    Py_XDECREF(args);
    Py_XDECREF(function);
    Py_XDECREF(files);
    Py_XDECREF(all);
    return result;
}

/* Refuses a keyword of stats that another function has not. own: those that it has. */
static int check_keywords(const char *function, const Keyword *own, PyObject *kwargs)
{
    for (const Keyword *k = measure_keywords; kwargs && k->name; k++) {
        const Keyword *has = own;
        while (has->name && strcmp(has->name, k->name) != 0)
            has++;
        if (!has->name && dict_find(kwargs, k->name)) {
            PyErr_Format(PyExc_TypeError, "%s() has no argument '%s'", function, k->name);
            return -1;
        }
    }
    return PyErr_Occurred() ? -1 : 0;
}

/* Measures by keyword arguments, those of `measure` among them, beside what `words` has already.
 * NULL: an exception. */
static PyObject *measured(PyObject *module, const char *function, const Keyword *measure,
                          PyObject *x, Words *words, PyObject *kwargs)
{
    if (names_file(x))
        return check_keywords(function, measure, kwargs) < 0
                   ? NULL
                   : measured_file(x, &words->measure, kwargs);
    if (PyErr_Occurred())
        return NULL;
    const KeywordSet sets[] = {
        {measure, &words->measure}, {array_keywords, &words->array}, {run_keywords, &words->run}};
    if (keywords_read(function, kwargs, sets, sizeof sets / sizeof sets[0]) < 0)
        return NULL;
    return stats_of_array(state_of(module), x, &words->array, &words->measure, &words->run);
}

static PyObject *stats(PyObject *module, PyObject *args, PyObject *kwargs)
{
    PyObject *x;
    Words words = {.array = {.axes = NULL}};
    return PyArg_ParseTuple(args, "O:stats", &x)
               ? measured(module, "stats", measure_keywords, x, &words, kwargs)
               : NULL;
}

/* Replaces a Stats, or those of a list, by an attribute. Takes the reference over. */
static PyObject *attribute_of(PyObject *stats, const char *name)
{
    if (!stats || !PyList_Check(stats)) {
        PyObject *const value = stats ? PyObject_GetAttrString(stats, name) : NULL;
        Py_XDECREF(stats);
        return value;
    }
    for (Py_ssize_t i = 0; i < PyList_Size(stats); i++) {
        PyObject *const value = PyObject_GetAttrString(PyList_GetItem(stats, i), name);
        if (!value || PyList_SetItem(stats, i, value) < 0) {
            Py_DECREF(stats);
            return NULL;
        }
    }
    return stats;
}

PyDoc_STRVAR(
    histogram_function_doc,
    "histogram(x, /, bins=None, range=None, *, axes=None, mask=None, nodata=None, bits=None,\n"
    "          device=None, threads=0, stream=None)\n--\n\n"
    "Counts the samples of an array and returns imgstat.Histogram, of several channels a "
    "tuple of these,\nand of a batch a list.\n\n"
    "bins: by default one a value of integers up to 16 bits, else 256. range: (lo, hi); by default "
    "all "
    "values of the type,\nor of wider types from the smallest to the largest. Other "
    "arguments are those of stats.");

static PyObject *histogram(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static const Keyword none[] = {{NULL, 0}};
    PyObject *x, *result = NULL;
    Words words = {.array = {.axes = NULL}};
    PyObject **const bins = &words.measure.bins, **const range = &words.measure.range;
    PyObject *const all = PyLong_FromLong(0); /* as many bins as the type has by default */
    PyObject *const others = kwargs ? PyDict_Copy(kwargs) : NULL;
    if (all && (others || !kwargs) && PyArg_ParseTuple(args, "O|OO:histogram", &x, bins, range) &&
        keyword_take("histogram", "bins", others, bins) == 0 &&
        keyword_take("histogram", "range", others, range) == 0) {
        *bins = option_given(*bins) ? *bins : all;
        result = attribute_of(measured(module, "histogram", none, x, &words, others), "histogram");
    }
    Py_XDECREF(others);
    Py_XDECREF(all);
    return result;
}

/* Percentiles of a channel in the order of the question. */
static PyObject *in_order(PyObject *asked, PyObject *values)
{
    PyObject *const list = PyList_New(0);
    for (Py_ssize_t i = 0; list && i < PySequence_Size(asked); i++) {
        PyObject *const number = PySequence_GetItem(asked, i);
        PyObject *const key = number ? PyNumber_Float(number) : NULL;
        PyObject *const value = key ? PyObject_GetItem(values, key) : NULL;
        const int status = value ? PyList_Append(list, value) : -1;
        Py_XDECREF(value);
        Py_XDECREF(key);
        Py_XDECREF(number);
        if (status < 0) {
            Py_DECREF(list);
            return NULL;
        }
    }
    return list;
}

PyObject *percentile_answer(PyObject *values, PyObject *asked)
{
    if (PyDict_Check(values)) {
        if (!percentile_is_one(asked))
            return in_order(asked, values);
        PyObject *const key = PyNumber_Float(asked);
        PyObject *const value = key ? PyObject_GetItem(values, key) : NULL;
        Py_XDECREF(key);
        return value;
    }
    PyObject *const list = PyList_New(0);
    for (Py_ssize_t i = 0; list && i < PySequence_Size(values); i++) {
        PyObject *const one = PySequence_GetItem(values, i);
        PyObject *const item = one ? percentile_answer(one, asked) : NULL;
        const int status = item ? PyList_Append(list, item) : -1;
        Py_XDECREF(item);
        Py_XDECREF(one);
        if (status < 0) {
            Py_DECREF(list);
            return NULL;
        }
    }
    PyObject *const result = list && PyTuple_Check(values) ? PyList_AsTuple(list) : NULL;
    if (!list || !PyTuple_Check(values))
        return list;
    Py_DECREF(list);
    return result;
}

PyDoc_STRVAR(
    percentile_function_doc,
    "percentile(x, /, q, *, method='linear', axes=None, mask=None, nodata=None, bits=None,\n"
    "           device=None, threads=0, stream=None)\n--\n\n"
    "Returns the q-th percentile of an array, exactly, whatever its type and size; of a "
    "list q a list.\nOf several channels a tuple with one of these for each, of a batch a "
    "list.\n\n"
    "q: from 0 to 100. method: 'linear' (numpy's) or 'nearest'. Other arguments are those "
    "of stats.");

static PyObject *percentile(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static const Keyword own[] = {{"method", offsetof(MeasureOptions, method)}, {NULL, 0}};
    PyObject *x, *found = NULL;
    Words words = {.array = {.axes = NULL}};
    PyObject **const q = &words.measure.percentiles;
    PyObject *const others = kwargs ? PyDict_Copy(kwargs) : NULL;
    if ((others || !kwargs) && PyArg_ParseTuple(args, "O|O:percentile", &x, q) &&
        keyword_take("percentile", "q", others, q) == 0) {
        if (option_given(*q))
            found =
                attribute_of(measured(module, "percentile", own, x, &words, others), "percentiles");
        else
            PyErr_SetString(PyExc_TypeError, "percentile() needs the argument 'q'");
    }
    Py_XDECREF(others);
    PyObject *const answer = found ? percentile_answer(found, *q) : NULL;
    Py_XDECREF(found);
    return answer;
}

PyMethodDef measure_functions[] = {
    {"stats", WITH_WORDS(stats), stats_function_doc},
    {"histogram", WITH_WORDS(histogram), histogram_function_doc},
    {"percentile", WITH_WORDS(percentile), percentile_function_doc},
    {NULL, NULL, 0, NULL},
};
