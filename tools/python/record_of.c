/* SPDX-License-Identifier: MIT */
/* record_of.c: Record.of, which measures an array or a file into a record. */
#include "error.h"
#include "measure_array.h"
#include "record.h"
#include "values.h"

/* Says which channel of a record is alpha; takes the record over. Records of pixels alone have
 * none, and merge with those that have. */
static ImgstatRecord *with_alpha(State *state, ImgstatRecord *record, PyObject *alpha)
{
    const long channels = imgstat_record_channels(record);
    long long number;
    ImgstatRecord *sum = NULL;
    if (integer_read(alpha, "alpha", -channels, channels - 1, &number) == 0) {
        ImgstatKind kind;
        ImgstatError err = {0};
        imgstat_record_kind(record, &kind);
        kind.alpha = (int16_t)(number < 0 ? number + channels : number);
        ImgstatResult res = imgstat_record_create(&kind, &sum, &err);
        if (res == IMGSTAT_OK)
            res = imgstat_record_merge(sum, record, &err);
        if (res != IMGSTAT_OK) {
            raise_result(state, res, &err);
            imgstat_record_destroy(sum);
            sum = NULL;
        }
    }
    imgstat_record_destroy(record);
    return sum;
}

static bool is_source(PyObject *x)
{
    return PyUnicode_Check(x) || PyBytes_Check(x) || PyObject_HasAttrString(x, "__fspath__") ||
           PyObject_HasAttrString(x, "read");
}

/* imgstat.open(x, **open).record(**others) */
static PyObject *of_file(State *state, PyObject *x, PyObject *kwargs)
{
    static const char *const words[] = {"pages", "region", "device", "threads"};
    PyObject *const open = kwargs ? PyDict_Copy(kwargs) : PyDict_New();
    PyObject *const measure = PyDict_New(), *const args = PyTuple_Pack(2, x, Py_None);
    PyObject *file = NULL, *method = NULL, *made = NULL;
    bool good = open && measure && args;
    for (size_t i = 0; good && i < sizeof words / sizeof words[0]; i++) {
        PyObject *const value = PyDict_GetItemString(open, words[i]);
        if (value)
            good = PyDict_SetItemString(measure, words[i], value) == 0 &&
                   PyDict_DelItemString(open, words[i]) == 0;
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
    static const Keyword own_keywords[] = {{"alpha", 0}, {NULL, 0}};
    ArrayOptions array = {NULL};
    RunOptions run = {NULL};
    PyObject *alpha = NULL;
    const KeywordSet sets[] = {
        {array_keywords, &array}, {run_keywords, &run}, {own_keywords, &alpha}};
    if (keywords_read("of", kwargs, sets, sizeof sets / sizeof sets[0]) < 0)
        return NULL;
    ImgstatRecord *record = measure_array(state, x, &array, &run);
    if (record && option_given(alpha))
        record = with_alpha(state, record, alpha);
    return record ? record_new(state, record) : NULL;
}
