/* SPDX-License-Identifier: MIT */
/* record_of.c: Record.of, which measures an array or a file into a record. */
#include "error.h"
#include "lookup.h"
#include "measure_array.h"
#include "record.h"
#include "values.h"

/* Sets which value of an array is nodata, whether it has a mask and which channel is alpha, as the
 * caller says. 0, or -1 with an exception. */
static int describe(State *state, ImgstatRecord *record, const ArrayOptions *array, PyObject *alpha)
{
    ImgstatKind kind;
    imgstat_record_kind(record, &kind);
    const long channels = kind.channels;
    long long number = kind.alpha;
    kind.has_nodata = option_given(array->nodata);
    kind.mask = option_given(array->mask);
    if ((kind.has_nodata && value_read(array->nodata, "nodata", &kind.nodata) < 0) ||
        (option_given(alpha) && integer_read(alpha, "alpha", -channels, channels - 1, &number) < 0))
        return -1;
    if (option_given(alpha))
        kind.alpha = (int16_t)(number < 0 ? number + channels : number);
    ImgstatError err = {0};
    const ImgstatResult res = imgstat_record_set_kind(record, &kind, &err);
    if (res != IMGSTAT_OK)
        raise_result(state, res, &err);
    return res == IMGSTAT_OK ? 0 : -1;
}

static bool is_source(PyObject *x)
{
    return PyUnicode_Check(x) || PyBytes_Check(x) || attribute_has(x, "__fspath__") ||
           (!PyErr_Occurred() && attribute_has(x, "read"));
}

/* imgstat.open(x, **open).record(**others) */
static PyObject *of_file(State *state, PyObject *x, PyObject *kwargs)
{
    static const char *const words[] = {"pages", "region", "device", "threads"};
    PyObject *const open = kwargs ? PyDict_Copy(kwargs) : PyDict_New();
    PyObject *const name = open ? dict_find(open, "name") : NULL;
    PyObject *const measure = PyDict_New();
    PyObject *const args = PyErr_Occurred() ? NULL : PyTuple_Pack(2, x, name ? name : Py_None);
    PyObject *file = NULL, *method = NULL, *made = NULL;
    bool good = open && measure && args && (!name || PyDict_DelItemString(open, "name") == 0);
    for (size_t i = 0; good && i < sizeof words / sizeof words[0]; i++) {
        PyObject *const value = dict_find(open, words[i]);
        good = value ? PyDict_SetItemString(measure, words[i], value) == 0 &&
                           PyDict_DelItemString(open, words[i]) == 0
                     : !PyErr_Occurred();
    }
    if (good && (file = PyObject_Call(state->file_type, args, open)) &&
        (method = PyObject_GetAttrString(file, "record"))) {
        PyObject *const none = PyTuple_New(0);
        made = none ? PyObject_Call(method, none, measure) : NULL;
        Py_XDECREF(none);
    }
    Py_XDECREF(method);
    Py_XDECREF(file);
    Py_XDECREF(args);
    Py_XDECREF(measure);
    Py_XDECREF(open);
    return made;
}

PyObject *record_of(PyObject *type, PyObject *args, PyObject *kwargs)
{
    State *const state = state_of_type((PyTypeObject *)type);
    PyObject *x;
    if (!PyArg_ParseTuple(args, "O:of", &x))
        return NULL;
    if (is_source(x))
        return of_file(state, x, kwargs);
    if (PyErr_Occurred())
        return NULL;
    static const Keyword own_keywords[] = {{"alpha", 0}, {NULL, 0}};
    ArrayOptions array = {NULL};
    RunOptions run = {NULL};
    PyObject *alpha = NULL;
    const KeywordSet sets[] = {
        {array_keywords, &array}, {run_keywords, &run}, {own_keywords, &alpha}};
    if (keywords_read("of", kwargs, sets, sizeof sets / sizeof sets[0]) < 0)
        return NULL;
    ImgstatRecord *const record = measure_array(state, x, &array, &run);
    if (record && describe(state, record, &array, alpha) == 0)
        return record_new(state, record);
    imgstat_record_destroy(record);
    return NULL;
}
