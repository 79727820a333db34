/* SPDX-License-Identifier: MIT */
/* histogram.h: imgstat.Histogram. */
#ifndef IMGSTAT_PYTHON_HISTOGRAM_H
#define IMGSTAT_PYTHON_HISTOGRAM_H

#include "module.h"

/* Makes the Histogram of a channel. owner: the object with the record, which it keeps. */
PyObject *histogram_object(PyObject *owner, const ImgstatRecord *record, uint16_t channel);

#endif
