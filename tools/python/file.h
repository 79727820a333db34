/* SPDX-License-Identifier: MIT */
/* file.h: an open file, which imgstat.File of files.py is on top of. */
#ifndef IMGSTAT_PYTHON_FILE_H
#define IMGSTAT_PYTHON_FILE_H

#include "file_input.h"
#include "open_options.h"
#include "warnings.h"
#include "work.h"

/* The lock is the file's, which serves one thread at a time, and of PTHREAD_MUTEX_ERRORCHECK, as
 * signals run code of Python in calls. No thread waits for it with the GIL. */
typedef struct FileObject {
    PyObject_HEAD FileInput input;
    OpenHow how;
    _Atomic(ImgstatFile *) file; /* NULL: closed, which is asked without the lock */
    pthread_mutex_t lock;
    Warnings warnings; /* that are not reported yet */
    uint32_t page;     /* that is selected, or IMGSTAT_NO_PAGE */
    uint32_t next_row;
    atomic_bool stopped; /* what reads and measures ends */
    ImgstatPage info;    /* of that page */
} FileObject;

/* Begins a call. Returns false with an exception if the file is closed. */
bool file_begin(FileObject *file);
/* Ends it, and reports warnings. Takes `made` over, which NULL is an exception, and returns it if
 * no warning became an exception. */
PyObject *file_end(FileObject *file, PyObject *made);

/* Selects a page, if it is not. Called without the GIL. */
ImgstatResult file_page_select(FileObject *file, uint32_t page, ImgstatError *err);

/* Returns a dict with what a page is; of one that cannot be decoded with why. */
PyObject *file_page_info(FileObject *file, uint32_t page);
/* Returns a dict with how a page lies in the file. */
PyObject *file_page_layout(FileObject *file, uint32_t page);

/* Lists pages: by None all images, by a text, or by a sequence of numbers. The list is malloc'ed.
 * 0, or -1 with an exception; it is freed after that, too. */
int file_pages_of(FileObject *file, PyObject *named, uint32_t **out, uint32_t *n);

/* Raises what a call failed with. Returns NULL. */
PyObject *file_raise(FileObject *file, ImgstatResult result, const ImgstatError *err);

#endif
