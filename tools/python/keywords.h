/* SPDX-License-Identifier: MIT */
/* keywords.h: keyword arguments that many functions have, in tables. */
#ifndef IMGSTAT_PYTHON_KEYWORDS_H
#define IMGSTAT_PYTHON_KEYWORDS_H

#include "module.h"

/* A keyword, and where its value goes: a PyObject * of a struct, which borrows the reference. */
typedef struct Keyword {
    const char *name; /* NULL ends a table */
    size_t offset;
} Keyword;

/* A table and the struct that it is for. */
typedef struct KeywordSet {
    const Keyword *table;
    void *options;
} KeywordSet;

/* Where a function runs. All may be NULL or None. */
typedef struct RunOptions {
    PyObject *device;  /* "cpu", "cuda:0": for arrays in host memory */
    PyObject *threads; /* of the processor */
} RunOptions;

extern const Keyword run_keywords[];

/* Sorts keyword arguments (NULL: none) into n structs. 0, or -1 with an exception, also where one
 * is in no table, or has a value already: by position, or by another name. */
int keywords_read(const char *function, PyObject *kwargs, const KeywordSet *sets, size_t n);

/* Moves a keyword argument, if it is there, from a copy of a function's keywords (NULL: none) to
 * *value, which borrows it from these. 0, or -1 with an exception, as above. */
int keyword_take(const char *function, const char *name, PyObject *keywords, PyObject **value);

/* Reads where to run: device NULL for where the pixels are, threads 0 for all processors. */
int run_read(const RunOptions *options, const char **device, unsigned *threads);

/* Whether an option is there and not None. */
bool option_given(PyObject *option);

#endif
