/* SPDX-License-Identifier: MIT */
/* values.c: numbers of the library as objects, and options that are numbers or text. */
#include "values.h"

#include "error.h"
#include "keywords.h"

#include <math.h>
#include <string.h>

PyObject *value_object(ImgstatValue value)
{
    switch (value.sample) {
    case IMGSTAT_U8:
    case IMGSTAT_U16:
    case IMGSTAT_U32:
    case IMGSTAT_U64:
        return PyLong_FromUnsignedLongLong(value.as.u);
    case IMGSTAT_I8:
    case IMGSTAT_I16:
    case IMGSTAT_I32:
    case IMGSTAT_I64:
        return PyLong_FromLongLong(value.as.i);
    default:
        return isnan(value.as.f) ? Py_NewRef(Py_None) : PyFloat_FromDouble(value.as.f);
    }
}

/* Says what an option of the wrong type should be. Returns -1. */
static int refuse_type(PyObject *option, const char *name, const char *what)
{
    if (PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "%s=%R should be %s", name, option, what);
    }
    return -1;
}

int number_read(PyObject *number, const char *name, double *out)
{
    *out = PyFloat_AsDouble(number);
    return *out == -1 && PyErr_Occurred() ? refuse_type(number, name, "a number") : 0;
}

/* An int beyond 64 bits, as the double that it is; or not a number, perhaps with an exception. */
static double exact_double(PyObject *whole)
{
    const double near = PyLong_AsDouble(whole);
    if (PyErr_Occurred()) { /* it is beyond all doubles */
        (void)error_dismiss();
        return NAN;
    }
    PyObject *const same = PyLong_FromDouble(near);
    const bool exact = same && PyObject_RichCompareBool(whole, same, Py_EQ) > 0;
    Py_XDECREF(same);
    return exact ? near : NAN;
}

int value_read(PyObject *number, const char *name, ImgstatValue *out)
{
    *out = (ImgstatValue){.sample = IMGSTAT_F64};
    if (!PyIndex_Check(number))
        return number_read(number, name, &out->as.f);
    PyObject *const whole = PyNumber_Index(number);
    if (!whole)
        return refuse_type(number, name, "a number");
    int beyond;
    *out =
        (ImgstatValue){.sample = IMGSTAT_I64, .as.i = PyLong_AsLongLongAndOverflow(whole, &beyond)};
    if (beyond > 0)
        *out = (ImgstatValue){.sample = IMGSTAT_U64, .as.u = PyLong_AsUnsignedLongLong(whole)};
    if (beyond < 0 || PyErr_Occurred()) {
        PyErr_Clear();
        *out = (ImgstatValue){.sample = IMGSTAT_F64, .as.f = exact_double(whole)};
    }
    Py_DECREF(whole);
    return PyErr_Occurred() ? -1 : 0;
}

int integer_read(PyObject *number, const char *name, long long least, long long most,
                 long long *out)
{
    int beyond;
    *out = PyLong_AsLongLongAndOverflow(number, &beyond);
    if (*out == -1 && PyErr_Occurred())
        return refuse_type(number, name, "a whole number");
    if (beyond == 0 && *out >= least && *out <= most)
        return 0;
    PyErr_Format(PyExc_ValueError, "%s=%R should be from %lld to %lld", name, number, least, most);
    return -1;
}

int text_read(PyObject *option, const char *name, const char **out)
{
    *out = NULL;
    if (!option_given(option))
        return 0;
    if (!PyUnicode_Check(option)) {
        PyErr_Format(PyExc_TypeError, "%s=%R should be text", name, option);
        return -1;
    }
    Py_ssize_t bytes;
    *out = PyUnicode_AsUTF8AndSize(option, &bytes);
    if (*out && strlen(*out) != (size_t)bytes) {
        PyErr_Format(PyExc_ValueError, "%s=%R has a NUL character", name, option);
        return -1;
    }
    return *out ? 0 : -1;
}

PyObject *each_channel(uint16_t channels, PyObject *(*make)(void *context, uint16_t channel),
                       void *context)
{
    if (channels == 1)
        return make(context, 0);
    PyObject *const tuple = PyTuple_New(channels);
    for (uint16_t c = 0; tuple && c < channels; c++) {
        PyObject *const item = make(context, c);
        if (!item || PyTuple_SetItem(tuple, c, item) < 0) {
            Py_DECREF(tuple);
            return NULL;
        }
    }
    return tuple;
}
