/* SPDX-License-Identifier: MIT */
/* file_jobs.h: an iterable of Python as the jobs of a batch. */
#ifndef IMGSTAT_PYTHON_FILE_JOBS_H
#define IMGSTAT_PYTHON_FILE_JOBS_H

#include "keywords.h"
#include "warnings.h"
#include "work.h"

/* Keyword arguments of the functions for many files. All may be NULL or None. */
typedef struct JobOptions {
    PyObject *group;    /* text, or what returns the group of an item */
    PyObject *pages;    /* names of pages, as the program takes them */
    PyObject *progress; /* called with the number of files that are done */
} JobOptions;

extern const Keyword job_keywords[];

/* Finds the group of an item as bytes: *out stays NULL where there is none. 0, or -1. */
int job_group(PyObject *group, PyObject *item, PyObject **out);

/* An iterable of sources (file_input.h), or of tuples (name, source). Items are taken as workers
 * become free, on any thread. */
typedef struct FileJobs {
    ImgstatJobStream stream;
    PyObject *files, *iterator; /* files: the caller's */
    PyObject *group, *progress; /* the caller's, or NULL */
    const char *pages;
    Work work;                   /* of the caller, while the library works */
    PyObject *kept;              /* the first exception of another thread */
    pthread_mutex_t lock;        /* guards what follows; it is held for a moment */
    struct Flight *first, *last; /* jobs that are not reported */
    size_t reported;
    Warnings warnings;
} FileJobs;

/* The jobs stay where they are until file_jobs_end, which follows a failure too. 0, or -1 with an
 * exception. */
int file_jobs_begin(PyObject *files, const JobOptions *options, FileJobs *out);
void file_jobs_end(FileJobs *jobs);

/* Callbacks of a batch on the calling thread, whose context are FileJobs: jobs before the n-th are
 * done. False, with an exception, after a signal. */
bool file_jobs_read(void *context, size_t n);
bool file_jobs_done(void *context, const ImgstatDone *done);
/* Its callback `cancelled`, on any thread. */
bool file_jobs_cancelled(void *context);
/* Its callback for warnings, on any thread. */
void file_jobs_warned(void *context, size_t job, const char *sentence);

/* Ends a call of the library. Returns `made`, a new reference that it takes over, or NULL with the
 * exception of the iterable, of a callback or of the library. */
PyObject *file_jobs_answer(State *state, FileJobs *jobs, PyObject *made, ImgstatResult result,
                           const ImgstatError *err);

#endif
