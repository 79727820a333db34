/* SPDX-License-Identifier: MIT */
/* array_export.c: gives the memory of an imgstat.Array to others, by DLPack. */
#include "array_out.h"
#include "dlpack.h"

#include <stdlib.h>

/* A tensor with its lists. */
typedef struct Exported {
    union {
        DLManagedTensor plain;
        DLManagedTensorVersioned versioned;
    } managed;
    int64_t shape[ARRAY_DIMS], strides[ARRAY_DIMS];
} Exported;

/* Consumers call it with or without the interpreter's lock. */
static void let_go(void *array, void *memory)
{
    const PyGILState_STATE held = PyGILState_Ensure();
    Py_DECREF((PyObject *)array);
    PyGILState_Release(held);
    free(memory);
}

static void delete_plain(DLManagedTensor *self)
{
    let_go(self->context, self);
}

static void delete_versioned(DLManagedTensorVersioned *self)
{
    let_go(self->context, self);
}

/* Of a capsule that nobody consumed. */
static void capsule_destroy(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, "dltensor")) {
        DLManagedTensor *const m = PyCapsule_GetPointer(capsule, "dltensor");
        m->deleter(m);
    } else if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        DLManagedTensorVersioned *const m = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        m->deleter(m);
    }
}

static void set_tensor(Exported *exported, DLTensor *tensor, const ArrayParts *parts)
{
    const int64_t bytes = (int64_t)imgstat_sample_bytes(parts->sample);
    const char *const dtype = sample_dtype(parts->sample);
    for (int i = 0; i < parts->n_dims; i++) {
        exported->shape[i] = parts->shape[i];
        exported->strides[i] = parts->strides[i] / bytes;
    }
    *tensor = (DLTensor){
        .data = (void *)parts->data,
        .device = {(int32_t)parts->memory, parts->device_id},
        .ndim = parts->n_dims,
        .dtype = {*dtype == 'u'   ? DL_UINT
                  : *dtype == 'i' ? DL_INT
                                  : DL_FLOAT,
                  (uint8_t)(8 * bytes), 1},
        .shape = exported->shape,
        .strides = exported->strides,
    };
}

PyObject *array_export(PyObject *array, bool versioned)
{
    const ArrayParts *const parts = array_parts(array);
    Exported *const exported = calloc(1, sizeof *exported);
    if (!exported)
        return PyErr_NoMemory();
    if (versioned) {
        DLManagedTensorVersioned *const m = &exported->managed.versioned;
        *m = (DLManagedTensorVersioned){.major = DLPACK_MAJOR,
                                        .minor = DLPACK_MINOR,
                                        .context = array,
                                        .deleter = delete_versioned,
                                        .flags = parts->readonly ? DL_READ_ONLY : 0};
        set_tensor(exported, &m->tensor, parts);
    } else {
        DLManagedTensor *const m = &exported->managed.plain;
        *m = (DLManagedTensor){.context = array, .deleter = delete_plain};
        set_tensor(exported, &m->tensor, parts);
    }
    PyObject *const capsule =
        PyCapsule_New(exported, versioned ? "dltensor_versioned" : "dltensor", capsule_destroy);
    if (!capsule) {
        free(exported);
        return NULL;
    }
    Py_INCREF(array);
    return capsule;
}
