/* SPDX-License-Identifier: MIT */
/* file_jobs.c: takes the files of a batch from an iterable, and keeps them until they are done. */
#include "file_jobs.h"

#include "error.h"
#include "file_input.h"
#include "values.h"
#include "work.h"

#include <stdlib.h>

const Keyword job_keywords[] = {
    {"group", offsetof(JobOptions, group)},
    {"pages", offsetof(JobOptions, pages)},
    {"progress", offsetof(JobOptions, progress)},
    {NULL, 0},
};

/* A job that is not reported. */
typedef struct Flight {
    struct Flight *next;
    FileInput input;
    PyObject *group; /* bytes, or NULL */
} Flight;

static void flight_destroy(Flight *flight)
{
    file_input_close(&flight->input);
    Py_XDECREF(flight->group);
    free(flight);
}

/* ---- Taking ---- */

int job_group(PyObject *group, PyObject *item, PyObject **out)
{
    if (!option_given(group))
        return 0;
    PyObject *const text = PyCallable_Check(group) ? PyObject_CallFunctionObjArgs(group, item, NULL)
                                                   : Py_NewRef(group);
    const int status = text && PyUnicode_FSConverter(text, out) ? 0 : -1;
    Py_XDECREF(text);
    return status;
}

/* Opens a job for an item. NULL: an exception. */
static Flight *flight_create(const FileJobs *jobs, PyObject *item)
{
    Flight *const flight = calloc(1, sizeof *flight);
    if (!flight) {
        PyErr_NoMemory();
        return NULL;
    }
    PyObject *source = item, *name = NULL;
    const bool named = PyTuple_Check(item);
    if ((named && !PyArg_ParseTuple(item, "OO;files should be sources, or tuples (name, source)",
                                    &name, &source)) ||
        file_input_open(source, name, &flight->input) < 0 ||
        job_group(jobs->group, item, &flight->group) < 0) {
        flight_destroy(flight);
        return NULL;
    }
    return flight;
}

static bool next(void *context, ImgstatJob *job)
{
    FileJobs *const jobs = context;
    const PyGILState_STATE gil = work_enter();
    PyObject *const item = jobs->kept ? NULL : PyIter_Next(jobs->iterator);
    Flight *const flight = item ? flight_create(jobs, item) : NULL;
    Py_XDECREF(item);
    if (flight) {
        *job = (ImgstatJob){.input = flight->input.name,
                            .pages = jobs->pages,
                            .source = flight->input.is_path ? NULL : &flight->input.calls,
                            .group = flight->group ? PyBytes_AsString(flight->group) : NULL};
    } else if (PyErr_Occurred()) {
        ImgstatError unused;
        (void)error_keep(&jobs->kept, "the files", &unused);
    }
    work_leave(gil);
    if (!flight)
        return false;
    pthread_mutex_lock(&jobs->lock);
    if (jobs->last)
        jobs->last->next = flight;
    else
        jobs->first = flight;
    jobs->last = flight;
    pthread_mutex_unlock(&jobs->lock);
    return true;
}

/* Forgets the first job. */
static Flight *take_first(FileJobs *jobs)
{
    pthread_mutex_lock(&jobs->lock);
    Flight *const first = jobs->first;
    if (first)
        jobs->first = first->next;
    if (!jobs->first)
        jobs->last = NULL;
    pthread_mutex_unlock(&jobs->lock);
    return first;
}

static bool restart(void *context)
{
    FileJobs *const jobs = context;
    const PyGILState_STATE gil = work_enter();
    for (Flight *flight; (flight = take_first(jobs));)
        flight_destroy(flight);
    jobs->reported = 0;
    PyObject *const again = PyObject_GetIter(jobs->files);
    const bool other = again && again != jobs->files; /* else it is at its end */
    if (other) {
        Py_DECREF(jobs->iterator);
        jobs->iterator = again;
    } else {
        ImgstatError unused;
        if (!again)
            (void)error_keep(&jobs->kept, "the files", &unused);
        Py_XDECREF(again);
    }
    work_leave(gil);
    return other;
}

/* ---- Reporting ---- */

bool file_jobs_read(void *context, size_t n)
{
    FileJobs *const jobs = context;
    const PyGILState_STATE gil = work_enter();
    /* Files that were at work are reported after the end as well. */
    bool good = !PyErr_Occurred() && PyErr_CheckSignals() == 0;
    for (; jobs->reported < n; jobs->reported++) {
        Flight *const flight = take_first(jobs);
        PyObject *const raised = flight ? flight->input.raised : NULL;
        if (good && error_ends(raised)) {
            PyErr_SetObject((PyObject *)Py_TYPE(raised), raised); /* KeyboardInterrupt */
            good = false;
        }
        if (flight)
            flight_destroy(flight);
    }
    if (good && jobs->progress) {
        PyObject *const answer = PyObject_CallFunction(jobs->progress, "n", (Py_ssize_t)n);
        good = answer != NULL;
        Py_XDECREF(answer);
    }
    work_leave(gil);
    return good;
}

bool file_jobs_done(void *context, const ImgstatDone *done)
{
    return file_jobs_read(context, done->job + 1);
}

bool file_jobs_cancelled(void *context)
{
    return work_cancelled(&((FileJobs *)context)->work);
}

void file_jobs_warned(void *context, size_t job, const char *sentence)
{
    FileJobs *const jobs = context;
    (void)job;
    pthread_mutex_lock(&jobs->lock);
    warnings_keep(&jobs->warnings, sentence);
    pthread_mutex_unlock(&jobs->lock);
}

/* ---- Beginning and ending ---- */

int file_jobs_begin(PyObject *files, const JobOptions *options, FileJobs *out)
{
    *out = (FileJobs){.stream = {.next = next, .restart = restart, .context = out}};
    pthread_mutex_init(&out->lock, NULL);
    if (work_calls_back() < 0)
        return -1;
    out->files = files;
    out->group = options->group;
    out->progress = option_given(options->progress) ? options->progress : NULL;
    if (text_read(options->pages, "pages", &out->pages) < 0)
        return -1;
    if (PyUnicode_Check(files) || PyBytes_Check(files)) {
        PyErr_SetString(PyExc_TypeError, "an iterable of files is wanted, not one file");
        return -1;
    }
    out->iterator = PyObject_GetIter(files);
    return out->iterator ? 0 : -1;
}

void file_jobs_end(FileJobs *jobs)
{
    for (Flight *flight; (flight = take_first(jobs));)
        flight_destroy(flight);
    Py_XDECREF(jobs->iterator);
    Py_XDECREF(jobs->kept);
    (void)warnings_issue(&jobs->warnings, NULL);
    pthread_mutex_destroy(&jobs->lock);
}

PyObject *file_jobs_answer(State *state, FileJobs *jobs, PyObject *made, ImgstatResult result,
                           const ImgstatError *err)
{
    if (!PyErr_Occurred() && jobs->kept)
        PyErr_SetObject((PyObject *)Py_TYPE(jobs->kept), jobs->kept);
    if (!PyErr_Occurred() && result == IMGSTAT_OK)
        return warnings_issue(&jobs->warnings, made);
    Py_DECREF(made);
    return raise_result(state, result, err);
}
