/* SPDX-License-Identifier: MIT */
/* saved.h: what Record, Dataset and Transfer have in common: bytes, files, pickles, sums. */
#ifndef IMGSTAT_PYTHON_SAVED_H
#define IMGSTAT_PYTHON_SAVED_H

#include "module.h"

#include <pthread.h>
#include <stdatomic.h>

/* The calls of the library for one of these classes. All go without the GIL. */
typedef struct SavedKind {
    const char *name; /* of the class */
    const char *from; /* name of the class method that makes an object from its bytes */
    ImgstatResult (*make)(const void *bytes, size_t n, void **out, ImgstatError *err);
    ImgstatResult (*load)(const char *path, void **out, ImgstatError *err);
    ImgstatResult (*save)(void *object, const char *path, bool replace, ImgstatError *err);
    size_t (*write)(void *object, void *out, size_t capacity); /* 0: no memory */
    ImgstatResult (*merge)(void *into, void *from, ImgstatError *err);
    /* NULL, or returns bytes that name what an object is a part of: parts of one thing merge first.
     */
    PyObject *(*whole)(void *object);
    void (*destroy)(void *object);
} SavedKind;

extern const SavedKind record_kind, dataset_kind, transfer_kind;

/* The lock guards the object. No thread waits for it with the GIL, and none that holds it runs code
 * of Python but callbacks, which would wait for it for ever: saved_check. */
typedef struct Saved {
    PyObject_HEAD const SavedKind *kind;
    void *object;
    const char *not_saved; /* why the object has no bytes, and equals itself alone; NULL: it has */
    pthread_mutex_t lock;
    atomic_bool measured; /* by a call that has the lock and calls back: dataset_measure.c */
} Saved;

/* Makes an object of the class, which takes over that of the library, also on failure: NULL, with
 * an exception. */
PyObject *saved_new(PyTypeObject *type, void *object);
void saved_dealloc(PyObject *self);

/* Refuses an object that is being measured to callbacks. 0, or -1 with an exception. */
int saved_check(PyObject *self);

/* Takes the lock and returns the object of the library. NULL, without the lock: an exception. */
void *saved_lock(PyObject *self);
void saved_unlock(PyObject *self);

/* Copies the object of the library, by its bytes. Called without the GIL. */
ImgstatResult saved_copy_object(PyObject *self, void **out, ImgstatError *err);

/* Methods and slots. */
PyObject *saved_copy(PyObject *self, PyObject *unused);
PyObject *saved_to_bytes(PyObject *self, PyObject *unused);
PyObject *saved_reduce(PyObject *self, PyObject *unused);
PyObject *saved_save(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *saved_compare(PyObject *a, PyObject *b, int operation);
PyObject *saved_add(PyObject *a, PyObject *b);
PyObject *saved_add_in_place(PyObject *self, PyObject *other);

/* Class methods. */
PyObject *saved_from_bytes(PyObject *type, PyObject *bytes);
PyObject *saved_load(PyObject *type, PyObject *path);
PyObject *saved_merge(PyObject *type, PyObject *objects);

#endif
