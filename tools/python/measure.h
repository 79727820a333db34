/* SPDX-License-Identifier: MIT */
/* measure.h: statistics from Python: what is asked for, and imgstat.Stats. */
#ifndef IMGSTAT_PYTHON_MEASURE_H
#define IMGSTAT_PYTHON_MEASURE_H

#include "keywords.h"

/* Keyword arguments that say what is measured. All may be NULL or None. */
typedef struct MeasureOptions {
    PyObject *percentiles; /* numbers, 0 to 100 */
    PyObject *method;      /* of percentiles: "linear", "nearest" */
    PyObject *bins, *range;
    PyObject *ddof;
    PyObject *median, *mode, *shape; /* wider types have these on request */
} MeasureOptions;

extern const Keyword measure_keywords[];

/* Turns them into what the library takes; of samples of at most 16 bits (`narrow`) the histogram is
 * always measured. 0, or -1 with an exception. measure_release ends it, after a failure too. */
int measure_read(const MeasureOptions *options, bool narrow, ImgstatMeasure *out);
void measure_release(ImgstatMeasure *measure);

/* Reads a tuple (x, y, width, height); None is the whole image. 0, or -1 with an exception. */
int region_read(PyObject *region, ImgstatRegion *out);

/* Copies it with its percentiles; measure_release ends the copy. False: there is no memory. */
bool measure_copy(const ImgstatMeasure *measure, ImgstatMeasure *out);

/* Whether one percentile is asked for: by a number, or an array without axes. */
bool percentile_is_one(PyObject *asked);

/* Returns the percentiles that were asked for, by a number or a list, in that form. values: a dict
 * of them as Stats has it, or a tuple or list of such. */
PyObject *percentile_answer(PyObject *values, PyObject *asked);

/* Makes a Stats of a record that was computed, and takes the record over, also after a failure.
 * how: what was computed; it is copied. NULL: an exception. */
PyObject *stats_of_record(State *state, ImgstatRecord *record, const ImgstatMeasure *how);

/* The same of a record that an object has, which nothing changes any more: it stays the object's.
 */
PyObject *stats_of_owned(State *state, ImgstatRecord *record, PyObject *owner,
                         const ImgstatMeasure *how);

/* The same of a measurement that has been enqueued: the Stats waits for it when it is asked. array:
 * kept until then, as its memory is read. */
struct HeldChain;
PyObject *stats_of_later(State *state, struct HeldChain *chain, const ImagePro *image,
                         PyObject *array, const ImgstatMeasure *how);

/* Makes the sequence of the Stats of n images whose measurement has been enqueued; the first that
 * is asked for waits for it. */
PyObject *stats_batch_of_later(State *state, struct HeldChain *chain, size_t n, PyObject *array,
                               const ImgstatMeasure *how);

/* stats_of_record of records of one channel each, which are the channels. The list is copied. */
PyObject *stats_of_planes(State *state, ImgstatRecord **records, uint16_t n,
                          const ImgstatMeasure *how);

#endif
