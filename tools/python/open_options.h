/* SPDX-License-Identifier: MIT */
/* open_options.h: keyword arguments that say how files are opened. */
#ifndef IMGSTAT_PYTHON_OPEN_OPTIONS_H
#define IMGSTAT_PYTHON_OPEN_OPTIONS_H

#include "keywords.h"

/* All may be NULL or None. */
typedef struct OpenOptions {
    PyObject *salvage, *indices, *ignore_masks, *alpha_masks; /* bool */
    PyObject *mask;                                           /* a path */
    PyObject *mask_page;                                      /* the name of a page */
    PyObject *nodata;                                         /* a number */
    PyObject *limits; /* a dict: those of ImgstatLimits by name */
} OpenOptions;

extern const Keyword open_keywords[];

/* What the library takes, and what its texts are in. */
typedef struct OpenHow {
    ImgstatOpen open;
    PyObject *mask, *mask_page; /* bytes, or NULL */
} OpenHow;

/* 0, or -1 with an exception. open_release ends it, after a failure too. */
int open_read(const OpenOptions *options, OpenHow *out);
void open_release(OpenHow *how);

#endif
