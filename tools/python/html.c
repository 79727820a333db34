/* SPDX-License-Identifier: MIT */
/* html.c: what Jupyter shows of our objects. */
#include "html.h"

PyObject *html_of(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    PyObject *const maker = PyImport_ImportModule("imgstat._html");
    PyObject *const text = maker ? PyObject_CallMethod(maker, "repr_html", "O", self) : NULL;
    Py_XDECREF(maker);
    return text;
}
