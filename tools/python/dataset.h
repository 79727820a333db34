/* SPDX-License-Identifier: MIT */
/* dataset.h: the class Dataset, records of many files. */
#ifndef IMGSTAT_PYTHON_DATASET_H
#define IMGSTAT_PYTHON_DATASET_H

#include "saved.h"

/* Makes a Dataset, which takes over that of the library, also on failure: NULL, with an exception.
 */
PyObject *dataset_new(State *state, ImgstatDataset *dataset);

/* What a Dataset has of files: dataset_measure.c. */
PyObject *dataset_measure(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *dataset_stats(PyObject *self, PyObject *args, PyObject *kwargs);

/* Its attributes: dataset_account.c. */
extern PyGetSetDef dataset_attributes[];

#endif
