/* SPDX-License-Identifier: MIT */
/* method.h: keyword arguments that say how images are transformed. */
#ifndef IMGSTAT_PYTHON_METHOD_H
#define IMGSTAT_PYTHON_METHOD_H

#include "keywords.h"

/* All may be NULL or None. Numbers of ranges, mean and std may be text such as "5%". */
typedef struct MethodOptions {
    PyObject *clip;      /* (lo, hi): per cent cut at both ends, or with hi above 50 percentiles */
    PyObject *in_range;  /* (black, white) */
    PyObject *out_range; /* (lo, hi) */
    PyObject *mean, *std;
    PyObject *gamma;
    PyObject *tiles; /* (across, down) or one number */
    PyObject *clip_limit;
    PyObject *channels; /* "each", "joint", "luma" */
    PyObject *like;     /* "opencv" ... */
    PyObject *dtype;    /* "uint8", "uint16", "float" */
} MethodOptions;

extern const Keyword method_keywords[];

/* Reads the name of a transform. NULL or None: the one that the options are for, or a stretch. */
int transform_of_name(PyObject *name, const MethodOptions *options, ImgstatTransform *out);

/* Reads what a transform takes; an option that is not for it is a ValueError. 0, or -1 with an
 * exception. */
int method_read(const MethodOptions *options, ImgstatTransform transform, ImgstatMethod *out);

/* Returns the sample type that a method makes. */
ImgstatSample method_output(const ImgstatMethod *method, ImgstatSample sample);

#endif
