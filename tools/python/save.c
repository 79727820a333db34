/* SPDX-License-Identifier: MIT */
/* save.c: writes arrays as files, by path or to an object with write. */
#include "array_in.h"
#include "error.h"
#include "file.h"
#include "file_output.h"
#include "methods.h"

#include <string.h>

typedef struct SaveOptions {
    PyObject *like, *page; /* a FileHandle and its page, or None */
    WriteOptions write;
    ArrayOptions array;
} SaveOptions;

static const Keyword save_keywords[] = {
    {"like", offsetof(SaveOptions, like)},
    {"page", offsetof(SaveOptions, page)},
    {"alpha", offsetof(SaveOptions, array.alpha)},
    {NULL, 0},
};

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
static int16_t alpha_of(const ArrayImages *images, const ImgstatWrite *how,
                        const FileOutput *target)
{
    const char *const format = how->format ? how->format : imgstat_format_of_name(target->name);
    const bool png = format && strcmp(format, "png") == 0;
    const bool has_alpha = images->channels == 2 || images->channels == 4;
    return images->alpha < 0 && png && has_alpha ? (int16_t)(images->channels - 1) : images->alpha;
}

static PyObject *save_image(State *state, ArrayImages *images, const Model *model,
                            ImgstatWrite *how, FileOutput *target)
{
    const int16_t alpha = alpha_of(images, how, target);
    ArrayScratch scratch = {NULL, NULL};
    ImagePro image;
    ImgstatError err = {0};
    ImgstatResult res;
    Work work;
    images->work = &work;
    how->cancelled = work_cancelled;
    how->cancelled_context = &work;
    work_begin(&work, NULL);
    ImgstatFile *const like = model->file ? model->file->file : NULL;
    res = array_image(images, 0, true, &scratch, &image, &err);
    if (res == IMGSTAT_OK && model->file)
        res = file_page_select(model->file, model->page, &err);
    if (res == IMGSTAT_OK && target->object)
        res = imgstat_image_save_to(&image, alpha, target->name, &target->calls, like, how, &err);
    else if (res == IMGSTAT_OK)
        res = imgstat_image_save(&image, alpha, target->name, like, how, &err);
    array_scratch_release(&scratch);
    work_end(&work);
    if (res == IMGSTAT_OK)
        return Py_NewRef(Py_None);
    PyObject *const raised = target->raised;
    target->raised = NULL;
    return raise_because(state, raised, res, &err);
}

static PyObject *save_open(State *state, PyObject *array, const ArrayOptions *array_options,
                           const Model *model, ImgstatWrite *how, FileOutput *target)
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

/* save_array(array, target, **options): imgstat.save is on top of it. */
static PyObject *save_array(PyObject *module, PyObject *args, PyObject *kwargs)
{
    State *const state = state_of(module);
    PyObject *array, *to;
    SaveOptions options = {.like = NULL};
    const KeywordSet sets[] = {{save_keywords, &options},
                               {write_keywords, &options.write},
                               {array_keywords, &options.array}};
    Warnings warnings = {NULL};
    ImgstatWrite how = {.warn = warnings_keep, .warn_context = &warnings};
    FileOutput target = {.name = NULL};
    Model model = {NULL, 0};
    PyObject *made = NULL;
    if (!PyArg_ParseTuple(args, "OO:save", &array, &to) ||
        keywords_read("save", kwargs, sets, sizeof sets / sizeof sets[0]) < 0 ||
        write_read(&options.write, &how) < 0)
        return NULL;
    if (file_output_open(to, &target) == 0 && begin_model(state, &options, &model) == 0)
        made = save_open(state, array, &options.array, &model, &how, &target);
    if (model.file)
        made = file_end(model.file, made);
    file_output_close(&target);
    return warnings_issue(&warnings, made);
}

PyMethodDef save_functions[] = {
    {"save_array", WITH_WORDS(save_array), NULL},
    {NULL, NULL, 0, NULL},
};
