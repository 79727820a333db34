/* SPDX-License-Identifier: MIT */
/* file_input.h: where the bytes of a file come from: a path, bytes, or a file object of Python. */
#ifndef IMGSTAT_PYTHON_FILE_INPUT_H
#define IMGSTAT_PYTHON_FILE_INPUT_H

#include "module.h"

#include <pthread.h>

typedef struct FileInput {
    PyObject *name_bytes;
    const char *name;     /* the path, or what messages begin with; as long as the input */
    bool is_path;         /* else `calls` read the bytes */
    Py_buffer view;       /* of an object with the buffer protocol; else obj is NULL */
    PyObject *object;     /* with seek and readinto or read; else NULL */
    PyObject *raised;     /* the first exception of the object, until the end of the call */
    pthread_mutex_t lock; /* seek and read belong together. No thread waits for it with the GIL */
    ImgstatInput calls;
} FileInput;

/* Opens an input. name: NULL, or what messages call it. The input stays where it is until it is
 * closed, after a failure too. 0, or -1 with an exception. */
int file_input_open(PyObject *from, PyObject *name, FileInput *out);
void file_input_close(FileInput *input);

/* Opens the file. Called without the GIL. */
ImgstatResult file_input_open_file(FileInput *input, const ImgstatOpen *how, ImgstatFile **out,
                                   ImgstatError *err);

/* Lets go of the source; the name stays. Nobody reads from it any more. */
void file_input_release(FileInput *input);

/* Raises what a call failed with that read from the input: raise_result, with the exception of the
 * input's object as the cause. Returns NULL. */
PyObject *file_input_raise(State *state, FileInput *input, ImgstatResult result,
                           const ImgstatError *err);

/* Ends a call that read from the input, and forgets what the library got over; KeyboardInterrupt
 * and the like are raised. Takes `made` over, and returns it if nothing was. */
PyObject *file_input_end(FileInput *input, PyObject *made);

#endif
