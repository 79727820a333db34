/* SPDX-License-Identifier: MIT */
/* array_dlpack.c: views arrays by DLPack, which torch, cupy, jax and numpy have in common. */
#include "array_view.h"
#include "dlpack.h"

#include <string.h>

/* The stream that torch works on, for a producer that would wait for another one otherwise. */
static int torch_stream(int32_t device_id, void **out)
{
    PyObject *const cuda = PyImport_ImportModule("torch.cuda");
    PyObject *const stream =
        cuda ? PyObject_CallMethod(cuda, "current_stream", "i", device_id) : NULL;
    const int status = stream ? array_stream(stream, array_legacy_stream, out) : -1;
    Py_XDECREF(stream);
    Py_XDECREF(cuda);
    return status;
}

static int read_device(PyObject *array, const char *what, DLDevice *out)
{
    PyObject *const device = PyObject_CallMethod(array, "__dlpack_device__", NULL);
    if (!device)
        return -1;
    const bool pair = PyTuple_Check(device) && PyTuple_Size(device) == 2;
    PyObject *const type = pair ? PyNumber_Long(PyTuple_GetItem(device, 0)) : NULL;
    PyObject *const id = type ? PyNumber_Long(PyTuple_GetItem(device, 1)) : NULL;
    if (type && id)
        *out = (DLDevice){(int32_t)PyLong_AsLong(type), (int32_t)PyLong_AsLong(id)};
    else if (!PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "%s.__dlpack_device__() should return a pair", what);
    Py_XDECREF(type);
    Py_XDECREF(id);
    Py_DECREF(device);
    return PyErr_Occurred() ? -1 : 0;
}

static bool is_cuda(int32_t device_type)
{
    return device_type == IMGSTAT_CUDA || device_type == DL_CUDA_MANAGED;
}

/* Where the elements are, and the stream for them. */
static int set_device(PyObject *array, const char *what, PyObject *stream, ArrayView *view)
{
    DLDevice device = {0, 0};
    if (read_device(array, what, &device) < 0)
        return -1;
    if (device.type == IMGSTAT_HOST || device.type == IMGSTAT_PINNED) {
        view->memory = (ImgstatMemory)device.type;
        return 0;
    }
    if (!is_cuda(device.type)) {
        PyErr_Format(PyExc_TypeError,
                     "%s is on a device of type %d of DLPack: imgstat takes host memory and CUDA",
                     what, (int)device.type);
        return -1;
    }
    view->memory = IMGSTAT_CUDA;
    view->device_id = device.id;
    if (array_stream(stream, NULL, &view->stream) < 0)
        return -1;
    if (view->stream)
        return 0;
    if (view->kind == ARRAY_TORCH)
        return torch_stream(device.id, &view->stream);
    view->stream = array_legacy_stream;
    return 0;
}

/* array.__dlpack__(), of CUDA memory for a stream; versioned where the producer can. */
static PyObject *export_capsule(PyObject *array, const ArrayView *view)
{
    PyObject *const function = PyObject_GetAttrString(array, "__dlpack__");
    PyObject *const none = PyTuple_New(0);
    PyObject *words = Py_BuildValue("{s(ii)}", "max_version", DLPACK_MAJOR, DLPACK_MINOR);
    PyObject *capsule = NULL;
    int status = function && none && words ? 0 : -1;
    if (status == 0 && view->memory == IMGSTAT_CUDA) {
        PyObject *const stream = PyLong_FromVoidPtr(view->stream);
        status = stream ? PyDict_SetItemString(words, "stream", stream) : -1;
        Py_XDECREF(stream);
    }
    if (status == 0)
        capsule = PyObject_Call(function, none, words);
    if (status == 0 && !capsule && PyErr_ExceptionMatches(PyExc_TypeError)) { /* before DLPack 1 */
        PyErr_Clear();
        if (PyDict_DelItemString(words, "max_version") == 0)
            capsule = PyObject_Call(function, none, words);
    }
    Py_XDECREF(words);
    Py_XDECREF(none);
    Py_XDECREF(function);
    return capsule;
}

static void release_managed(void *managed)
{
    DLManagedTensor *const m = managed;
    if (m->deleter)
        m->deleter(m);
}

static void release_versioned(void *managed)
{
    DLManagedTensorVersioned *const m = managed;
    if (m->deleter)
        m->deleter(m);
}

static int set_type(ArrayView *view, const char *what, DLDataType type)
{
    const char kind = type.code == DL_UINT ? 'u' : type.code == DL_INT ? 'i' : 'f';
    view->boolean = type.code == DL_BOOL && type.bits == 8;
    const bool known = type.code <= DL_FLOAT && type.bits % 8 == 0 && type.lanes == 1;
    if (view->boolean) {
        view->sample = IMGSTAT_U8;
        return 0;
    }
    if (known && sample_find(kind, type.bits / 8u, &view->sample))
        return 0;
    if (type.code == DL_BFLOAT)
        PyErr_Format(PyExc_TypeError, "%s is of bfloat16: convert it to float32, which holds it",
                     what);
    else
        PyErr_Format(PyExc_TypeError,
                     "%s has elements of type %d with %d bits of DLPack: imgstat takes integers of "
                     "8 to 64 bits and floats of 16, 32 and 64",
                     what, type.code, type.bits);
    return -1;
}

/* Sets shape and strides; that of an axis of one element or none may be anything. Returns whether
 * no memory can have them. */
static bool set_shape(ArrayView *view, const DLTensor *tensor)
{
    const int64_t bytes = (int64_t)imgstat_sample_bytes(view->sample);
    int64_t stride = bytes, reach = 0; /* the sum of the ways along all axes */
    bool wrong = tensor->ndim > 0 && !tensor->shape;
    view->n_dims = tensor->ndim;
    for (int i = tensor->ndim - 1; i >= 0 && !wrong; i--) {
        const int64_t n = tensor->shape[i];
        int64_t way = stride;
        wrong = n < 0 || (n > 1 && tensor->strides &&
                          __builtin_mul_overflow(tensor->strides[i], bytes, &way));
        view->shape[i] = n;
        view->strides[i] = way;
        wrong = wrong || way == INT64_MIN || __builtin_mul_overflow(stride, n, &stride) ||
                __builtin_mul_overflow(n > 1 ? n - 1 : 0, way < 0 ? -way : way, &way) ||
                __builtin_add_overflow(reach, way, &reach);
    }
    return wrong || (stride > 0 && !tensor->data);
}

static int set_tensor(ArrayView *view, const char *what, const DLTensor *tensor)
{
    const int32_t n = tensor->ndim;
    if (n < 0 || n > ARRAY_DIMS) {
        PyErr_Format(PyExc_ValueError, "%s has %d axes; imgstat takes at most %d", what, (int)n,
                     ARRAY_DIMS);
        return -1;
    }
    if (set_type(view, what, tensor->dtype) < 0)
        return -1;
    if (set_shape(view, tensor) || is_cuda(tensor->device.type) != (view->memory == IMGSTAT_CUDA)) {
        PyErr_Format(PyExc_BufferError, "%s has a shape, strides or memory that cannot be", what);
        return -1;
    }
    view->data = (uintptr_t)tensor->data + (uintptr_t)tensor->byte_offset;
    if (view->memory == IMGSTAT_CUDA)
        view->device_id = tensor->device.id;
    return 0;
}

static int take_versioned(DLManagedTensorVersioned *m, const char *what, ArrayView *view)
{
    view->managed = m;
    view->release = release_versioned;
    view->readonly = (m->flags & DL_READ_ONLY) != 0;
    return set_tensor(view, what, &m->tensor);
}

/* Exports by the C functions of the array's type, which take a third of the time of the methods.
 * NULL: it has none, or they fail, which the methods explain. */
static DLManagedTensorVersioned *export_by_type(PyObject *array)
{
    PyObject *const capsule =
        PyObject_GetAttrString((PyObject *)Py_TYPE(array), "__dlpack_c_exchange_api__");
    const DLExchange *api = capsule ? PyCapsule_GetPointer(capsule, "dlpack_exchange_api") : NULL;
    DLManagedTensorVersioned *m = NULL;
    while (api && api->major > DLPACK_MAJOR)
        api = api->previous;
    if (api && (api->major != DLPACK_MAJOR || api->export_array(array, &m) < 0))
        m = NULL;
    PyErr_Clear();
    Py_XDECREF(capsule);
    return m;
}

/* Takes over what a capsule holds. */
static int consume(PyObject *capsule, const char *what, ArrayView *view)
{
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        DLManagedTensorVersioned *const m = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        if (m->major != DLPACK_MAJOR) {
            PyErr_Format(PyExc_BufferError, "%s is in version %d.%d of DLPack", what, (int)m->major,
                         (int)m->minor);
            return -1;
        }
        if (PyCapsule_SetName(capsule, "used_dltensor_versioned") < 0)
            return -1;
        return take_versioned(m, what, view);
    }
    DLManagedTensor *const m = PyCapsule_GetPointer(capsule, "dltensor");
    if (!m || PyCapsule_SetName(capsule, "used_dltensor") < 0)
        return -1;
    view->managed = m;
    view->release = release_managed;
    return set_tensor(view, what, &m->tensor);
}

int array_view_dlpack(PyObject *array, const char *what, PyObject *stream, ArrayView *view)
{
    DLManagedTensorVersioned *const m = export_by_type(array);
    if (m && (m->tensor.device.type == IMGSTAT_HOST || m->tensor.device.type == IMGSTAT_PINNED)) {
        view->memory = (ImgstatMemory)m->tensor.device.type;
        return take_versioned(m, what, view);
    }
    if (m) /* on a GPU a stream belongs to it */
        release_versioned(m);
    if (set_device(array, what, stream, view) < 0)
        return -1;
    PyObject *const capsule = export_capsule(array, view);
    if (!capsule)
        return -1;
    const int status = consume(capsule, what, view);
    Py_DECREF(capsule);
    return status;
}
