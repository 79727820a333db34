/* SPDX-License-Identifier: MIT */
/* save.c: writes arrays as files, by path or to an object with write. */
#include "array_in.h"
#include "error.h"
#include "file.h"

#include <string.h>

/* Keyword arguments that say how a file is written. */
typedef struct SaveOptions {
    PyObject *like, *page; /* a FileHandle and its page, or None */
    PyObject *format, *compression;
    PyObject *level, *fast, *replace;
} SaveOptions;

static const Keyword save_keywords[] = {
    {"like", offsetof(SaveOptions, like)},
    {"page", offsetof(SaveOptions, page)},
    {"format", offsetof(SaveOptions, format)},
    {"compression", offsetof(SaveOptions, compression)},
    {"level", offsetof(SaveOptions, level)},
    {"fast", offsetof(SaveOptions, fast)},
    {"replace", offsetof(SaveOptions, replace)},
    {NULL, 0},
};

static int read_word(PyObject *option, const char **out)
{
    *out = option_given(option) ? PyUnicode_AsUTF8AndSize(option, NULL) : NULL;
    return PyErr_Occurred() ? -1 : 0;
}

static int read_how(const SaveOptions *options, ImgstatWrite *out)
{
    const int fast = option_given(options->fast) ? PyObject_IsTrue(options->fast) : 0;
    const int replace = option_given(options->replace) ? PyObject_IsTrue(options->replace) : 0;
    out->has_level = option_given(options->level);
    if (fast < 0 || replace < 0 || read_word(options->format, &out->format) < 0 ||
        read_word(options->compression, &out->compression) < 0)
        return -1;
    const long level = out->has_level ? PyLong_AsLong(options->level) : 0;
    if (PyErr_Occurred())
        return -1;
    if (level < 0 || level > 22) {
        PyErr_Format(PyExc_ValueError, "level=%ld should be from 0 to 22", level);
        return -1;
    }
    out->level = (int)level;
    out->fast = fast > 0;
    out->replace = replace > 0;
    return 0;
}

/* ---- Where to ---- */

/* A path, or an object with write. */
typedef struct Target {
    PyObject *name_bytes;
    const char *name;
    PyObject *object; /* NULL: a path */
    PyObject *kept;   /* its exception */
} Target;

static ImgstatResult write_object(void *context, const void *bytes, size_t n, ImgstatError *err)
{
    Target *const target = context;
    const PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *const written =
        PyObject_CallMethod(target->object, "write", "y#", (const char *)bytes, (Py_ssize_t)n);
    if (written && PyLong_Check(written) && PyLong_AsSsize_t(written) != (Py_ssize_t)n)
        PyErr_SetString(PyExc_OSError, "the object took a part of the bytes");
    Py_XDECREF(written);
    const ImgstatResult res =
        PyErr_Occurred() ? error_keep(&target->kept, "cannot be written", err) : IMGSTAT_OK;
    PyGILState_Release(gil);
    return res;
}

static int open_target(PyObject *to, Target *out)
{
    if (!PyObject_HasAttrString(to, "write")) {
        if (!PyUnicode_FSConverter(to, &out->name_bytes))
            return -1;
    } else {
        PyObject *const name = PyObject_GetAttrString(to, "name");
        out->object = to;
        if (!name || !PyUnicode_Check(name) || !PyUnicode_FSConverter(name, &out->name_bytes))
            out->name_bytes = PyBytes_FromString("image");
        PyErr_Clear();
        Py_XDECREF(name);
    }
    out->name = out->name_bytes ? PyBytes_AsString(out->name_bytes) : NULL;
    return out->name ? 0 : -1;
}

/* ---- Saving ---- */

/* The page whose metadata and layout the output has. Its file's call has begun. */
typedef struct Model {
    FileObject *file; /* NULL: there is none */
    uint32_t page;
} Model;

static int begin_model(State *state, const SaveOptions *options, Model *out)
{
    if (!option_given(options->like))
        return 0;
    if (!Py_IS_TYPE(options->like, (PyTypeObject *)state->file_type) || !options->page) {
        PyErr_SetString(PyExc_TypeError, "like should be a page of an open file");
        return -1;
    }
    out->page = (uint32_t)PyLong_AsUnsignedLong(options->page);
    FileObject *const file = (FileObject *)options->like;
    if (PyErr_Occurred() || !file_begin(file))
        return -1;
    out->file = file;
    return 0;
}

/* The last channel, where PNG can hold no other one. */
static int16_t alpha_of(const ArrayImages *images, const ImgstatWrite *how, const Target *target)
{
    const char *const format = how->format ? how->format : imgstat_format_of_name(target->name);
    const bool png = format && strcmp(format, "png") == 0;
    const bool has_alpha = images->channels == 2 || images->channels == 4;
    return images->alpha < 0 && png && has_alpha ? (int16_t)(images->channels - 1) : images->alpha;
}

static PyObject *save_image(State *state, const ArrayImages *images, const Model *model,
                            const ImgstatWrite *how, Target *target)
{
    const ImgstatOutput output = {.write = write_object, .context = target};
    const int16_t alpha = alpha_of(images, how, target);
    ArrayScratch scratch = {NULL, NULL};
    ImagePro image;
    ImgstatError err = {0};
    ImgstatResult res;
    Py_BEGIN_ALLOW_THREADS
    ImgstatFile *const like = model->file ? model->file->file : NULL;
    res = array_image(images, 0, true, &scratch, &image, &err);
    if (res == IMGSTAT_OK && model->file)
        res = file_page_select(model->file, model->page, &err);
    if (res == IMGSTAT_OK && target->object)
        res = imgstat_image_save_to(&image, alpha, target->name, &output, like, how, &err);
    else if (res == IMGSTAT_OK)
        res = imgstat_image_save(&image, alpha, target->name, like, how, &err);
    array_scratch_release(&scratch);
    Py_END_ALLOW_THREADS
    if (res == IMGSTAT_OK)
        return Py_NewRef(Py_None);
    PyObject *const kept = target->kept;
    target->kept = NULL;
    return raise_because(state, kept, res, &err);
}

static PyObject *save_open(State *state, PyObject *array, const ArrayOptions *array_options,
                           const Model *model, const ImgstatWrite *how, Target *target)
{
    ArrayImages images;
    if (array_images_open(state, array, "the array", array_options, &images) < 0)
        return NULL;
    PyObject *made = NULL;
    if (images.view.memory == IMGSTAT_CUDA)
        PyErr_SetString(PyExc_ValueError,
                        "the array is in the memory of a GPU: copy it to the host first");
    else if (images.n != 1)
        PyErr_SetString(PyExc_ValueError, "a file of one page takes one image, not a batch");
    else
        made = save_image(state, &images, model, how, target);
    array_images_close(&images);
    return made;
}

/* save_array(array, target, **SaveOptions, **ArrayOptions): imgstat.save is on top of it. */
static PyObject *save_array(PyObject *module, PyObject *args, PyObject *kwargs)
{
    State *const state = state_of(module);
    PyObject *array, *to;
    SaveOptions options = {NULL};
    ArrayOptions array_options = {NULL};
    static const Keyword own_keywords[] = {{"alpha", offsetof(ArrayOptions, alpha)}, {NULL, 0}};
    const KeywordSet sets[] = {{save_keywords, &options},
                               {array_keywords, &array_options},
                               {own_keywords, &array_options}};
    Warnings warnings = {NULL, 0};
    ImgstatWrite how = {.warn = warnings_keep, .warn_context = &warnings};
    Target target = {NULL, NULL, NULL, NULL};
    Model model = {NULL, 0};
    PyObject *made = NULL;
    if (!PyArg_ParseTuple(args, "OO:save", &array, &to) ||
        keywords_read("save", kwargs, sets, sizeof sets / sizeof sets[0]) < 0 ||
        read_how(&options, &how) < 0)
        return NULL;
    if (open_target(to, &target) == 0 && begin_model(state, &options, &model) == 0)
        made = save_open(state, array, &array_options, &model, &how, &target);
    if (model.file)
        made = file_end(model.file, made);
    Py_XDECREF(target.name_bytes);
    Py_XDECREF(target.kept);
    return warnings_issue(&warnings, made);
}

static PyMethodDef functions[] = {
    {"save_array", (PyCFunction)(void (*)(void))save_array, METH_VARARGS | METH_KEYWORDS, NULL},
    {NULL, NULL, 0, NULL},
};

int add_save(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
