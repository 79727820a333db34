/* SPDX-License-Identifier: MIT */
/* warnings.h: what the library warns of, as warnings of Python. */
#ifndef IMGSTAT_PYTHON_WARNINGS_H
#define IMGSTAT_PYTHON_WARNINGS_H

#include "module.h"

/* Sentences that wait for the end of a call. All zero at first. */
typedef struct Warnings {
    char **sentences;
    size_t n;
    bool lost; /* there was no memory for one */
} Warnings;

/* An ImgstatWarn; context: Warnings. */
void warnings_keep(void *context, const char *sentence);

/* Reports the sentences and forgets them. Takes `made` over, which NULL is an exception, and
 * returns it if no warning became an exception. */
PyObject *warnings_issue(Warnings *warnings, PyObject *made);

#endif
