/* SPDX-License-Identifier: MIT */
/* work.h: calls of the library, during which other threads of Python run. */
#ifndef IMGSTAT_PYTHON_WORK_H
#define IMGSTAT_PYTHON_WORK_H

#include "module.h"

/* Work without the interpreter's lock. */
typedef struct Work {
    PyThreadState *thread;
    double looked; /* for signals, in seconds */
} Work;

void work_begin(Work *work);

/* Called between images. False: a signal has raised an exception, such as KeyboardInterrupt. */
bool work_continues(Work *work);
void work_end(Work *work);

#endif
