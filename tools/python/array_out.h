/* SPDX-License-Identifier: MIT */
/* array_out.h: imgstat.Array, which holds samples and gives them to any library. */
#ifndef IMGSTAT_PYTHON_ARRAY_OUT_H
#define IMGSTAT_PYTHON_ARRAY_OUT_H

#include "array_view.h"

/* What an Array is made of. */
typedef struct ArrayParts {
    ImgstatMemory memory;
    int32_t device_id;
    uintptr_t data;
    ImgstatSample sample;
    bool readonly;
    int n_dims;
    int64_t shape[ARRAY_DIMS], strides[ARRAY_DIMS]; /* strides in bytes */
    void *stream; /* CUDA: the stream in whose order the samples are there */
    bool shared;  /* CUDA: others have used the memory, on streams that are not known */
    void (*release)(const struct ArrayParts *parts); /* NULL, or called once at the end */
    void *context;
    PyObject *owner; /* NULL, or what has the memory; the Array takes this reference over */
} ArrayParts;

/* Makes an Array. After a failure, which is NULL with an exception, the memory is released. */
PyObject *array_create(State *state, const ArrayParts *parts);

/* Makes an Array in C order of new host memory, whose samples are not set. */
PyObject *array_allocate(State *state, ImgstatSample sample, int n_dims, const int64_t *shape);

/* The same of new GPU memory, in the order of a stream. */
PyObject *array_allocate_cuda(State *state, ImgstatSample sample, int n_dims, const int64_t *shape,
                              int32_t device_id, void *stream);

/* Makes an Array of a host image, which it takes over, also after a failure: of two axes, or with
 * has_channels of three. */
PyObject *array_of_image(State *state, ImagePro *image, bool has_channels);

/* Turns an Array into an array of the kind, in the same memory. Takes the reference over. */
PyObject *array_as(PyObject *array, ArrayKind kind);

/* The parts of an Array, which it keeps. */
const ArrayParts *array_parts(PyObject *array);

/* Others use the memory of an Array from now on, on streams that are not its own. */
void array_set_shared(PyObject *array);

/* array.__dlpack__(): a capsule. versioned: of DLPack 1. */
PyObject *array_export(PyObject *array, bool versioned);

#endif
