/* SPDX-License-Identifier: MIT */
/* file_output.h: where a file is written, and how. */
#ifndef IMGSTAT_PYTHON_FILE_OUTPUT_H
#define IMGSTAT_PYTHON_FILE_OUTPUT_H

#include "keywords.h"

/* A path, or an object with write. */
typedef struct FileOutput {
    PyObject *name_bytes;
    const char *name;    /* the path, or what messages begin with; as long as the output */
    PyObject *object;    /* NULL: a path */
    PyObject *raised;    /* the first exception of the object, until it is raised */
    ImgstatOutput calls; /* that write to the object */
} FileOutput;

/* The output stays where it is until it is closed, after a failure too. 0, or -1 with an exception.
 */
int file_output_open(PyObject *to, FileOutput *out);
void file_output_close(FileOutput *output);

/* Keyword arguments that say how files are written. All may be NULL or None. */
typedef struct WriteOptions {
    PyObject *format, *compression; /* text */
    PyObject *level;                /* 0 to 22 */
    PyObject *fast, *replace;       /* bool */
} WriteOptions;

extern const Keyword write_keywords[];

/* Sets these members; texts live as long as the options. 0, or -1 with an exception. */
int write_read(const WriteOptions *options, ImgstatWrite *out);

#endif
