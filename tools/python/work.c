/* SPDX-License-Identifier: MIT */
/* work.c: releases the interpreter's lock, and takes it now and then to look for signals. */
#define _GNU_SOURCE
#include "work.h"

#include <time.h>
#include <unistd.h>

/* Seconds between two looks. A look waits for the lock, which another thread may have for 5 ms. */
static const double between_looks = 0.05;

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void work_begin(Work *work, const atomic_bool *stop)
{
    *work = (Work){.caller = pthread_self(), .looked = now(), .stop = stop};
    work->thread = PyEval_SaveThread();
}

/* How many callbacks the thread is in. */
static _Thread_local unsigned within;

PyGILState_STATE work_enter(void)
{
    within++;
    return PyGILState_Ensure();
}

void work_leave(PyGILState_STATE gil)
{
    PyGILState_Release(gil);
    within--;
}

bool work_is_within(void)
{
    return within > 0;
}

/* Python handles signals on the main thread alone. */
static void look(Work *work)
{
    const double time = now();
    if (time - work->looked < between_looks)
        return;
    work->looked = time;
    if (gettid() != getpid())
        return;
    PyEval_RestoreThread(work->thread);
    within++;
    if (PyErr_Occurred() || PyErr_CheckSignals() != 0)
        atomic_store(&work->ended, true);
    within--;
    work->thread = PyEval_SaveThread();
}

bool work_cancelled(void *context)
{
    Work *const work = context;
    if (pthread_equal(pthread_self(), work->caller) && !atomic_load(&work->ended))
        look(work);
    return atomic_load(&work->ended) || (work->stop && atomic_load(work->stop));
}

void work_end(Work *work)
{
    PyEval_RestoreThread(work->thread);
}

int work_calls_back(void)
{
    if (PyInterpreterState_GetID(PyInterpreterState_Get()) == 0)
        return 0;
    PyErr_SetString(PyExc_RuntimeError,
                    "file objects and many files at a time are for the main interpreter alone");
    return -1;
}

bool work_lock(pthread_mutex_t *lock)
{
    int status = pthread_mutex_trylock(lock);
    if (status == 0)
        return true;
    Py_BEGIN_ALLOW_THREADS
    status = pthread_mutex_lock(lock);
    Py_END_ALLOW_THREADS
    return status == 0;
}
