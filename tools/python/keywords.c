/* SPDX-License-Identifier: MIT */
/* keywords.c: keyword arguments that many functions have, in tables. */
#include "keywords.h"
#include "lookup.h"
#include "values.h"

#include <string.h>

const Keyword run_keywords[] = {
    {"device", offsetof(RunOptions, device)},
    {"threads", offsetof(RunOptions, threads)},
    {NULL, 0},
};

bool option_given(PyObject *option)
{
    return option && option != Py_None;
}

/* Where the value of a keyword goes; NULL: it is not in the table. */
static PyObject **place_of(const char *name, const KeywordSet *set)
{
    for (const Keyword *k = set->table; k->name; k++)
        if (strcmp(k->name, name) == 0)
            return (PyObject **)((char *)set->options + k->offset);
    return NULL;
}

static int put(const char *function, const char *name, PyObject *value, PyObject **place)
{
    if (!place)
        PyErr_Format(PyExc_TypeError, "%s() has no argument '%s'", function, name);
    else if (*place)
        PyErr_Format(PyExc_TypeError, "%s() has two values for the argument '%s'", function, name);
    else
        *place = value;
    return PyErr_Occurred() ? -1 : 0;
}

int keywords_read(const char *function, PyObject *kwargs, const KeywordSet *sets, size_t n)
{
    Py_ssize_t at = 0;
    PyObject *key, *value;
    while (kwargs && PyDict_Next(kwargs, &at, &key, &value)) {
        const char *const name = PyUnicode_AsUTF8AndSize(key, NULL);
        PyObject **place = NULL;
        if (!name)
            return -1;
        for (size_t i = 0; i < n && !place; i++)
            place = place_of(name, &sets[i]);
        if (put(function, name, value, place) < 0)
            return -1;
    }
    return 0;
}

int keyword_take(const char *function, const char *name, PyObject *keywords, PyObject **value)
{
    PyObject *const named = keywords ? dict_find(keywords, name) : NULL;
    if (!named)
        return PyErr_Occurred() ? -1 : 0;
    return put(function, name, named, value) < 0 ? -1 : PyDict_DelItemString(keywords, name);
}

int run_read(const RunOptions *options, const char **device, unsigned *threads)
{
    *threads = 0;
    if (text_read(options->device, "device", device) < 0)
        return -1;
    if (option_given(options->threads)) {
        long long number;
        if (integer_read(options->threads, "threads", 0, 1024, &number) < 0)
            return -1;
        *threads = (unsigned)number;
    }
    return 0;
}
