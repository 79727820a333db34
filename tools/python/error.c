/* SPDX-License-Identifier: MIT */
/* error.c: imgstat.Error, and which result becomes which exception. */
#include "error.h"

#include <string.h>

static PyObject *utf8_text(const char *text, size_t bytes)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)bytes, "replace");
}

/* Sets an attribute to a value, which it takes over; NULL is an exception. */
static int set_attribute(PyObject *object, const char *name, PyObject *value)
{
    const int status = value ? PyObject_SetAttrString(object, name, value) : -1;
    Py_XDECREF(value);
    return status;
}

PyObject *error_object(State *state, const ImgstatError *err)
{
    PyObject *const message = utf8_text(err->message, strlen(err->message));
    PyObject *const error =
        message ? PyObject_CallFunctionObjArgs(state->error, message, NULL) : NULL;
    Py_XDECREF(message);
    if (!error)
        return NULL;
    const char *const code = imgstat_result_name(err->code);
    int status = set_attribute(error, "code", utf8_text(code, strlen(code)));
    if (status == 0 && err->file_bytes)
        status = set_attribute(error, "path", utf8_text(err->message, err->file_bytes));
    if (status == 0 && err->has_page)
        status = set_attribute(error, "page", PyLong_FromUnsignedLong(err->page));
    if (status == 0)
        return error;
    Py_DECREF(error);
    return NULL;
}

PyObject *raise_result(State *state, ImgstatResult result, const ImgstatError *err)
{
    if (PyErr_Occurred())
        return NULL;
    const bool wrong = result == IMGSTAT_ERR_ARG;
    PyObject *const value =
        wrong ? utf8_text(err->message, strlen(err->message)) : error_object(state, err);
    if (value)
        PyErr_SetObject(wrong ? PyExc_ValueError : state->error, value);
    Py_XDECREF(value);
    return NULL;
}

ImgstatResult error_keep(PyObject **kept, const char *what, ImgstatError *err)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback)
        PyException_SetTraceback(value, traceback);
    const bool memory = PyErr_GivenExceptionMatches(type, PyExc_MemoryError);
    PyObject *const words = PyObject_Str(value);
    const char *const text = words ? PyUnicode_AsUTF8AndSize(words, NULL) : NULL;
    PyOS_snprintf(err->message, sizeof err->message, "%s: %s", what,
                  text && *text ? text
                  : memory      ? "out of memory"
                                : "an exception without text");
    PyErr_Clear();
    Py_XDECREF(words);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    if (*kept)
        Py_DECREF(value);
    else
        *kept = value;
    return memory ? IMGSTAT_ERR_MEMORY : IMGSTAT_ERR_IO;
}

bool error_dismiss(void)
{
    if (PyErr_Occurred() &&
        (!PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_MemoryError)))
        return false;
    PyErr_Clear();
    return true;
}

bool error_ends(PyObject *kept)
{
    return kept && !PyErr_GivenExceptionMatches(kept, PyExc_Exception);
}

PyObject *raise_because(State *state, PyObject *kept, ImgstatResult result, const ImgstatError *err)
{
    if (error_ends(kept)) {
        PyErr_SetObject((PyObject *)Py_TYPE(kept), kept);
        Py_DECREF(kept);
        return NULL;
    }
    raise_result(state, result, err);
    if (!kept)
        return NULL;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyException_SetCause(value, kept);
    PyErr_Restore(type, value, traceback);
    return NULL;
}

PyDoc_STRVAR(
    error_doc,
    "What imgstat could not do, beyond a wrong argument (which is a ValueError or a "
    "TypeError).\n\n"
    "str(e) is one sentence that begins with the name of the file, if there is one.\n"
    "e.code is a word for programs: 'memory', 'io', 'format', 'truncated', "
    "'unsupported',\n'limit', 'device' or 'cancelled'; of one of many files also "
    "'argument'.\ne.path is the name of the file as the sentence has it (masked where it is "
    "not text, cut\nwhere it is long), or None; e.page the number of its page, counted from "
    "0, or None.");

int error_add(PyObject *module)
{
    State *const state = state_of(module);
    PyObject *const defaults =
        Py_BuildValue("{sssOsO}", "code", "", "path", Py_None, "page", Py_None);
    if (!defaults)
        return -1;
    state->error = PyErr_NewExceptionWithDoc("imgstat.Error", error_doc, NULL, defaults);
    Py_DECREF(defaults);
    return state->error ? PyModule_AddObjectRef(module, "Error", state->error) : -1;
}
