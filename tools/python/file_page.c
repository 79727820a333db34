/* SPDX-License-Identifier: MIT */
/* file_page.c: what the pages of a file are. */
#include "file.h"

#include "values.h"

#include <math.h>
#include <stdlib.h>

/* Adds an item to a dict, and takes the value over. *good: false after an exception. */
static void put(PyObject *dict, const char *name, PyObject *value, bool *good)
{
    if (*good)
        *good = value && PyDict_SetItemString(dict, name, value) == 0;
    Py_XDECREF(value);
}

static PyObject *text(const char *words)
{
    return words ? PyUnicode_FromString(words) : Py_NewRef(Py_None);
}

static PyObject *page_number(uint32_t page)
{
    return page == IMGSTAT_NO_PAGE ? Py_NewRef(Py_None) : PyLong_FromUnsignedLong(page);
}

static PyObject *channel_names(const FileObject *file)
{
    PyObject *names = PyTuple_New(file->info.channels);
    for (uint16_t c = 0; names && c < file->info.channels; c++) {
        PyObject *const name = text(imgstat_file_channel(file->file, c));
        if (!name || PyTuple_SetItem(names, c, name) < 0)
            Py_CLEAR(names);
    }
    return names;
}

/* What holds of pages that cannot be decoded, too. */
static void put_place(PyObject *dict, const FileObject *file, bool *good)
{
    const ImgstatPage *const info = &file->info;
    char name[64];
    imgstat_file_page_name(file->file, info->page, name, sizeof name);
    put(dict, "name", text(name), good);
    put(dict, "number", PyLong_FromUnsignedLong(info->number), good);
    put(dict, "format", text(info->format), good);
    put(dict, "photometric", text(info->photometric), good);
    put(dict, "role", text(imgstat_role_name(info->role)), good);
    put(dict, "owner", page_number(info->owner), good);
    put(dict, "mask", page_number(info->mask), good);
    put(dict, "parent", page_number(info->parent), good);
    put(dict, "axes",
        info->has_axes
            ? Py_BuildValue("{sIsIsI}", "C", info->axis_c, "Z", info->axis_z, "T", info->axis_t)
            : Py_NewRef(Py_None),
        good);
    put(dict, "axis_name", text(info->axis_name), good);
    put(dict, "width", PyLong_FromUnsignedLong(info->width), good);
    put(dict, "height", PyLong_FromUnsignedLong(info->height), good);
    put(dict, "channels", PyLong_FromLong(info->channels), good);
    put(dict, "bits", PyLong_FromLong(info->bits), good);
}

static PyObject *nodata_value(const ImgstatPage *info)
{
    if (!info->has_nodata)
        return Py_NewRef(Py_None);
    const double value = imgstat_value_double(info->nodata);
    return isnan(value) ? PyFloat_FromDouble(value) : value_object(info->nodata);
}

PyObject *file_page_info(FileObject *file, uint32_t page)
{
    ImgstatError err = {0};
    ImgstatResult res;
    Py_BEGIN_ALLOW_THREADS
    res = file_page_select(file, page, &err);
    Py_END_ALLOW_THREADS
    if (res != IMGSTAT_OK && res != IMGSTAT_ERR_UNSUPPORTED)
        return file_raise(file, res, &err);
    const bool decoded = res == IMGSTAT_OK;
    const ImgstatPage *const info = &file->info;
    PyObject *dict = PyDict_New();
    bool good = dict != NULL;
    put_place(dict, file, &good);
    put(dict, "sample", text(decoded ? imgstat_sample_name(info->sample) : NULL), &good);
    put(dict, "alpha",
        decoded && info->alpha >= 0 ? PyLong_FromLong(info->alpha) : Py_NewRef(Py_None), &good);
    put(dict, "nodata", decoded ? nodata_value(info) : Py_NewRef(Py_None), &good);
    put(dict, "channel_names", decoded ? channel_names(file) : PyTuple_New(0), &good);
    put(dict, "problem", text(decoded ? NULL : err.message), &good);
    if (!good)
        Py_CLEAR(dict);
    return dict;
}

static PyObject *metadata_kinds(const ImgstatLayout *layout)
{
    PyObject *kinds = PyTuple_New(layout->n_metadata);
    for (uint32_t i = 0; kinds && i < layout->n_metadata; i++) {
        PyObject *const name = text(layout->metadata[i]);
        if (!name || PyTuple_SetItem(kinds, i, name) < 0)
            Py_CLEAR(kinds);
    }
    return kinds;
}

PyObject *file_page_layout(FileObject *file, uint32_t page)
{
    ImgstatLayout layout;
    ImgstatError err = {0};
    ImgstatResult res;
    Py_BEGIN_ALLOW_THREADS
    res = file_page_select(file, page, &err);
    if (res == IMGSTAT_OK || res == IMGSTAT_ERR_UNSUPPORTED)
        res = imgstat_file_layout(file->file, &layout, &err);
    Py_END_ALLOW_THREADS
    if (res != IMGSTAT_OK)
        return file_raise(file, res, &err);
    PyObject *dict = PyDict_New();
    bool good = dict != NULL;
    put(dict, "compression", text(layout.compression), &good);
    put(dict, "predictor", text(layout.predictor), &good);
    put(dict, "tiled", PyBool_FromLong(layout.tiled), &good);
    put(dict, "planar", PyBool_FromLong(layout.planar), &good);
    put(dict, "interlaced", PyBool_FromLong(layout.interlaced), &good);
    put(dict, "big_endian", PyBool_FromLong(layout.big_endian), &good);
    put(dict, "big_file", PyBool_FromLong(layout.big_file), &good);
    put(dict, "cloud_optimized", PyBool_FromLong(layout.cloud_optimized), &good);
    put(dict, "tile_width", PyLong_FromUnsignedLong(layout.tile_width), &good);
    put(dict, "tile_height", PyLong_FromUnsignedLong(layout.tile_height), &good);
    put(dict, "tiles", PyLong_FromUnsignedLongLong(layout.tiles), &good);
    put(dict, "metadata", metadata_kinds(&layout), &good);
    if (!good)
        Py_CLEAR(dict);
    return dict;
}

/* ---- Which pages ---- */

/* Finds pages by a text, or with None all images. The list is malloc'ed. 0, or -1. */
static int find_pages(FileObject *file, PyObject *named, uint32_t **out, uint32_t *n)
{
    const char *text;
    if (text_read(named, "pages", &text) < 0)
        return -1;
    const uint32_t most = imgstat_file_pages(file->file);
    *out = malloc(most * sizeof **out);
    if (!*out) {
        PyErr_NoMemory();
        return -1;
    }
    ImgstatError err = {0};
    const ImgstatResult res = imgstat_file_find(file->file, text, *out, most, n, &err);
    if (res != IMGSTAT_OK)
        file_raise(file, res, &err);
    return res == IMGSTAT_OK ? 0 : -1;
}

/* Refuses a sequence of `size` numbers that has one twice. 0, or -1. */
static int check_distinct(PyObject *numbers, Py_ssize_t size)
{
    PyObject *const set = PySet_New(numbers);
    const Py_ssize_t n = set ? PySet_Size(set) : -1;
    Py_XDECREF(set);
    if (n >= size)
        return 0;
    if (n >= 0)
        PyErr_Format(PyExc_ValueError, "pages=%R names a page twice", numbers);
    return -1;
}

/* Reads a sequence of numbers. The list is malloc'ed. 0, or -1. */
static int read_pages(PyObject *numbers, uint32_t **out, uint32_t *n)
{
    const Py_ssize_t size = PySequence_Size(numbers);
    *out = size < 0 ? NULL : malloc(((size_t)size + 1) * sizeof **out);
    if (size >= 0 && !*out)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; *out && i < size; i++) {
        PyObject *const item = PySequence_GetItem(numbers, i);
        long long page;
        const int status = item ? integer_read(item, "page", 0, IMGSTAT_NO_PAGE - 1, &page) : -1;
        Py_XDECREF(item);
        if (status < 0)
            return -1;
        (*out)[i] = (uint32_t)page;
    }
    *n = (uint32_t)size;
    return *out ? check_distinct(numbers, size) : -1;
}

int file_pages_of(FileObject *file, PyObject *named, uint32_t **out, uint32_t *n)
{
    return named == Py_None || PyUnicode_Check(named) ? find_pages(file, named, out, n)
                                                      : read_pages(named, out, n);
}
