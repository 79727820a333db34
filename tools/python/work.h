/* SPDX-License-Identifier: MIT */
/* work.h: calls of the library, during which other threads of Python run. */
#ifndef IMGSTAT_PYTHON_WORK_H
#define IMGSTAT_PYTHON_WORK_H

#include "module.h"

#include <pthread.h>

/* Work without the interpreter's lock. */
typedef struct Work {
    PyThreadState *thread;
    double looked; /* for signals, in seconds */
} Work;

void work_begin(Work *work);

/* Called between images. False: a signal has raised an exception, such as KeyboardInterrupt. */
bool work_continues(Work *work);
void work_end(Work *work);

/* Begins a call in which threads of the library call objects of Python: only in the main
 * interpreter do they find it. 0, or -1 with an exception. */
int work_calls_back(void);

/* Takes a lock, for which other threads need not wait for the interpreter's. */
void work_lock(pthread_mutex_t *lock);

#endif
