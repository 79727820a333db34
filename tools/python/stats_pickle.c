/* SPDX-License-Identifier: MIT */
/* stats_pickle.c: Stats to tuples of values and back. */
#include "stats.h"

#include <string.h>

/* The values themselves: the bytes of a record lack those for which the pixels are read again. */
static PyObject *fields_of(PyObject *self, uint16_t channel)
{
    PyObject *const fields = PyTuple_New(FIELDS);
    for (Field field = COUNT; fields && field < FIELDS; field++) {
        PyObject *const value = stats_field(self, channel, field);
        if (!value || PyTuple_SetItem(fields, field, value) < 0) {
            Py_DECREF(fields);
            return NULL;
        }
    }
    return fields;
}

PyObject *stats_reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    Stats *const stats = (Stats *)self;
    const ImgstatMeasure *const how = &stats->how;
    if (stats_settle(stats) < 0)
        return NULL;
    PyObject *const make = PyObject_GetAttrString((PyObject *)Py_TYPE(self), "_of");
    PyObject *const values = PyTuple_New(stats->channels);
    for (uint16_t c = 0; values && c < stats->channels && !PyErr_Occurred(); c++)
        PyTuple_SetItem(values, c, fields_of(self, c));
    PyObject *const made =
        make && values && !PyErr_Occurred()
            ? Py_BuildValue("O(siiiiO)", make, imgstat_sample_name(stats->sample), how->median,
                            how->mode, how->shape, how->histogram, values)
            : NULL;
    Py_XDECREF(make);
    Py_XDECREF(values);
    return made;
}

PyObject *stats_unpickle(PyObject *type, PyObject *args)
{
    const char *name;
    int median, mode, shape, histogram;
    PyObject *values;
    if (!PyArg_ParseTuple(args, "sppppO!:_of", &name, &median, &mode, &shape, &histogram,
                          &PyTuple_Type, &values))
        return NULL;
    const Py_ssize_t channels = PyTuple_Size(values);
    bool good = channels > 0 && channels <= UINT16_MAX;
    for (Py_ssize_t c = 0; good && c < channels; c++) {
        PyObject *const fields = PyTuple_GetItem(values, c);
        good = PyTuple_Check(fields) && PyTuple_Size(fields) == FIELDS;
    }
    int sample = IMGSTAT_U8;
    while (sample <= IMGSTAT_F64 && strcmp(imgstat_sample_name((ImgstatSample)sample), name) != 0)
        sample++;
    if (!good || sample > IMGSTAT_F64) {
        PyErr_SetString(PyExc_ValueError, "this Stats was pickled by another version of imgstat");
        return NULL;
    }
    const ImgstatMeasure how = {
        .median = median, .mode = mode, .shape = shape, .histogram = histogram};
    Stats *const stats = stats_new(state_of_type((PyTypeObject *)type), NULL, 1, &how);
    if (!stats)
        return NULL;
    stats->values = Py_NewRef(values);
    stats->sample = (ImgstatSample)sample;
    stats->channels = (uint16_t)channels;
    return (PyObject *)stats;
}
