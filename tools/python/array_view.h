/* SPDX-License-Identifier: MIT */
/* array_view.h: what an array of any library is: where its elements lie, and of which type. */
#ifndef IMGSTAT_PYTHON_ARRAY_VIEW_H
#define IMGSTAT_PYTHON_ARRAY_VIEW_H

#include "module.h"

enum { ARRAY_DIMS = 8 };

/* The library that an array is of, which results become arrays of. */
typedef enum ArrayKind { ARRAY_PLAIN, ARRAY_NUMPY, ARRAY_TORCH, ARRAY_CUPY, ARRAY_JAX } ArrayKind;

typedef struct ArrayView {
    ArrayKind kind;
    ImgstatMemory memory;
    int32_t device_id; /* CUDA device index; 0 for host memory */
    uintptr_t data;    /* address of the element with all indices 0; not host memory for CUDA */
    ImgstatSample sample;
    bool boolean; /* u8 that are all 0 or 1, of a type of their own */
    bool swapped; /* the other byte order than the processor's */
    bool readonly;
    int n_dims;
    int64_t shape[ARRAY_DIMS], strides[ARRAY_DIMS]; /* strides in bytes, of any sign */
    void *stream; /* CUDA: the stream in whose order the elements are there */
    /* What keeps the memory: */
    Py_buffer buffer;
    bool has_buffer;
    PyObject *owner;
    void *managed; /* of DLPack */
    void (*release)(void *managed);
} ArrayView;

/* Views an array by the buffer protocol, DLPack, or one of the two array interfaces. what: begins
 * messages, such as "mask". stream: NULL, or the caller's for CUDA memory, which then waits for the
 * array's; else that is the array's own or its library's current one. Nothing is copied. 0, or -1
 * with an exception. */
int array_view_open(State *state, PyObject *array, const char *what, PyObject *stream,
                    ArrayView *out);
void array_view_close(ArrayView *view);

/* By DLPack: as array_view_open of an object that has it, of view->kind. */
int array_view_dlpack(PyObject *array, const char *what, PyObject *stream, ArrayView *view);

/* The legacy default stream, as the CUDA array interface numbers it. */
static void *const array_legacy_stream = (void *)1;

/* Reads a stream: a number as in the CUDA array interface, an object with __cuda_stream__(), or
 * None for `otherwise`. */
int array_stream(PyObject *stream, void *otherwise, void **out);

/* Whether elements follow each other in C order. */
bool array_view_contiguous(const ArrayView *view);

/* Names of types: "uint8" as numpy has it, and the letter of the struct module. */
const char *sample_dtype(ImgstatSample sample);
const char *sample_format(ImgstatSample sample);

/* Finds the type of a kind, 'u', 'i' or 'f', and a size. False: there is none. */
bool sample_find(char kind, size_t bytes, ImgstatSample *out);

#endif
