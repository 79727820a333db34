/* SPDX-License-Identifier: MIT */
/* methods.c: methods that several types have. */
#include "methods.h"

PyObject *html_of(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    PyObject *const maker = PyImport_ImportModule("imgstat._html");
    PyObject *const text = maker ? PyObject_CallMethod(maker, "repr_html", "O", self) : NULL;
    Py_XDECREF(maker);
    return text;
}

PyObject *object_itself(PyObject *self, PyObject *unused)
{
    (void)unused;
    return Py_NewRef(self);
}
