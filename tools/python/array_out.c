/* SPDX-License-Identifier: MIT */
/* array_out.c: the type imgstat.Array: the buffer protocol, and what it says of itself. */
#define _GNU_SOURCE
#include "array_out.h"
#include "driver.h"
#include "error.h"
#include "methods.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A cache line: jax copies what is not aligned so. */
enum { ALIGNMENT = 64 };

typedef struct Array {
    PyObject_HEAD ArrayParts parts;
    Py_ssize_t shape[ARRAY_DIMS], strides[ARRAY_DIMS]; /* as buffers have them */
} Array;

const ArrayParts *array_parts(PyObject *array)
{
    return &((Array *)array)->parts;
}

/* Threads may export an array at once. */
static void set_shared(ArrayParts *parts)
{
    __atomic_store_n(&parts->shared, true, __ATOMIC_RELAXED);
}

void array_set_shared(PyObject *array)
{
    set_shared(&((Array *)array)->parts);
}

static void parts_release(const ArrayParts *parts)
{
    if (parts->release)
        parts->release(parts);
    Py_XDECREF(parts->owner);
}

PyObject *array_create(State *state, const ArrayParts *parts)
{
    Array *const array = PyObject_New(Array, (PyTypeObject *)state->array_type);
    if (!array) {
        parts_release(parts);
        return NULL;
    }
    array->parts = *parts;
    for (int i = 0; i < parts->n_dims; i++) {
        array->shape[i] = (Py_ssize_t)parts->shape[i];
        array->strides[i] = (Py_ssize_t)parts->strides[i];
    }
    return (PyObject *)array;
}

static void release_host(const ArrayParts *parts)
{
    free(parts->context);
}

static void release_cuda(const ArrayParts *parts)
{
    driver_free(parts->device_id, parts->data, parts->stream, parts->shared);
}

/* Sets the shape in C order. Returns the number of bytes; -1: too many, with an exception. */
static int64_t set_shape(ArrayParts *parts, const int64_t *shape)
{
    int64_t bytes = (int64_t)imgstat_sample_bytes(parts->sample);
    for (int i = parts->n_dims - 1; i >= 0; i--) {
        parts->shape[i] = shape[i];
        parts->strides[i] = bytes;
        if (__builtin_mul_overflow(bytes, shape[i], &bytes) || bytes > INT64_MAX - ALIGNMENT) {
            PyErr_NoMemory();
            return -1;
        }
    }
    return bytes;
}

/* Page by page the system takes longer for a large result than a transform: it is asked for huge
 * pages, as numpy does for its arrays. */
static void *allocate(size_t bytes)
{
    enum { LARGE = 8 << 20 };
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *const memory = aligned_alloc(ALIGNMENT, (bytes / ALIGNMENT + 1) * ALIGNMENT);
    const uintptr_t first = ((uintptr_t)memory + page - 1) / page * page;
    if (memory && bytes >= LARGE) /* or not: no harm */
        (void)madvise((void *)first, (uintptr_t)memory + bytes - first, MADV_HUGEPAGE);
    return memory;
}

PyObject *array_allocate(State *state, ImgstatSample sample, int n_dims, const int64_t *shape)
{
    ArrayParts parts = {
        .memory = IMGSTAT_HOST, .sample = sample, .n_dims = n_dims, .release = release_host};
    const int64_t bytes = set_shape(&parts, shape);
    if (bytes < 0)
        return NULL;
    parts.context = allocate((size_t)bytes);
    parts.data = (uintptr_t)parts.context;
    return parts.context ? array_create(state, &parts) : PyErr_NoMemory();
}

PyObject *array_allocate_cuda(State *state, ImgstatSample sample, int n_dims, const int64_t *shape,
                              int32_t device_id, void *stream)
{
    ArrayParts parts = {.memory = IMGSTAT_CUDA,
                        .device_id = device_id,
                        .sample = sample,
                        .n_dims = n_dims,
                        .stream = stream,
                        .release = release_cuda};
    ImgstatError err;
    const int64_t bytes = set_shape(&parts, shape);
    if (bytes < 0)
        return NULL;
    if (driver_records(device_id, stream)) {
        PyErr_SetString(PyExc_ValueError, "a graph is being recorded, which would own the memory "
                                          "of the result: give out=");
        return NULL;
    }
    const ImgstatResult res = driver_allocate(device_id, (size_t)bytes, stream, &parts.data, &err);
    return res == IMGSTAT_OK ? array_create(state, &parts) : raise_result(state, res, &err);
}

static void release_image(const ArrayParts *parts)
{
    imgstat_image_release(parts->context);
    free(parts->context);
}

PyObject *array_of_image(State *state, ImagePro *image, bool has_channels)
{
    ImagePro *const kept = malloc(sizeof *kept);
    if (!kept) {
        imgstat_image_release(image);
        return PyErr_NoMemory();
    }
    *kept = *image;
    *image = (ImagePro){.width = 0};
    const int64_t bytes = (int64_t)imgstat_sample_bytes(kept->sample);
    const ArrayParts parts = {.memory = kept->memory,
                              .data = (uintptr_t)kept->host,
                              .sample = kept->sample,
                              .n_dims = has_channels ? 3 : 2,
                              .shape = {kept->height, kept->width, kept->channels},
                              .strides = {(int64_t)kept->pitch, kept->channels * bytes, bytes},
                              .release = release_image,
                              .context = kept};
    return array_create(state, &parts);
}

static void array_dealloc(PyObject *self)
{
    PyTypeObject *const type = Py_TYPE(self);
    const ArrayParts parts = ((Array *)self)->parts;
    PyObject_Free(self);
    parts_release(&parts);
    Py_DECREF(type);
}

/* ---- Buffer ---------------------------------------------------------------------------------- */

static Py_ssize_t array_bytes(const Array *array)
{
    Py_ssize_t bytes = (Py_ssize_t)imgstat_sample_bytes(array->parts.sample);
    for (int i = 0; i < array->parts.n_dims; i++)
        bytes *= array->shape[i];
    return bytes;
}

/* Whether samples follow each other in C order. */
static bool array_dense(const Array *array)
{
    Py_ssize_t stride = (Py_ssize_t)imgstat_sample_bytes(array->parts.sample);
    for (int i = array->parts.n_dims - 1; i >= 0; i--) {
        if (array->shape[i] > 1 && array->strides[i] != stride)
            return array_bytes(array) == 0;
        stride *= array->shape[i];
    }
    return true;
}

static int array_getbuffer(PyObject *self, Py_buffer *view, int flags)
{
    Array *const array = (Array *)self;
    const ArrayParts *const parts = &array->parts;
    const char *refusal = NULL;
    if (parts->memory == IMGSTAT_CUDA)
        refusal = "the array is in GPU memory: copy it to the host first";
    else if ((flags & PyBUF_WRITABLE) && parts->readonly)
        refusal = "the array is read-only";
    else if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES && !array_dense(array))
        refusal = "the rows of the array do not follow each other";
    view->obj = NULL;
    if (refusal) {
        PyErr_SetString(PyExc_BufferError, refusal);
        return -1;
    }
    view->buf = (void *)parts->data;
    view->obj = Py_NewRef(self);
    view->len = array_bytes(array);
    view->itemsize = (Py_ssize_t)imgstat_sample_bytes(parts->sample);
    view->readonly = parts->readonly;
    view->ndim = parts->n_dims;
    view->format = (flags & PyBUF_FORMAT) ? (char *)(uintptr_t)sample_format(parts->sample) : NULL;
    view->shape = (flags & PyBUF_ND) ? array->shape : NULL;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? array->strides : NULL;
    view->suboffsets = NULL;
    view->internal = NULL;
    return 0;
}

/* ---- Attributes ------------------------------------------------------------------------------ */

static PyObject *numbers(const int64_t *number, int n)
{
    PyObject *const tuple = PyTuple_New(n);
    for (int i = 0; tuple && i < n; i++) {
        PyObject *const item = PyLong_FromLongLong(number[i]);
        if (!item || PyTuple_SetItem(tuple, i, item) < 0) {
            Py_DECREF(tuple);
            return NULL;
        }
    }
    return tuple;
}

static PyObject *get_shape(PyObject *self, void *closure)
{
    (void)closure;
    return numbers(array_parts(self)->shape, array_parts(self)->n_dims);
}

static PyObject *get_strides(PyObject *self, void *closure)
{
    (void)closure;
    return numbers(array_parts(self)->strides, array_parts(self)->n_dims);
}

static PyObject *get_dtype(PyObject *self, void *closure)
{
    (void)closure;
    return PyUnicode_FromString(sample_dtype(array_parts(self)->sample));
}

static PyObject *get_ndim(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromLong(array_parts(self)->n_dims);
}

static PyObject *get_nbytes(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromSsize_t(array_bytes((Array *)self));
}

static PyObject *get_cuda_interface(PyObject *self, void *closure)
{
    (void)closure;
    ArrayParts *const parts = &((Array *)self)->parts;
    if (parts->memory != IMGSTAT_CUDA) {
        PyErr_SetString(PyExc_AttributeError, "the array is in host memory");
        return NULL;
    }
    set_shared(parts);
    const char *const format = sample_format(parts->sample);
    const char kind = strchr("BHIQ", *format) ? 'u' : strchr("bhiq", *format) ? 'i' : 'f';
    const int bytes = (int)imgstat_sample_bytes(parts->sample);
    return Py_BuildValue(
        "{sNsNsNs(NO)sisN}", "shape", get_shape(self, NULL), "strides", get_strides(self, NULL),
        "typestr", PyUnicode_FromFormat("%c%c%d", bytes == 1 ? '|' : '<', kind, bytes), "data",
        PyLong_FromUnsignedLongLong(parts->data), parts->readonly ? Py_True : Py_False, "version",
        3, "stream", PyLong_FromVoidPtr(parts->stream));
}

static PyObject *array_repr(PyObject *self)
{
    const ArrayParts *const parts = array_parts(self);
    PyObject *const shape = get_shape(self, NULL);
    PyObject *text = NULL;
    if (shape && parts->memory == IMGSTAT_CUDA)
        text = PyUnicode_FromFormat("imgstat.Array(shape=%R, dtype='%s', device='cuda:%d')", shape,
                                    sample_dtype(parts->sample), (int)parts->device_id);
    else if (shape)
        text = PyUnicode_FromFormat("imgstat.Array(shape=%R, dtype='%s')", shape,
                                    sample_dtype(parts->sample));
    Py_XDECREF(shape);
    return text;
}

static Py_ssize_t array_length(PyObject *self)
{
    const Array *const array = (Array *)self;
    if (array->parts.n_dims > 0)
        return array->shape[0];
    PyErr_SetString(PyExc_TypeError, "the array has no axes");
    return -1;
}

/* By way of a memoryview, which knows indices of host memory. */
static PyObject *array_item(PyObject *self, PyObject *key)
{
    PyObject *const view = PyMemoryView_FromObject(self);
    PyObject *const item = view ? PyObject_GetItem(view, key) : NULL;
    Py_XDECREF(view);
    return item;
}

static PyObject *array_iter(PyObject *self)
{
    PyObject *const view = PyMemoryView_FromObject(self);
    PyObject *const iterator = view ? PyObject_GetIter(view) : NULL;
    Py_XDECREF(view);
    return iterator;
}

static PyObject *array_tolist(PyObject *self, PyObject *unused)
{
    (void)unused;
    PyObject *const view = PyMemoryView_FromObject(self);
    PyObject *const list = view ? PyObject_CallMethod(view, "tolist", NULL) : NULL;
    Py_XDECREF(view);
    return list;
}

/* ---- DLPack ---------------------------------------------------------------------------------- */

static PyObject *dlpack_device(PyObject *self, PyObject *unused)
{
    (void)unused;
    const ArrayParts *const parts = array_parts(self);
    return Py_BuildValue("(ii)", (int)parts->memory, (int)parts->device_id);
}

/* Lets the stream of a consumer wait for the samples. */
static int hand_over(State *state, ArrayParts *parts, PyObject *stream)
{
    void *consumer;
    ImgstatError err;
    if (parts->memory != IMGSTAT_CUDA) {
        if (stream == Py_None)
            return 0;
        PyErr_SetString(PyExc_ValueError, "stream should be None for an array in host memory");
        return -1;
    }
    if (PyLong_Check(stream) && PyLong_AsLong(stream) == -1) { /* the consumer sees to it */
        set_shared(parts);
        return PyErr_Occurred() ? -1 : 0;
    }
    if (array_stream(stream, array_legacy_stream, &consumer) < 0)
        return -1;
    if (consumer != parts->stream)
        set_shared(parts);
    const ImgstatResult res = driver_order(parts->device_id, parts->stream, consumer, &err);
    if (res == IMGSTAT_OK)
        return 0;
    raise_result(state, res, &err);
    return -1;
}

/* Reads a pair of numbers; None leaves them. */
static int read_pair(PyObject *pair, const char *name, int *first, int *second)
{
    if (pair == Py_None)
        return 0;
    if (PyTuple_Check(pair))
        return PyArg_ParseTuple(pair, "ii", first, second) ? 0 : -1;
    PyErr_Format(PyExc_TypeError, "%s should be a pair of numbers", name);
    return -1;
}

static PyObject *array_dlpack(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *words[] = {"stream", "max_version", "dl_device", "copy", NULL};
    PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
    ArrayParts *const parts = &((Array *)self)->parts;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", words, &stream, &version,
                                     &device, &copy))
        return NULL;
    int type = (int)parts->memory, id = parts->device_id, major = 0, minor = 0;
    if (read_pair(device, "dl_device", &type, &id) < 0 ||
        read_pair(version, "max_version", &major, &minor) < 0)
        return NULL;
    if (type != (int)parts->memory || id != parts->device_id || copy == Py_True) {
        PyErr_SetString(PyExc_BufferError,
                        "imgstat.Array gives its own memory to others, and makes no copies");
        return NULL;
    }
    if (parts->readonly && major < 1) {
        PyErr_SetString(PyExc_BufferError,
                        "the array is read-only, which DLPack before version 1 cannot say");
        return NULL;
    }
    return hand_over(state_of_type(Py_TYPE(self)), parts, stream) < 0
               ? NULL
               : array_export(self, major >= 1);
}

/* ---- Other libraries ------------------------------------------------------------------------- */

static PyObject *call_of_module(const char *module, const char *function, PyObject *argument)
{
    PyObject *const loaded = PyImport_ImportModule(module);
    PyObject *const result = loaded ? PyObject_CallMethod(loaded, function, "O", argument) : NULL;
    Py_XDECREF(loaded);
    return result;
}

/* Without memory for a buffer, numpy makes an array of one object. */
static PyObject *numpy_array(PyObject *array)
{
    PyObject *const result = call_of_module("numpy", "asarray", array);
    PyObject *const n_dims = result ? PyObject_GetAttrString(result, "ndim") : NULL;
    const bool good = n_dims && PyLong_AsLong(n_dims) == array_parts(array)->n_dims;
    Py_XDECREF(n_dims);
    if (good)
        return result;
    Py_XDECREF(result);
    return PyErr_Occurred() ? NULL : PyErr_NoMemory();
}

PyObject *array_as(PyObject *array, ArrayKind kind)
{
    if (!array || kind == ARRAY_PLAIN)
        return array;
    PyObject *const result = kind == ARRAY_NUMPY   ? numpy_array(array)
                             : kind == ARRAY_TORCH ? call_of_module("torch", "from_dlpack", array)
                             : kind == ARRAY_CUPY
                                 ? call_of_module("cupy", "from_dlpack", array)
                                 : call_of_module("jax.dlpack", "from_dlpack", array);
    Py_DECREF(array);
    return result;
}

/* ---- The type -------------------------------------------------------------------------------- */

PyDoc_STRVAR(array_doc,
             "Samples in memory of imgstat, in host memory or on a GPU.\n\n"
             "Other libraries take it without a copy: numpy.asarray(a), memoryview(a), "
             "torch.from_dlpack(a),\ncupy.from_dlpack(a), jax.dlpack.from_dlpack(a). An array of "
             "the host can be indexed as a\nmemoryview can.");

static PyMethodDef array_methods[] = {
    {"tolist", array_tolist, METH_NOARGS,
     "tolist($self)\n--\n\nReturns the samples as nested lists."},
    {"__dlpack__", WITH_WORDS(array_dlpack), "Exports the memory by DLPack."},
    {"__dlpack_device__", dlpack_device, METH_NOARGS, "The kind of memory, and its device."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef array_getset[] = {
    {"shape", get_shape, NULL, "Lengths of the axes.", NULL},
    {"strides", get_strides, NULL, "Bytes between neighbours along each axis.", NULL},
    {"dtype", get_dtype, NULL, "Type of the samples, as numpy names it: 'uint8' ...", NULL},
    {"ndim", get_ndim, NULL, "Number of axes.", NULL},
    {"nbytes", get_nbytes, NULL, "Bytes of all samples.", NULL},
    {"__cuda_array_interface__", get_cuda_interface, NULL, "Version 3; of GPU memory only.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot array_slots[] = {
    {Py_tp_doc, (void *)(uintptr_t)array_doc},
    {Py_tp_dealloc, array_dealloc},
    {Py_tp_repr, array_repr},
    {Py_tp_methods, array_methods},
    {Py_tp_getset, array_getset},
    {Py_mp_length, array_length},
    {Py_mp_subscript, array_item},
    {Py_tp_iter, array_iter},
    {Py_bf_getbuffer, array_getbuffer},
    {0, NULL},
};

PyType_Spec array_spec = {
    .name = "imgstat.Array",
    .basicsize = sizeof(Array),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = array_slots,
};
