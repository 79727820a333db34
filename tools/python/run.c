/* SPDX-License-Identifier: MIT */
/* run.c: the command line as functions. */
#include "module.h"
#include "program.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* One command at a time in a process: its status and the handlers of signals are the process's. */
static pthread_mutex_t running = PTHREAD_MUTEX_INITIALIZER;

static char *copy_of(PyObject *word)
{
    PyObject *bytes = NULL;
    if (!PyUnicode_FSConverter(word, &bytes))
        return NULL;
    char *const copy = strdup(PyBytes_AsString(bytes));
    Py_DECREF(bytes);
    if (copy == NULL)
        PyErr_NoMemory();
    return copy;
}

static void free_words(char **words)
{
    for (char **word = words; word != NULL && *word != NULL; word++)
        free(*word);
    free(words);
}

/* "imgstat" and the words of a sequence. NULL: an exception. */
static char **words_of(PyObject *argv, int *n)
{
    if (PyUnicode_Check(argv) || PyBytes_Check(argv)) {
        PyErr_SetString(PyExc_TypeError, "argv should be a sequence of words, not one text");
        return NULL;
    }
    const Py_ssize_t given = PySequence_Size(argv);
    if (given < 0)
        return NULL;
    char **const words = calloc((size_t)given + 2, sizeof *words);
    if (words == NULL || (words[0] = strdup("imgstat")) == NULL) {
        free_words(words);
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < given; i++) {
        PyObject *const word = PySequence_GetItem(argv, i);
        words[i + 1] = word != NULL ? copy_of(word) : NULL;
        Py_XDECREF(word);
        if (words[i + 1] == NULL) {
            free_words(words);
            return NULL;
        }
    }
    *n = (int)given + 1;
    return words;
}

static PyObject *run_with(PyObject *argv, int (*run)(int argc, char **argv))
{
    int n, status;
    char **const words = words_of(argv, &n);
    if (words == NULL)
        return NULL;
    char **const order = malloc(((size_t)n + 1) * sizeof *order); /* the command changes it */
    if (order == NULL) {
        free_words(words);
        return PyErr_NoMemory();
    }
    memcpy(order, words, ((size_t)n + 1) * sizeof *order);
    Py_BEGIN_ALLOW_THREADS
    pthread_mutex_lock(&running);
    status = run(n, order);
    pthread_mutex_unlock(&running);
    Py_END_ALLOW_THREADS
    free(order);
    free_words(words);
    return PyLong_FromLong(status);
}

static PyObject *run(PyObject *module, PyObject *argv)
{
    (void)module;
    return run_with(argv, program_run_within);
}

static PyObject *run_program(PyObject *module, PyObject *argv)
{
    (void)module;
    return run_with(argv, program_run);
}

PyMethodDef run_functions[] = {
    {"run", run, METH_O, "Runs a command of the command line in this process."},
    {"run_program", run_program, METH_O,
     "Runs a command as the last thing that this process does."},
    {NULL, NULL, 0, NULL},
};
