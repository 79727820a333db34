/* SPDX-License-Identifier: MIT */
/* file_output.c: writes files to objects of Python, and reads how files are written. */
#include "file_output.h"

#include "error.h"
#include "lookup.h"
#include "values.h"
#include "work.h"

const Keyword write_keywords[] = {
    {"format", offsetof(WriteOptions, format)},
    {"compression", offsetof(WriteOptions, compression)},
    {"level", offsetof(WriteOptions, level)},
    {"fast", offsetof(WriteOptions, fast)},
    {"replace", offsetof(WriteOptions, replace)},
    {NULL, 0},
};

int write_read(const WriteOptions *options, ImgstatWrite *out)
{
    const int fast = option_given(options->fast) ? PyObject_IsTrue(options->fast) : 0;
    const int replace = option_given(options->replace) ? PyObject_IsTrue(options->replace) : 0;
    out->has_level = option_given(options->level);
    if (fast < 0 || replace < 0 || text_read(options->format, "format", &out->format) < 0 ||
        text_read(options->compression, "compression", &out->compression) < 0)
        return -1;
    long long level = 0;
    if (out->has_level && integer_read(options->level, "level", 0, 22, &level) < 0)
        return -1;
    out->level = (int)level;
    out->fast = fast > 0;
    out->replace = replace > 0;
    return 0;
}

static ImgstatResult write_object(void *context, const void *bytes, size_t n, ImgstatError *err)
{
    FileOutput *const output = context;
    const PyGILState_STATE gil = work_enter();
    PyObject *const written =
        PyObject_CallMethod(output->object, "write", "y#", (const char *)bytes, (Py_ssize_t)n);
    if (written && PyLong_Check(written) && PyLong_AsSsize_t(written) != (Py_ssize_t)n)
        PyErr_SetString(PyExc_OSError, "the object took a part of the bytes");
    Py_XDECREF(written);
    const ImgstatResult res =
        PyErr_Occurred() ? error_keep(&output->raised, "cannot be written", err) : IMGSTAT_OK;
    work_leave(gil);
    return res;
}

int file_output_open(PyObject *to, FileOutput *out)
{
    *out = (FileOutput){.calls = {.write = write_object, .context = out}};
    if (!attribute_has(to, "write")) {
        if (PyErr_Occurred() || !PyUnicode_FSConverter(to, &out->name_bytes))
            return -1;
    } else if (work_calls_back() < 0) {
        return -1;
    } else {
        PyObject *const name = PyObject_GetAttrString(to, "name");
        out->object = Py_NewRef(to);
        if (!name || !PyUnicode_Check(name) || !PyUnicode_FSConverter(name, &out->name_bytes)) {
            out->name_bytes = error_dismiss() ? PyBytes_FromString("image") : NULL;
        }
        Py_XDECREF(name);
    }
    out->name = out->name_bytes ? PyBytes_AsString(out->name_bytes) : NULL;
    return out->name ? 0 : -1;
}

void file_output_close(FileOutput *output)
{
    Py_CLEAR(output->name_bytes);
    Py_CLEAR(output->object);
    Py_CLEAR(output->raised);
}
