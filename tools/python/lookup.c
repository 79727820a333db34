/* SPDX-License-Identifier: MIT */
/* lookup.c: looks up what may be absent. */
#include "lookup.h"

PyObject *attribute_find(PyObject *object, const char *name)
{
    PyObject *const found = PyObject_GetAttrString(object, name);
    if (!found && PyErr_ExceptionMatches(PyExc_AttributeError))
        PyErr_Clear();
    return found;
}

bool attribute_has(PyObject *object, const char *name)
{
    PyObject *const found = attribute_find(object, name);
    Py_XDECREF(found);
    return found != NULL;
}

PyObject *dict_find(PyObject *dict, const char *key)
{
    PyObject *const text = PyUnicode_FromString(key);
    PyObject *const found = text ? PyDict_GetItemWithError(dict, text) : NULL;
    Py_XDECREF(text);
    return found;
}
