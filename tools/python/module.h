/* SPDX-License-Identifier: MIT */
/* module.h: the extension imgstat._imgstat, and what its parts share.
 *
 * Plain C against the limited API of Python 3.11. Nothing is static but what never changes: objects
 * and open devices belong to the State of a module. */
#ifndef IMGSTAT_PYTHON_MODULE_H
#define IMGSTAT_PYTHON_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "imgstat.h"

/* Of one interpreter. Objects come first and are all PyObject *: STATE_OBJECTS of them. */
typedef struct State {
    PyObject *error; /* imgstat.Error */
    PyObject *array_type, *stats_type, *stats_batch_type, *histogram_type;
    PyObject *record_type, *transfer_type, *file_type, *dataset_type;
    PyObject *chain_type;
    struct HeldChain *chains;   /* of chains.c; the first member that is no object */
    struct OpenDevice *devices; /* of device.c */
} State;

enum { STATE_OBJECTS = offsetof(State, chains) / sizeof(PyObject *) };

/* The State of the module, or of the module that made a type. Never NULL. */
State *state_of(PyObject *module);
State *state_of_type(PyTypeObject *type);

/* Each adds its part to the module: 0, or -1 with an exception. */
int add_array(PyObject *module);
int add_chain(PyObject *module);
int add_dataset(PyObject *module);
int add_error(PyObject *module);
int add_file(PyObject *module);
int add_histogram(PyObject *module);
int add_measure(PyObject *module);
int add_record(PyObject *module);
int add_run(PyObject *module);
int add_save(PyObject *module);
int add_stats(PyObject *module);
int add_stats_batch(PyObject *module);
int add_transfer(PyObject *module);
int add_transform(PyObject *module);
int add_transform_files(PyObject *module);

#endif
