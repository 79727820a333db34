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

/* The types of a module, each where it is defined. */
extern PyType_Spec array_spec, chain_spec, dataset_spec, file_spec, histogram_spec, record_spec;
extern PyType_Spec stats_spec, stats_batch_spec, transfer_spec;

/* Its functions; each table ends with NULL. */
extern PyMethodDef measure_functions[], run_functions[], save_functions[], transform_functions[];
extern PyMethodDef transform_files_functions[];

/* Makes imgstat.Error: 0, or -1 with an exception. */
int error_add(PyObject *module);

/* Registers StatsBatch as a Sequence, as it has what one needs but for the names of abc's methods.
 * 0, or -1 with an exception. */
int stats_batch_register(const State *state);

#endif
