/* SPDX-License-Identifier: MIT */
/* keywords.c: keyword arguments that many functions have, in tables. */
#include "keywords.h"

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

static bool put(const char *name, PyObject *value, const KeywordSet *set)
{
    for (const Keyword *k = set->table; k->name; k++)
        if (strcmp(k->name, name) == 0) {
            *(PyObject **)((char *)set->options + k->offset) = value;
            return true;
        }
    return false;
}

int keywords_read(const char *function, PyObject *kwargs, const KeywordSet *sets, size_t n)
{
    Py_ssize_t at = 0;
    PyObject *key, *value;
    while (kwargs && PyDict_Next(kwargs, &at, &key, &value)) {
        const char *const name = PyUnicode_AsUTF8AndSize(key, NULL);
        bool known = false;
        if (!name)
            return -1;
        for (size_t i = 0; i < n && !known; i++)
            known = put(name, value, &sets[i]);
        if (!known) {
            PyErr_Format(PyExc_TypeError, "%s() has no argument '%s'", function, name);
            return -1;
        }
    }
    return 0;
}

int run_read(const RunOptions *options, const char **device, unsigned *threads)
{
    *device = NULL;
    *threads = 0;
    if (option_given(options->device)) {
        *device = PyUnicode_Check(options->device)
                      ? PyUnicode_AsUTF8AndSize(options->device, NULL)
                      : (PyErr_SetString(PyExc_TypeError, "device should be text, such as \"cpu\""),
                         NULL);
        if (!*device)
            return -1;
    }
    if (option_given(options->threads)) {
        const long number = PyLong_AsLong(options->threads);
        if (number == -1 && PyErr_Occurred())
            return -1;
        if (number < 0 || number > 1024) {
            PyErr_Format(PyExc_ValueError, "threads=%ld should be from 0 (all) to 1024", number);
            return -1;
        }
        *threads = (unsigned)number;
    }
    return 0;
}
