/* SPDX-License-Identifier: MIT */
/* warnings.c: collects what the library warns of, from any thread, and reports it. */
#include "warnings.h"

#include <stdlib.h>
#include <string.h>

void warnings_keep(void *context, const char *sentence)
{
    Warnings *const warnings = context;
    char **const larger = realloc(warnings->sentences, (warnings->n + 1) * sizeof(char *));
    char *const copy = strdup(sentence);
    if (larger)
        warnings->sentences = larger;
    if (larger && copy)
        warnings->sentences[warnings->n++] = copy;
    else {
        free(copy);
        warnings->lost = true;
    }
}

PyObject *warnings_issue(Warnings *warnings, PyObject *made)
{
    const Warnings reported = *warnings;
    *warnings = (Warnings){NULL};
    if (made && reported.lost) {
        PyErr_NoMemory();
        Py_CLEAR(made);
    }
    for (size_t i = 0; i < reported.n; i++) {
        if (made && PyErr_WarnEx(PyExc_UserWarning, reported.sentences[i], 1) < 0)
            Py_CLEAR(made);
        free(reported.sentences[i]);
    }
    free(reported.sentences);
    return made;
}
