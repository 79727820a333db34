/* SPDX-License-Identifier: MIT */
/* methods.h: entries of tables of methods and functions. */
#ifndef IMGSTAT_PYTHON_METHODS_H
#define IMGSTAT_PYTHON_METHODS_H

#include "module.h"

/* A function with keyword arguments, and how it is called. */
#define WITH_WORDS(function) (PyCFunction)(void (*)(void))(function), METH_VARARGS | METH_KEYWORDS

/* The method _repr_html_ of a Stats, Histogram or Record: imgstat/_html.py makes the text. */
PyObject *html_of(PyObject *self, PyObject *nothing);

#define HTML_METHOD                                                                 \
    {                                                                               \
        "_repr_html_", html_of, METH_NOARGS, "Returns what Jupyter shows, as HTML." \
    }

/* __copy__ and __deepcopy__ of what never changes: its copy is itself. */
PyObject *object_itself(PyObject *self, PyObject *unused);

/* Both, for a table of methods. */
#define COPY_METHODS                                \
    {"__copy__", object_itself, METH_NOARGS, NULL}, \
    {                                               \
        "__deepcopy__", object_itself, METH_O, NULL \
    }

#endif
