/* SPDX-License-Identifier: MIT */
/* error.h: results of the library as exceptions. */
#ifndef IMGSTAT_PYTHON_ERROR_H
#define IMGSTAT_PYTHON_ERROR_H

#include "module.h"

/* Raises what a failed call reports, and returns NULL: ValueError for IMGSTAT_ERR_ARG, else
 * imgstat.Error. An exception that a callback left behind stays. */
PyObject *raise_result(State *state, ImgstatResult result, const ImgstatError *err);

/* Returns an imgstat.Error. */
PyObject *error_object(State *state, const ImgstatError *err);

/* Keeps the current exception of a callback for the call of the library that it is in, if *kept is
 * NULL, and writes a sentence for that: what failed, and the exception's own. */
ImgstatResult error_keep(PyObject **kept, const char *what, ImgstatError *err);

/* Clears an exception (or none) that says only that something optional cannot be had. False: it is
 * a lack of memory or no Exception, and stays. */
bool error_dismiss(void);

/* Whether what was kept (NULL: nothing) is no Exception, but KeyboardInterrupt or the like, which
 * ends everything. */
bool error_ends(PyObject *kept);

/* Raises what a failed call reports, with what was kept as its cause; takes that over (NULL: there
 * is none). What is no Exception, such as KeyboardInterrupt, is raised itself. Returns NULL. */
PyObject *raise_because(State *state, PyObject *kept, ImgstatResult result,
                        const ImgstatError *err);

#endif
