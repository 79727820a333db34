/* SPDX-License-Identifier: MIT */
/* html.h: what Jupyter shows of our objects. */
#ifndef IMGSTAT_PYTHON_HTML_H
#define IMGSTAT_PYTHON_HTML_H

#include "module.h"

/* The method _repr_html_ of a Stats, Histogram or Record: imgstat/_html.py makes the text. */
PyObject *html_of(PyObject *self, PyObject *nothing);

#define HTML_METHOD                                                                 \
    {                                                                               \
        "_repr_html_", html_of, METH_NOARGS, "Returns what Jupyter shows, as HTML." \
    }

#endif
