/* SPDX-License-Identifier: MIT */
/* record.h: the class Record, statistics that merge. */
#ifndef IMGSTAT_PYTHON_RECORD_H
#define IMGSTAT_PYTHON_RECORD_H

#include "module.h"

/* Makes a Record, which takes over the record of the library, also on failure: NULL, with an
 * exception. */
PyObject *record_new(State *state, ImgstatRecord *record);

/* Returns a copy of the record of a Record, which the caller destroys; NULL with an exception. */
ImgstatRecord *record_copy(State *state, PyObject *object);

/* What a Record has beside its bytes: record_attributes.c. */
extern PyGetSetDef record_attributes[];
PyObject *record_stats(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *record_percentile(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *record_bounds(PyObject *self, PyObject *q);
PyObject *record_transfer(PyObject *self, PyObject *args, PyObject *kwargs);

/* The class method that measures: record_of.c. */
PyObject *record_of(PyObject *type, PyObject *args, PyObject *kwargs);

#endif
