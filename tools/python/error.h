/* SPDX-License-Identifier: MIT */
/* error.h: results of the library as exceptions. */
#ifndef IMGSTAT_PYTHON_ERROR_H
#define IMGSTAT_PYTHON_ERROR_H

#include "module.h"

/* Raises what a failed call reports, and returns NULL: ValueError for IMGSTAT_ERR_ARG, else
 * imgstat.Error. An exception that a callback left behind stays. */
PyObject *raise_result(State *state, ImgstatResult result, const ImgstatError *err);

#endif
