/* SPDX-License-Identifier: MIT */
/* file_input.c: reads files from memory and from file objects of Python. */
#include "file_input.h"

#include "error.h"
#include "lookup.h"
#include "work.h"

#include <stdio.h>
#include <string.h>

/* ---- Bytes ---- */

static ImgstatResult read_bytes(void *context, uint64_t offset, void *to, size_t bytes, size_t *got,
                                ImgstatError *err)
{
    const FileInput *const input = context;
    (void)err;
    memcpy(to, (const char *)input->view.buf + offset, bytes);
    *got = bytes;
    return IMGSTAT_OK;
}

/* ---- File objects ---- */

/* Reads into memory of the library: the number of bytes, or -1 with an exception. */
static Py_ssize_t read_into(PyObject *object, void *to, size_t bytes)
{
    PyObject *const memory = PyMemoryView_FromMemory(to, (Py_ssize_t)bytes, PyBUF_WRITE);
    PyObject *const count = memory ? PyObject_CallMethod(object, "readinto", "O", memory) : NULL;
    const Py_ssize_t n = count ? PyNumber_AsSsize_t(count, PyExc_OverflowError) : -1;
    Py_XDECREF(count);
    /* The object must not use the memory later. */
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *const released = memory ? PyObject_CallMethod(memory, "release", NULL) : NULL;
    Py_XDECREF(released);
    Py_XDECREF(memory);
    if (type)
        PyErr_Restore(type, value, traceback);
    return PyErr_Occurred() ? -1 : n;
}

static Py_ssize_t read_copy(PyObject *object, void *to, size_t bytes)
{
    PyObject *const read = PyObject_CallMethod(object, "read", "n", (Py_ssize_t)bytes);
    Py_buffer view;
    if (!read || PyObject_GetBuffer(read, &view, PyBUF_SIMPLE) < 0) {
        Py_XDECREF(read);
        return -1;
    }
    const Py_ssize_t n = view.len;
    if (n <= (Py_ssize_t)bytes)
        memcpy(to, view.buf, (size_t)n);
    PyBuffer_Release(&view);
    Py_DECREF(read);
    return n;
}

static ImgstatResult read_at(FileInput *input, uint64_t offset, void *to, size_t bytes, size_t *got,
                             ImgstatError *err)
{
    PyObject *const sought =
        PyObject_CallMethod(input->object, "seek", "K", (unsigned long long)offset);
    PyObject *const readinto = sought ? attribute_find(input->object, "readinto") : NULL;
    Py_ssize_t n = -1;
    if (readinto && readinto != Py_None)
        n = read_into(input->object, to, bytes);
    else if (sought && !PyErr_Occurred())
        n = read_copy(input->object, to, bytes);
    Py_XDECREF(readinto);
    Py_XDECREF(sought);
    if (n > (Py_ssize_t)bytes)
        PyErr_SetString(PyExc_ValueError, "the object read more bytes than were asked for");
    else if (n < 0 && !PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "the object read %zd bytes", n);
    *got = n < 0 ? 0 : (size_t)n;
    return PyErr_Occurred() ? error_keep(&input->raised, "cannot be read", err) : IMGSTAT_OK;
}

static ImgstatResult read_object(void *context, uint64_t offset, void *to, size_t bytes,
                                 size_t *got, ImgstatError *err)
{
    FileInput *const input = context;
    ImgstatResult res = IMGSTAT_ERR_IO;
    pthread_mutex_lock(&input->lock);
    const PyGILState_STATE gil = work_enter();
    if (PyErr_Occurred() || error_ends(input->raised)) /* the call ends: a signal has come */
        PyOS_snprintf(err->message, sizeof err->message, "cannot be read: interrupted");
    else
        res = read_at(input, offset, to, bytes, got, err);
    work_leave(gil);
    pthread_mutex_unlock(&input->lock);
    return res;
}

/* The number of bytes of a file object; -1 with an exception. */
static long long object_bytes(PyObject *object)
{
    PyObject *const sought = PyObject_CallMethod(object, "seek", "ii", 0, SEEK_END);
    PyObject *const end = sought ? PyObject_CallMethod(object, "tell", NULL) : NULL;
    const long long bytes = end ? PyLong_AsLongLong(end) : -1;
    Py_XDECREF(sought);
    Py_XDECREF(end);
    return bytes;
}

/* ---- Inputs ---- */

static int open_object(PyObject *from, FileInput *out)
{
    if (!attribute_has(from, "read") || !attribute_has(from, "seek")) {
        if (PyErr_Occurred())
            return -1;
        PyErr_Format(PyExc_TypeError,
                     "a path, bytes, or an object with read and seek is wanted, not %R",
                     (PyObject *)Py_TYPE(from));
        return -1;
    }
    const long long bytes = work_calls_back() == 0 ? object_bytes(from) : -1;
    if (bytes < 0) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "tell() of a file object returned %lld", bytes);
        return -1;
    }
    out->object = Py_NewRef(from);
    out->calls = (ImgstatInput){.bytes = (uint64_t)bytes, .read_at = read_object, .context = out};
    return 0;
}

/* What messages call an input without a path: what it was named, or its attribute `name`. */
static PyObject *find_name(PyObject *from, PyObject *name)
{
    PyObject *const found = name ? Py_NewRef(name) : PyObject_GetAttrString(from, "name");
    PyObject *made = NULL;
    if (found && (PyUnicode_Check(found) || name) && !PyUnicode_FSConverter(found, &made))
        made = NULL;
    Py_XDECREF(found);
    if (made || name || !error_dismiss())
        return made;
    return PyBytes_FromString("image");
}

int file_input_open(PyObject *from, PyObject *name, FileInput *out)
{
    *out = (FileInput){0};
    pthread_mutex_init(&out->lock, NULL);
    int status = 0;
    if (PyUnicode_Check(from) || attribute_has(from, "__fspath__")) {
        out->is_path = true;
        status = PyUnicode_FSConverter(from, &out->name_bytes) ? 0 : -1;
    } else if (PyErr_Occurred()) {
        status = -1;
    } else {
        out->name_bytes = find_name(from, name);
        if (!out->name_bytes)
            status = -1;
        else if (!PyObject_CheckBuffer(from))
            status = open_object(from, out);
        else if ((status = PyObject_GetBuffer(from, &out->view, PyBUF_SIMPLE)) == 0)
            out->calls = (ImgstatInput){
                .bytes = (uint64_t)out->view.len, .read_at = read_bytes, .context = out};
    }
    if (status == 0)
        out->name = PyBytes_AsString(out->name_bytes);
    return status;
}

void file_input_release(FileInput *input)
{
    Py_CLEAR(input->object);
    Py_CLEAR(input->raised);
    if (input->view.obj)
        PyBuffer_Release(&input->view);
}

void file_input_close(FileInput *input)
{
    file_input_release(input);
    Py_CLEAR(input->name_bytes);
    pthread_mutex_destroy(&input->lock);
}

ImgstatResult file_input_open_file(FileInput *input, const ImgstatOpen *how, ImgstatFile **out,
                                   ImgstatError *err)
{
    return input->is_path ? imgstat_file_open(input->name, how, out, err)
                          : imgstat_file_open_input(input->name, &input->calls, how, out, err);
}

static PyObject *take_raised(FileInput *input)
{
    work_lock(&input->lock);
    PyObject *const kept = input->raised;
    input->raised = NULL;
    pthread_mutex_unlock(&input->lock);
    return kept;
}

PyObject *file_input_raise(State *state, FileInput *input, ImgstatResult result,
                           const ImgstatError *err)
{
    return raise_because(state, take_raised(input), result, err);
}

PyObject *file_input_end(FileInput *input, PyObject *made)
{
    PyObject *const kept = take_raised(input);
    if (made && error_ends(kept)) {
        PyErr_SetObject((PyObject *)Py_TYPE(kept), kept);
        Py_CLEAR(made);
    }
    Py_XDECREF(kept);
    return made;
}
