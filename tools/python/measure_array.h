/* SPDX-License-Identifier: MIT */
/* measure_array.h: measures the images of an array. */
#ifndef IMGSTAT_PYTHON_MEASURE_ARRAY_H
#define IMGSTAT_PYTHON_MEASURE_ARRAY_H

#include "array_in.h"
#include "measure.h"

/* Returns imgstat.Stats, or of a batch a list of these. NULL: an exception. */
PyObject *stats_of_array(State *state, PyObject *array, const ArrayOptions *array_options,
                         const MeasureOptions *options, const RunOptions *run);

/* Returns the record of all images of an array together, which merges with others. */
ImgstatRecord *measure_array(State *state, PyObject *array, const ArrayOptions *array_options,
                             const RunOptions *run);

#endif
