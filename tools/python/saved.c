/* SPDX-License-Identifier: MIT */
/* saved.c: what Record, Dataset and Transfer have in common. */
#include "saved.h"

#include "error.h"
#include "work.h"

#include <stdlib.h>
#include <string.h>

/* ---- Calls of the library, without the GIL ---- */

/* Receives the bytes of an object, which free() frees. */
static ImgstatResult pack(Saved *self, void **out, size_t *n, ImgstatError *err)
{
    *out = NULL;
    *n = 0;
    if (self->not_saved) {
        *err = (ImgstatError){.code = IMGSTAT_ERR_ARG};
        strcpy(err->message, self->not_saved);
        return err->code;
    }
    pthread_mutex_lock(&self->lock);
    *n = self->kind->write(self->object, NULL, 0);
    *out = *n ? malloc(*n + 1) : NULL; /* texts end with a NUL */
    const bool written = *out && self->kind->write(self->object, *out, *n + 1) == *n;
    pthread_mutex_unlock(&self->lock);
    if (written)
        return IMGSTAT_OK;
    free(*out);
    *out = NULL;
    *err = (ImgstatError){.code = IMGSTAT_ERR_MEMORY};
    PyOS_snprintf(err->message, sizeof err->message, "no memory for the bytes of a %s",
                  self->kind->name);
    return err->code;
}

ImgstatResult saved_copy_object(PyObject *self, void **out, ImgstatError *err)
{
    Saved *const saved = (Saved *)self;
    void *bytes;
    size_t n;
    *out = NULL;
    ImgstatResult res = pack(saved, &bytes, &n, err);
    if (res == IMGSTAT_OK)
        res = saved->kind->make(bytes, n, out, err);
    free(bytes);
    return res;
}

/* Both locks are taken in the order of their addresses. */
static ImgstatResult merge(Saved *into, Saved *from, ImgstatError *err)
{
    if (into == from) {
        void *copy;
        ImgstatResult res = saved_copy_object((PyObject *)from, &copy, err);
        pthread_mutex_lock(&into->lock);
        if (res == IMGSTAT_OK)
            res = into->kind->merge(into->object, copy, err);
        pthread_mutex_unlock(&into->lock);
        into->kind->destroy(copy);
        return res;
    }
    Saved *const first = (uintptr_t)into < (uintptr_t)from ? into : from;
    Saved *const second = first == into ? from : into;
    pthread_mutex_lock(&first->lock);
    pthread_mutex_lock(&second->lock);
    const ImgstatResult res = into->kind->merge(into->object, from->object, err);
    pthread_mutex_unlock(&second->lock);
    pthread_mutex_unlock(&first->lock);
    return res;
}

/* ---- Objects ---- */

/* Of a class, which has no subclass. */
static const SavedKind *kind_of(PyTypeObject *type)
{
    const State *const state = state_of_type(type);
    return (PyObject *)type == state->record_type    ? &record_kind
           : (PyObject *)type == state->dataset_type ? &dataset_kind
                                                     : &transfer_kind;
}

PyObject *saved_new(PyTypeObject *type, void *object)
{
    const SavedKind *const kind = kind_of(type);
    Saved *const self = PyObject_New(Saved, type);
    if (!self) {
        kind->destroy(object);
        return NULL;
    }
    self->kind = kind;
    self->object = object;
    self->not_saved = NULL;
    atomic_init(&self->measured, false);
    pthread_mutex_init(&self->lock, NULL);
    return (PyObject *)self;
}

void saved_dealloc(PyObject *self)
{
    Saved *const saved = (Saved *)self;
    PyTypeObject *const type = Py_TYPE(self);
    saved->kind->destroy(saved->object);
    pthread_mutex_destroy(&saved->lock);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* A callback that looks before another thread begins to measure waits for that one, whose callbacks
 * wait for nobody. */
int saved_check(PyObject *self)
{
    const Saved *const saved = (Saved *)self;
    if (!work_is_within() || !atomic_load(&saved->measured))
        return 0;
    PyErr_Format(PyExc_RuntimeError, "the %s is being measured: callbacks cannot use it",
                 saved->kind->name);
    return -1;
}

void *saved_lock(PyObject *self)
{
    Saved *const saved = (Saved *)self;
    if (saved_check(self) < 0)
        return NULL;
    work_lock(&saved->lock);
    return saved->object;
}

void saved_unlock(PyObject *self)
{
    pthread_mutex_unlock(&((Saved *)self)->lock);
}

/* An object of what a call made, or the exception for its failure. */
static PyObject *made_of(PyTypeObject *type, void *object, ImgstatResult res,
                         const ImgstatError *err)
{
    return res == IMGSTAT_OK ? saved_new(type, object)
                             : raise_result(state_of_type(type), res, err);
}

PyObject *saved_copy(PyObject *self, PyObject *unused)
{
    (void)unused;
    void *made;
    ImgstatError err = {0};
    ImgstatResult res;
    if (saved_check(self) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    res = saved_copy_object(self, &made, &err);
    Py_END_ALLOW_THREADS
    return made_of(Py_TYPE(self), made, res, &err);
}

/* ---- Sums ---- */

/* Returns `into`, a new reference, or NULL. */
static PyObject *add_to(PyObject *into, PyObject *from)
{
    ImgstatError err = {0};
    ImgstatResult res;
    if (saved_check(into) < 0 || saved_check(from) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    res = merge((Saved *)into, (Saved *)from, &err);
    Py_END_ALLOW_THREADS
    return res == IMGSTAT_OK ? Py_NewRef(into)
                             : raise_result(state_of_type(Py_TYPE(into)), res, &err);
}

/* 0 is where sum() begins. */
static bool is_zero(PyObject *object)
{
    return PyLong_CheckExact(object) && !PyObject_IsTrue(object);
}

PyObject *saved_add(PyObject *a, PyObject *b)
{
    if (is_zero(a))
        return saved_copy(b, NULL);
    if (is_zero(b))
        return saved_copy(a, NULL);
    if (!Py_IS_TYPE(b, Py_TYPE(a)))
        Py_RETURN_NOTIMPLEMENTED;
    PyObject *const into = saved_copy(a, NULL);
    PyObject *const sum = into ? add_to(into, b) : NULL;
    Py_XDECREF(into);
    return sum;
}

PyObject *saved_add_in_place(PyObject *self, PyObject *other)
{
    if (!Py_IS_TYPE(other, Py_TYPE(self)))
        Py_RETURN_NOTIMPLEMENTED;
    return add_to(self, other);
}

/* What an object is a part of: a key of `sums` below. NULL: an exception. */
static PyObject *whole_of(PyObject *object)
{
    const SavedKind *const kind = ((Saved *)object)->kind;
    if (!kind->whole)
        return Py_NewRef(Py_None);
    void *const own = saved_lock(object);
    PyObject *const whole = own ? kind->whole(own) : NULL;
    if (own)
        saved_unlock(object);
    return whole;
}

/* Adds an object to the sum of what it is a part of. 0, or -1 with an exception. */
static int add_part(PyObject *sums, PyObject *object)
{
    PyObject *const whole = whole_of(object);
    PyObject *const sum = whole ? PyDict_GetItemWithError(sums, whole) : NULL;
    PyObject *const merged = sum                          ? add_to(sum, object)
                             : whole && !PyErr_Occurred() ? saved_copy(object, NULL)
                                                          : NULL;
    const int status = merged ? PyDict_SetItem(sums, whole, merged) : -1;
    Py_XDECREF(whole);
    Py_XDECREF(merged);
    return status;
}

/* Returns the sum of sums, or NULL with an exception. */
static PyObject *sum_up(PyObject *sums)
{
    PyObject *const list = PyDict_Values(sums);
    const Py_ssize_t n = list ? PyList_Size(list) : 0;
    PyObject *sum = n > 0 ? Py_NewRef(PyList_GetItem(list, 0)) : NULL;
    if (list && n == 0)
        PyErr_SetString(PyExc_ValueError, "there is nothing to merge");
    for (Py_ssize_t i = 1; sum && i < n; i++) {
        PyObject *const merged = add_to(sum, PyList_GetItem(list, i));
        Py_DECREF(sum);
        sum = merged;
    }
    Py_XDECREF(list);
    return sum;
}

PyObject *saved_merge(PyObject *type, PyObject *objects)
{
    const char *const name = kind_of((PyTypeObject *)type)->name;
    PyObject *const iterator = PyObject_GetIter(objects);
    PyObject *const sums = iterator ? PyDict_New() : NULL;
    PyObject *next;
    int status = sums ? 0 : -1;
    while (status == 0 && (next = PyIter_Next(iterator))) {
        if (Py_IS_TYPE(next, (PyTypeObject *)type))
            status = add_part(sums, next);
        else
            PyErr_Format(PyExc_TypeError, "%s.merge takes an iterable of %ss, not of %R", name,
                         name, (PyObject *)Py_TYPE(next));
        Py_DECREF(next);
        status = PyErr_Occurred() ? -1 : status;
    }
    PyObject *const sum = status == 0 && !PyErr_Occurred() ? sum_up(sums) : NULL;
    Py_XDECREF(iterator);
    Py_XDECREF(sums);
    return sum;
}

/* ---- Bytes ---- */

PyObject *saved_to_bytes(PyObject *self, PyObject *unused)
{
    (void)unused;
    void *bytes;
    size_t n;
    ImgstatError err = {0};
    ImgstatResult res;
    if (saved_check(self) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    res = pack((Saved *)self, &bytes, &n, &err);
    Py_END_ALLOW_THREADS
    if (res != IMGSTAT_OK)
        return raise_result(state_of_type(Py_TYPE(self)), res, &err);
    PyObject *const made = PyBytes_FromStringAndSize(bytes, (Py_ssize_t)n);
    free(bytes);
    return made;
}

PyObject *saved_from_bytes(PyObject *type, PyObject *bytes)
{
    const SavedKind *const kind = kind_of((PyTypeObject *)type);
    Py_buffer view;
    if (PyObject_GetBuffer(bytes, &view, PyBUF_SIMPLE) < 0)
        return NULL;
    void *made;
    ImgstatError err = {0};
    ImgstatResult res;
    Py_BEGIN_ALLOW_THREADS
    res = kind->make(view.buf, (size_t)view.len, &made, &err);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&view);
    return made_of((PyTypeObject *)type, made, res, &err);
}

PyObject *saved_reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    const char *const from = ((Saved *)self)->kind->from;
    PyObject *const make = PyObject_GetAttrString((PyObject *)Py_TYPE(self), from);
    PyObject *const bytes = make ? saved_to_bytes(self, NULL) : NULL;
    PyObject *const made = bytes ? Py_BuildValue("O(O)", make, bytes) : NULL;
    Py_XDECREF(make);
    Py_XDECREF(bytes);
    return made;
}

PyObject *saved_compare(PyObject *a, PyObject *b, int operation)
{
    if (!Py_IS_TYPE(b, Py_TYPE(a)) || (operation != Py_EQ && operation != Py_NE))
        Py_RETURN_NOTIMPLEMENTED;
    void *bytes_a = NULL, *bytes_b = NULL;
    size_t n_a, n_b;
    bool equal = false;
    ImgstatError err = {0};
    ImgstatResult res;
    if (saved_check(a) < 0 || saved_check(b) < 0)
        return NULL;
    if (a == b)
        return PyBool_FromLong(operation == Py_EQ);
    Py_BEGIN_ALLOW_THREADS
    res = pack((Saved *)a, &bytes_a, &n_a, &err);
    if (res == IMGSTAT_OK)
        res = pack((Saved *)b, &bytes_b, &n_b, &err);
    if (res == IMGSTAT_OK)
        equal = n_a == n_b && memcmp(bytes_a, bytes_b, n_a) == 0;
    free(bytes_a);
    free(bytes_b);
    Py_END_ALLOW_THREADS
    if (res != IMGSTAT_OK && res != IMGSTAT_ERR_ARG)
        return raise_result(state_of_type(Py_TYPE(a)), res, &err);
    return PyBool_FromLong(equal == (operation == Py_EQ));
}

/* ---- Files ---- */

PyObject *saved_save(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"path", "replace", NULL};
    PyObject *path;
    int replace = 0;
    if (saved_check(self) < 0 ||
        !PyArg_ParseTupleAndKeywords(args, kwargs, "O&|$p:save", names, PyUnicode_FSConverter,
                                     &path, &replace))
        return NULL;
    Saved *const saved = (Saved *)self;
    const char *const name = PyBytes_AsString(path);
    ImgstatError err = {0};
    ImgstatResult res;
    Py_BEGIN_ALLOW_THREADS
    pthread_mutex_lock(&saved->lock);
    res = saved->kind->save(saved->object, name, replace, &err);
    pthread_mutex_unlock(&saved->lock);
    Py_END_ALLOW_THREADS
    Py_DECREF(path);
    if (res != IMGSTAT_OK)
        return raise_result(state_of_type(Py_TYPE(self)), res, &err);
    Py_RETURN_NONE;
}

PyObject *saved_load(PyObject *type, PyObject *path)
{
    const SavedKind *const kind = kind_of((PyTypeObject *)type);
    PyObject *bytes;
    if (!PyUnicode_FSConverter(path, &bytes))
        return NULL;
    const char *const name = PyBytes_AsString(bytes);
    void *made;
    ImgstatError err = {0};
    ImgstatResult res;
    Py_BEGIN_ALLOW_THREADS
    res = kind->load(name, &made, &err);
    Py_END_ALLOW_THREADS
    Py_DECREF(bytes);
    return made_of((PyTypeObject *)type, made, res, &err);
}
