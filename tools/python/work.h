/* SPDX-License-Identifier: MIT */
/* work.h: calls of the library, during which other threads of Python run. */
#ifndef IMGSTAT_PYTHON_WORK_H
#define IMGSTAT_PYTHON_WORK_H

#include "module.h"

#include <pthread.h>
#include <stdatomic.h>

/* Work without the interpreter's lock. */
typedef struct Work {
    PyThreadState *thread;
    pthread_t caller;
    double looked;     /* for signals, in seconds */
    atomic_bool ended; /* by an exception */
    const atomic_bool *stop;
} Work;

/* stop: NULL, or what another thread sets to end the work. */
void work_begin(Work *work, const atomic_bool *stop);

/* Whether the work should end: a signal has raised an exception, such as KeyboardInterrupt, or a
 * callback has. What the library calls as `cancelled`, from any thread. context: a Work. */
bool work_cancelled(void *context);
void work_end(Work *work);

/* Takes the interpreter's lock for a callback of the library, on any thread, and gives it back. */
PyGILState_STATE work_enter(void);
void work_leave(PyGILState_STATE gil);

/* Whether the calling thread is in a callback, or in what handles a signal during a call: the call
 * goes on when that has returned. */
bool work_is_within(void);

/* Begins a call in which threads of the library call objects of Python: only in the main
 * interpreter do they find it. 0, or -1 with an exception. */
int work_calls_back(void);

/* Takes a lock, for which other threads need not wait for the interpreter's. False: it is of
 * PTHREAD_MUTEX_ERRORCHECK, and the thread has it. */
bool work_lock(pthread_mutex_t *lock);

#endif
