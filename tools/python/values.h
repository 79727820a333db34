/* SPDX-License-Identifier: MIT */
/* values.h: numbers of the library as objects, and options that are numbers or text. */
#ifndef IMGSTAT_PYTHON_VALUES_H
#define IMGSTAT_PYTHON_VALUES_H

#include "module.h"

/* An int or a float; None for an undefined value, which is not a number. */
PyObject *value_object(ImgstatValue value);

/* Each reads an option: 0, or -1 with an exception that names it. */

/* An int or a float. An int that no sample type holds becomes what is not a number. */
int value_read(PyObject *number, const char *name, ImgstatValue *out);

/* A number. */
int number_read(PyObject *number, const char *name, double *out);

/* An int from `least` to `most`: a ValueError where it lies outside, however far. */
int integer_read(PyObject *number, const char *name, long long least, long long most,
                 long long *out);

/* Text, which the object keeps; NULL of an option that is not given. */
int text_read(PyObject *option, const char *name, const char **out);

/* Makes a tuple of an object for each channel, or of one channel that object alone. */
PyObject *each_channel(uint16_t channels, PyObject *(*make)(void *context, uint16_t channel),
                       void *context);

#endif
