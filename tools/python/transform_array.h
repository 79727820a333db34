/* SPDX-License-Identifier: MIT */
/* transform_array.h: maps the images of an array to a new one, or to one of the caller. */
#ifndef IMGSTAT_PYTHON_TRANSFORM_ARRAY_H
#define IMGSTAT_PYTHON_TRANSFORM_ARRAY_H

#include "array_in.h"
#include "chains.h"

/* How images are mapped: by a method, each of them by itself, or by a transfer. */
typedef struct TransformWork {
    const ImgstatMethod *method;     /* NULL where there is a transfer */
    const ImgstatTransfer *transfer; /* NULL where there is a method */
    PyObject *reference;             /* an array, for IMGSTAT_MATCH; else NULL */
    HeldChain *chain;                /* NULL, or made for this method and images like these */
} TransformWork;

/* Returns an array of the kind, shape and device of `array`, or `out` if it is given: an array of
 * that shape and device that can be written. NULL: an exception. */
PyObject *transform_array(State *state, PyObject *array, PyObject *out, const TransformWork *work,
                          const ArrayOptions *options, const RunOptions *run);

/* Makes a chain for images like those of an array. 0, or -1 with an exception. */
int transform_chain(State *state, PyObject *array, const ImgstatMethod *method,
                    const ArrayOptions *options, const RunOptions *run, HeldChain **out);

#endif
