/* SPDX-License-Identifier: MIT */
/* array_view.c: views arrays by the buffer protocol and by the array interfaces of numpy and CUDA.
 */
#include "array_out.h"
#include "driver.h"
#include "error.h"
#include "lookup.h"

#include <stdlib.h>
#include <string.h>

/* ---- Sample types ---------------------------------------------------------------------------- */

typedef struct SampleType {
    char kind;
    unsigned bytes;
    const char *dtype, *format;
} SampleType;

static const SampleType types[] = {
    [IMGSTAT_U8] = {'u', 1, "uint8", "B"},    [IMGSTAT_I8] = {'i', 1, "int8", "b"},
    [IMGSTAT_U16] = {'u', 2, "uint16", "H"},  [IMGSTAT_I16] = {'i', 2, "int16", "h"},
    [IMGSTAT_F16] = {'f', 2, "float16", "e"}, [IMGSTAT_U32] = {'u', 4, "uint32", "I"},
    [IMGSTAT_I32] = {'i', 4, "int32", "i"},   [IMGSTAT_F32] = {'f', 4, "float32", "f"},
    [IMGSTAT_U64] = {'u', 8, "uint64", "Q"},  [IMGSTAT_I64] = {'i', 8, "int64", "q"},
    [IMGSTAT_F64] = {'f', 8, "float64", "d"},
};

const char *sample_dtype(ImgstatSample sample)
{
    return types[sample].dtype;
}

const char *sample_format(ImgstatSample sample)
{
    return types[sample].format;
}

bool sample_find(char kind, size_t bytes, ImgstatSample *out)
{
    for (unsigned s = IMGSTAT_U8; s <= IMGSTAT_F64; s++)
        if (types[s].kind == kind && types[s].bytes == bytes) {
            *out = (ImgstatSample)s;
            return true;
        }
    return false;
}

static int wrong_type(const char *what, const char *name)
{
    PyErr_Format(PyExc_TypeError,
                 "%s has elements of type '%s': imgstat takes integers of 8 to 64 bits and floats "
                 "of 16, 32 and 64; convert it, or choose a field of a structured array",
                 what, name);
    return -1;
}

static int set_sample(ArrayView *view, const char *what, char kind, size_t bytes, const char *name)
{
    view->boolean = (kind == 'b' || kind == '?') && bytes == 1;
    if (sample_find(view->boolean ? 'u' : kind, bytes, &view->sample))
        return 0;
    return wrong_type(what, name);
}

/* ---- Buffers --------------------------------------------------------------------------------- */

/* Reads a format of the struct module that is one number. */
static int set_format(ArrayView *view, const char *what, const char *format, size_t bytes)
{
    const char *const name = format ? format : "B";
    const char *letter = name;
    if (*letter && strchr("@=<>!", *letter))
        view->swapped = *letter == '>' || *letter == '!', letter++;
    char kind = 0;
    if (*letter && !letter[1])
        kind = strchr("BHILQN", *letter)   ? 'u'
               : strchr("bhilqn", *letter) ? 'i'
               : strchr("efd", *letter)    ? 'f'
               : *letter == '?'            ? 'b'
                                           : '\0';
    return set_sample(view, what, kind, bytes, name);
}

static int set_dims(ArrayView *view, const char *what, int n)
{
    view->n_dims = n;
    if (n <= ARRAY_DIMS)
        return 0;
    PyErr_Format(PyExc_ValueError, "%s has %d axes; imgstat takes at most %d", what, n, ARRAY_DIMS);
    return -1;
}

static void c_strides(ArrayView *view, size_t bytes)
{
    uint64_t stride = bytes; /* it wraps around where no memory holds the array */
    for (int i = view->n_dims - 1; i >= 0; i--) {
        view->strides[i] = (int64_t)stride;
        stride *= (uint64_t)view->shape[i];
    }
}

/* Of some types, such as times, numpy makes no buffer: a ValueError, as of no other array. */
static int no_buffer(PyObject *array, const char *what, ArrayKind kind)
{
    if (kind != ARRAY_NUMPY || !PyErr_ExceptionMatches(PyExc_ValueError))
        return -1;
    PyErr_Clear();
    PyObject *const type = PyObject_GetAttrString(array, "dtype");
    PyObject *const text = type ? PyObject_Str(type) : NULL;
    const char *const name = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    const int status = name ? wrong_type(what, name) : -1;
    Py_XDECREF(text);
    Py_XDECREF(type);
    return status;
}

static int view_buffer(PyObject *array, const char *what, ArrayView *view)
{
    if (PyObject_GetBuffer(array, &view->buffer, PyBUF_RECORDS_RO) < 0)
        return no_buffer(array, what, view->kind);
    view->has_buffer = true;
    const Py_buffer *const buffer = &view->buffer;
    view->memory = IMGSTAT_HOST;
    view->data = (uintptr_t)buffer->buf;
    view->readonly = buffer->readonly;
    if (set_format(view, what, buffer->format, (size_t)buffer->itemsize) < 0 ||
        set_dims(view, what, buffer->ndim) < 0)
        return -1;
    for (int i = 0; i < buffer->ndim; i++) {
        view->shape[i] = buffer->shape[i];
        if (buffer->strides)
            view->strides[i] = buffer->strides[i];
    }
    if (!buffer->strides)
        c_strides(view, (size_t)buffer->itemsize);
    return 0;
}

/* ---- Array interfaces ------------------------------------------------------------------------ */

static int read_numbers(PyObject *tuple, const char *what, int64_t least, ArrayView *view,
                        int64_t *out)
{
    const Py_ssize_t n = PySequence_Size(tuple);
    if (n < 0 || set_dims(view, what, (int)(n < INT32_MAX ? n : INT32_MAX)) < 0)
        return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *const item = PySequence_GetItem(tuple, i);
        out[i] = item ? PyLong_AsLongLong(item) : -1;
        Py_XDECREF(item);
        if (PyErr_Occurred())
            return -1;
        if (out[i] < least) {
            PyErr_Format(PyExc_ValueError, "%s has an axis of length %lld", what,
                         (long long)out[i]);
            return -1;
        }
    }
    return 0;
}

/* A type such as "<u2". */
static int set_typestr(ArrayView *view, const char *what, PyObject *text)
{
    const char *const type = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    if (!type || strlen(type) < 3) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_TypeError, "%s has an array interface without a typestr", what);
        return -1;
    }
    char *end;
    const size_t bytes = strtoul(type + 2, &end, 10);
    view->swapped = *type == '>';
    return strchr("<>|=", *type) && !*end ? set_sample(view, what, type[1], bytes, type)
                                          : wrong_type(what, type);
}

/* offset: in the buffer of host memory; NULL: 0. */
static int set_buffer(ArrayView *view, const char *what, PyObject *data, PyObject *offset)
{
    const Py_ssize_t first = offset ? PyNumber_AsSsize_t(offset, PyExc_OverflowError) : 0;
    if (PyErr_Occurred() || PyObject_GetBuffer(data, &view->buffer, PyBUF_SIMPLE) < 0)
        return -1;
    view->has_buffer = true;
    view->readonly = view->buffer.readonly;
    if (first < 0 || first > view->buffer.len) {
        PyErr_Format(PyExc_ValueError, "%s has an array interface with the offset %zd in %zd bytes",
                     what, first, view->buffer.len);
        return -1;
    }
    view->data = (uintptr_t)view->buffer.buf + (size_t)first;
    return 0;
}

/* (address, read-only), or of host memory an object with a buffer. */
static int set_data(ArrayView *view, const char *what, PyObject *interface)
{
    PyObject *const data = dict_find(interface, "data");
    if (data && PyTuple_Check(data) && PyTuple_Size(data) == 2) {
        view->data = (uintptr_t)PyLong_AsUnsignedLongLong(PyTuple_GetItem(data, 0));
        view->readonly = PyObject_IsTrue(PyTuple_GetItem(data, 1)) != 0;
        return PyErr_Occurred() ? -1 : 0;
    }
    if (data && PyObject_CheckBuffer(data) && view->memory == IMGSTAT_HOST)
        return set_buffer(view, what, data, dict_find(interface, "offset"));
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "%s has an array interface without data", what);
    return -1;
}

/* The length of a buffer that comes without a shape of its own. */
static int check_length(const ArrayView *view, const char *what)
{
    uint64_t bytes = imgstat_sample_bytes(view->sample);
    for (int i = 0; i < view->n_dims; i++)
        if (view->shape[i] < 0 || __builtin_mul_overflow(bytes, (uint64_t)view->shape[i], &bytes))
            bytes = UINT64_MAX, i = view->n_dims;
    const uint64_t before = view->data - (uintptr_t)view->buffer.buf;
    if (!view->has_buffer ||
        (bytes <= (uint64_t)view->buffer.len - before && array_view_contiguous(view)))
        return 0;
    PyErr_Format(PyExc_ValueError, "%s has less memory than its shape says", what);
    return -1;
}

/* interface: the dictionary. */
static int view_interface(PyObject *array, const char *what, PyObject *interface, ArrayView *view)
{
    PyObject *const mask = dict_find(interface, "mask");
    PyObject *const shape = PyErr_Occurred() ? NULL : dict_find(interface, "shape");
    PyObject *const strides = shape ? dict_find(interface, "strides") : NULL;
    if (PyErr_Occurred())
        return -1;
    if (!shape || (mask && mask != Py_None)) {
        PyErr_Format(PyExc_TypeError, "%s has an array interface %s", what,
                     shape ? "with a mask: give it as mask=" : "without a shape");
        return -1;
    }
    if (set_typestr(view, what, dict_find(interface, "typestr")) < 0 ||
        set_data(view, what, interface) < 0 || read_numbers(shape, what, 0, view, view->shape) < 0)
        return -1;
    c_strides(view, imgstat_sample_bytes(view->sample));
    const int n = view->n_dims;
    if (strides && strides != Py_None &&
        read_numbers(strides, what, INT64_MIN, view, view->strides) < 0)
        return -1;
    if (view->n_dims != n) {
        PyErr_Format(PyExc_ValueError, "%s has an array interface with %d strides for %d axes",
                     what, view->n_dims, n);
        return -1;
    }
    if (check_length(view, what) < 0)
        return -1;
    view->owner = Py_NewRef(array);
    return 0;
}

/* A copy of an array interface, which no other thread changes; NULL, without an exception where
 * there is none. */
static PyObject *interface_of(PyObject *array, const char *what, const char *name)
{
    PyObject *const interface = attribute_find(array, name);
    PyObject *copy = NULL;
    if (interface && PyDict_Check(interface))
        copy = PyDict_Copy(interface);
    else if (interface)
        PyErr_Format(PyExc_TypeError, "%s has an array interface that is no dictionary", what);
    Py_XDECREF(interface);
    return copy;
}

/* Chooses the stream, which waits for the one in whose order the elements are there. */
static int set_stream(State *state, void *own, PyObject *stream, ArrayView *view)
{
    ImgstatError err;
    if (array_stream(stream, own, &view->stream) < 0)
        return -1;
    const ImgstatResult res = driver_order(view->device_id, own, view->stream, &err);
    if (res == IMGSTAT_OK)
        return 0;
    raise_result(state, res, &err);
    return -1;
}

static int view_cuda(State *state, PyObject *array, const char *what, PyObject *interface,
                     PyObject *stream, ArrayView *view)
{
    void *own, *otherwise;
    view->memory = IMGSTAT_CUDA;
    /* Without a stream of its own, an array is there for every stream. */
    if (view_interface(array, what, interface, view) < 0 ||
        array_stream(stream, array_legacy_stream, &otherwise) < 0 ||
        array_stream(dict_find(interface, "stream"), otherwise, &own) < 0 || PyErr_Occurred())
        return -1;
    view->device_id = driver_device_of(view->data);
    return set_stream(state, own, stream, view);
}

/* An imgstat.Array in GPU memory. */
static int view_own(State *state, PyObject *array, PyObject *stream, ArrayView *view)
{
    const ArrayParts *const parts = array_parts(array);
    view->memory = parts->memory;
    view->device_id = parts->device_id;
    view->data = parts->data;
    view->sample = parts->sample;
    view->readonly = parts->readonly;
    view->n_dims = parts->n_dims;
    memcpy(view->shape, parts->shape, sizeof view->shape);
    memcpy(view->strides, parts->strides, sizeof view->strides);
    view->owner = Py_NewRef(array);
    if (set_stream(state, parts->stream, stream, view) < 0)
        return -1;
    if (view->stream != parts->stream)
        array_set_shared(array);
    return 0;
}

/* ---- Any array ------------------------------------------------------------------------------- */

int array_stream(PyObject *stream, void *otherwise, void **out)
{
    *out = otherwise;
    if (!stream || stream == Py_None)
        return 0;
    if (PyLong_Check(stream)) {
        const unsigned long long number = PyLong_AsUnsignedLongLong(stream);
        if (PyErr_Occurred())
            return -1;
        *out = number ? (void *)(uintptr_t)number : array_legacy_stream;
        return 0;
    }
    PyObject *const pair = PyObject_CallMethod(stream, "__cuda_stream__", NULL);
    if (pair && PyTuple_Check(pair) && PyTuple_Size(pair) == 2) {
        const int status = array_stream(PyTuple_GetItem(pair, 1), otherwise, out);
        Py_DECREF(pair);
        return status;
    }
    Py_XDECREF(pair);
    if (!pair && !PyErr_ExceptionMatches(PyExc_AttributeError))
        return -1;
    PyErr_Clear();
    PyObject *number = attribute_find(stream, "cuda_stream"); /* torch */
    if (!number && !PyErr_Occurred())
        number = attribute_find(stream, "ptr"); /* cupy */
    if (number && PyLong_Check(number)) {
        const int status = array_stream(number, otherwise, out);
        Py_DECREF(number);
        return status;
    }
    Py_XDECREF(number);
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError,
                        "stream should be a number or an object with __cuda_stream__()");
    return -1;
}

static bool begins(const char *text, const char *root)
{
    const size_t n = strlen(root);
    return strncmp(text, root, n) == 0 && (text[n] == '\0' || text[n] == '.');
}

/* 0, or -1 with an exception. */
static int find_kind(PyObject *array, ArrayKind *out)
{
    PyObject *const module = attribute_find((PyObject *)Py_TYPE(array), "__module__");
    const char *const name =
        module && PyUnicode_Check(module) ? PyUnicode_AsUTF8AndSize(module, NULL) : NULL;
    ArrayKind kind = ARRAY_PLAIN;
    if (name)
        kind = begins(name, "numpy")                           ? ARRAY_NUMPY
               : begins(name, "torch")                         ? ARRAY_TORCH
               : begins(name, "cupy")                          ? ARRAY_CUPY
               : begins(name, "jax") || begins(name, "jaxlib") ? ARRAY_JAX
                                                               : ARRAY_PLAIN;
    Py_XDECREF(module);
    if (!PyErr_Occurred() && kind == ARRAY_PLAIN && attribute_has(array, "__array_finalize__"))
        kind = ARRAY_NUMPY; /* a class that is derived from numpy's */
    *out = kind;
    return PyErr_Occurred() ? -1 : 0;
}

/* A masked array's buffer has the masked values, too. */
static int refuse_masked(PyObject *array, const char *what, ArrayKind kind)
{
    if (kind != ARRAY_NUMPY || !attribute_has(array, "_fill_value"))
        return PyErr_Occurred() ? -1 : 0;
    PyErr_Format(PyExc_TypeError,
                 "%s is a masked array: give its data, and mask=~numpy.ma.getmaskarray(x)", what);
    return -1;
}

/* What makes a numpy array of itself: labelled arrays, tables. */
static int view_made(PyObject *array, const char *what, ArrayView *view)
{
    PyObject *const made = PyObject_CallMethod(array, "__array__", NULL);
    view->kind = ARRAY_NUMPY;
    const int status =
        made && refuse_masked(made, what, view->kind) == 0 ? view_buffer(made, what, view) : -1;
    Py_XDECREF(made); /* the buffer keeps it */
    return status;
}

static int view_any(State *state, PyObject *array, const char *what, PyObject *stream,
                    ArrayView *view)
{
    /* These have buffers, or interfaces, of what is in host memory alone; cupy's buffer refuses. */
    const bool dlpack = view->kind == ARRAY_TORCH || view->kind == ARRAY_JAX;
    const bool buffer = !dlpack && view->kind != ARRAY_CUPY && PyObject_CheckBuffer(array);
    if (Py_IS_TYPE(array, (PyTypeObject *)state->array_type) &&
        array_parts(array)->memory == IMGSTAT_CUDA)
        return view_own(state, array, stream, view);
    if (buffer)
        return refuse_masked(array, what, view->kind) < 0 ? -1 : view_buffer(array, what, view);
    PyObject *interface = dlpack ? NULL : interface_of(array, what, "__cuda_array_interface__");
    if (interface) {
        const int status = view_cuda(state, array, what, interface, stream, view);
        Py_DECREF(interface);
        return status;
    }
    if (!PyErr_Occurred() && attribute_has(array, "__dlpack__"))
        return array_view_dlpack(array, what, stream, view);
    if (!PyErr_Occurred())
        interface = interface_of(array, what, "__array_interface__");
    if (interface) {
        view->memory = IMGSTAT_HOST;
        const int status = view_interface(array, what, interface, view);
        Py_DECREF(interface);
        return status;
    }
    if (!PyErr_Occurred() && attribute_has(array, "__array__"))
        return view_made(array, what, view);
    PyObject *const type = PyErr_Occurred() ? NULL : PyType_GetName(Py_TYPE(array));
    if (type)
        PyErr_Format(PyExc_TypeError,
                     "%s cannot be of type '%U', which has neither a buffer, __dlpack__, "
                     "__cuda_array_interface__ nor __array_interface__",
                     what, type);
    Py_XDECREF(type);
    return -1;
}

int array_view_open(State *state, PyObject *array, const char *what, PyObject *stream,
                    ArrayView *out)
{
    *out = (ArrayView){.kind = ARRAY_PLAIN};
    if (find_kind(array, &out->kind) == 0 && view_any(state, array, what, stream, out) == 0)
        return 0;
    array_view_close(out);
    return -1;
}

/* What lets go may run Python, which knows nothing of an exception that is set. */
void array_view_close(ArrayView *view)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (view->has_buffer)
        PyBuffer_Release(&view->buffer);
    if (view->release)
        view->release(view->managed);
    Py_XDECREF(view->owner);
    *view = (ArrayView){.n_dims = 0};
    PyErr_Restore(type, value, trace);
}

bool array_view_contiguous(const ArrayView *view)
{
    uint64_t stride = imgstat_sample_bytes(view->sample); /* it may wrap around, as above */
    for (int i = view->n_dims - 1; i >= 0; i--) {
        if (view->shape[i] == 0)
            return true;
        if (view->shape[i] != 1 && view->strides[i] != (int64_t)stride)
            return false;
        stride *= (uint64_t)view->shape[i];
    }
    return true;
}
