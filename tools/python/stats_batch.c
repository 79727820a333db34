/* SPDX-License-Identifier: MIT */
/* stats_batch.c: the sequence of the Stats of a batch on a GPU, each made when it is asked for. */
#include "chains.h"
#include "error.h"
#include "measure.h"
#include "methods.h"
#include "values.h"

#include <pthread.h>

typedef struct StatsBatch {
    PyObject_HEAD size_t n;
    ImgstatMeasure how; /* its percentiles are this object's */
    HeldChain *chain;
    PyObject *array; /* NULL once the measurement is done: its memory is read until then */
} StatsBatch;

/* Of chains, each of which one call uses at a time. */
static pthread_mutex_t reading = PTHREAD_MUTEX_INITIALIZER;

PyObject *stats_batch_of_later(State *state, HeldChain *chain, size_t n, PyObject *array,
                               const ImgstatMeasure *how)
{
    StatsBatch *const batch = PyObject_New(StatsBatch, (PyTypeObject *)state->stats_batch_type);
    if (!batch || !measure_copy(how, &batch->how)) {
        if (batch) {
            PyObject_Free(batch);
            Py_DECREF(state->stats_batch_type);
        }
        chain_give(chain);
        return PyErr_NoMemory();
    }
    batch->n = n;
    batch->chain = chain;
    batch->array = Py_NewRef(array);
    return (PyObject *)batch;
}

static void batch_dealloc(PyObject *self)
{
    StatsBatch *const batch = (StatsBatch *)self;
    PyTypeObject *const type = Py_TYPE(self);
    Py_BEGIN_ALLOW_THREADS
    chain_give(batch->chain);
    Py_END_ALLOW_THREADS
    Py_XDECREF(batch->array);
    measure_release(&batch->how);
    PyObject_Free(self);
    Py_DECREF(type);
}

static Py_ssize_t batch_length(PyObject *self)
{
    return (Py_ssize_t)((StatsBatch *)self)->n;
}

static PyObject *batch_item(PyObject *self, Py_ssize_t i)
{
    StatsBatch *const batch = (StatsBatch *)self;
    State *const state = state_of_type(Py_TYPE(self));
    ImgstatRecord *record;
    ImgstatError err;
    PyObject *array;
    ImgstatResult res;
    if (i < 0 || i >= batch_length(self)) {
        PyErr_SetString(PyExc_IndexError, "there is no such image in the batch");
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    pthread_mutex_lock(&reading);
    res = chain_record(batch->chain, (size_t)i, &batch->how, &record, &err);
    array = batch->array;
    if (res == IMGSTAT_OK)
        batch->array = NULL;
    pthread_mutex_unlock(&reading);
    Py_END_ALLOW_THREADS
    if (res != IMGSTAT_OK)
        return raise_result(state, res, &err);
    Py_XDECREF(array);
    return stats_of_record(state, record, &batch->how);
}

/* A number, from the end if it is negative, or a slice: a list. */
static PyObject *batch_subscript(PyObject *self, PyObject *key)
{
    const Py_ssize_t n = batch_length(self);
    Py_ssize_t first, stop, step;
    if (!PySlice_Check(key)) {
        const Py_ssize_t i = PyNumber_AsSsize_t(key, PyExc_IndexError);
        return i == -1 && PyErr_Occurred() ? NULL : batch_item(self, i < 0 ? i + n : i);
    }
    if (PySlice_Unpack(key, &first, &stop, &step) < 0)
        return NULL;
    const Py_ssize_t length = PySlice_AdjustIndices(n, &first, &stop, step);
    PyObject *const list = PyList_New(length);
    for (Py_ssize_t i = 0; list && i < length; i++) {
        PyObject *const stats = batch_item(self, first + i * step);
        if (!stats || PyList_SetItem(list, i, stats) < 0) {
            Py_DECREF(list);
            return NULL;
        }
    }
    return list;
}

static PyObject *batch_repr(PyObject *self)
{
    return PyUnicode_FromFormat("<imgstat.StatsBatch of %zd images>", batch_length(self));
}

/* Another process has no GPU memory of this one. */
static PyObject *batch_reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    PyObject *const list = PySequence_List(self);
    return list ? Py_BuildValue("O(N)", (PyObject *)&PyList_Type, list) : NULL;
}

static PyMethodDef batch_methods[] = {
    COPY_METHODS,
    {"__reduce__", batch_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot batch_slots[] = {
    {Py_tp_doc, "The Stats of the images of a batch on a GPU: a sequence, which nothing has waited "
                "for. The first that is asked for waits; each is made when it is asked for. It "
                "pickles as a list."},
    {Py_tp_dealloc, batch_dealloc},
    {Py_tp_repr, batch_repr},
    {Py_tp_methods, batch_methods},
    {Py_sq_length, batch_length},
    {Py_sq_item, batch_item},
    {Py_mp_length, batch_length},
    {Py_mp_subscript, batch_subscript},
    {0, NULL},
};

PyType_Spec stats_batch_spec = {
    .name = "imgstat.StatsBatch",
    .basicsize = sizeof(StatsBatch),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = batch_slots,
};

int stats_batch_register(const State *state)
{
    PyObject *const abc = PyImport_ImportModule("collections.abc");
    PyObject *const sequence = abc ? PyObject_GetAttrString(abc, "Sequence") : NULL;
    PyObject *const done =
        sequence ? PyObject_CallMethod(sequence, "register", "O", state->stats_batch_type) : NULL;
    Py_XDECREF(done);
    Py_XDECREF(sequence);
    Py_XDECREF(abc);
    return done ? 0 : -1;
}
