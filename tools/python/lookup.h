/* SPDX-License-Identifier: MIT */
/* lookup.h: looks up what may be absent. Unlike Python's functions for it, these keep an exception
 * that says more than that: no memory, Ctrl-C, or what a property raised. */
#ifndef IMGSTAT_PYTHON_LOOKUP_H
#define IMGSTAT_PYTHON_LOOKUP_H

#include "module.h"

/* An attribute. NULL: there is none, or an exception. */
PyObject *attribute_find(PyObject *object, const char *name);

/* Whether there is an attribute. An exception where it is not known. */
bool attribute_has(PyObject *object, const char *name);

/* A value of a dict, which keeps it. NULL: there is none, or an exception. */
PyObject *dict_find(PyObject *dict, const char *key);

#endif
