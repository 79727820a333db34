/* SPDX-License-Identifier: MIT */
/* open_options.c: keyword arguments that say how files are opened. */
#include "open_options.h"

#include "lookup.h"
#include "values.h"

const Keyword open_keywords[] = {
    {"salvage", offsetof(OpenOptions, salvage)},
    {"indices", offsetof(OpenOptions, indices)},
    {"ignore_masks", offsetof(OpenOptions, ignore_masks)},
    {"alpha_masks", offsetof(OpenOptions, alpha_masks)},
    {"mask", offsetof(OpenOptions, mask)},
    {"mask_page", offsetof(OpenOptions, mask_page)},
    {"nodata", offsetof(OpenOptions, nodata)},
    {"limits", offsetof(OpenOptions, limits)},
    {NULL, 0},
};

static int read_flag(PyObject *option, bool *out)
{
    const int truth = option_given(option) ? PyObject_IsTrue(option) : 0;
    *out = truth > 0;
    return truth < 0 ? -1 : 0;
}

/* A path or a name as bytes, which *text is in. */
static int read_text(PyObject *option, PyObject **bytes, const char **text)
{
    if (!option_given(option))
        return 0;
    if (!PyUnicode_FSConverter(option, bytes))
        return -1;
    *text = PyBytes_AsString(*bytes);
    return 0;
}

/* Removes a limit from the dict. */
static int read_limit(PyObject *limits, const char *name, long long most, uint64_t *out)
{
    PyObject *const value = dict_find(limits, name);
    long long number;
    if (!value)
        return PyErr_Occurred() ? -1 : 0;
    if (integer_read(value, name, 0, most, &number) < 0)
        return -1;
    *out = (uint64_t)number;
    return PyDict_DelItemString(limits, name);
}

static int read_limits(PyObject *option, ImgstatLimits *out)
{
    if (!option_given(option))
        return 0;
    if (!attribute_has(option, "keys")) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_TypeError, "limits=%R should be a mapping", option);
        return -1;
    }
    PyObject *const limits = PyDict_New();
    uint64_t width = 0, height = 0, pages = 0, unlimited = 0;
    int status = limits ? PyDict_Update(limits, option) : -1;
    if (status == 0 && (read_limit(limits, "max_width", UINT32_MAX, &width) < 0 ||
                        read_limit(limits, "max_height", UINT32_MAX, &height) < 0 ||
                        read_limit(limits, "max_pages", UINT32_MAX, &pages) < 0 ||
                        read_limit(limits, "max_pixels", INT64_MAX, &out->max_pixels) < 0 ||
                        read_limit(limits, "max_bytes", INT64_MAX, &out->max_bytes) < 0 ||
                        read_limit(limits, "max_tile_bytes", INT64_MAX, &out->max_tile_bytes) < 0 ||
                        read_limit(limits, "unlimited", 1, &unlimited) < 0))
        status = -1;
    out->unlimited = unlimited > 0;
    out->max_width = (uint32_t)width;
    out->max_height = (uint32_t)height;
    out->max_pages = (uint32_t)pages;
    if (status == 0 && PyDict_Size(limits) > 0) {
        PyErr_Format(
            PyExc_ValueError,
            "limits=%R: those are max_width, max_height, max_pixels, max_bytes, max_pages, "
            "max_tile_bytes and unlimited",
            option);
        status = -1;
    }
    Py_XDECREF(limits);
    return status;
}

int open_read(const OpenOptions *options, OpenHow *out)
{
    *out = (OpenHow){.mask = NULL};
    ImgstatOpen *const open = &out->open;
    if (read_flag(options->salvage, &open->salvage) < 0 ||
        read_flag(options->indices, &open->indices) < 0 ||
        read_flag(options->ignore_masks, &open->ignore_masks) < 0 ||
        read_flag(options->alpha_masks, &open->alpha_masks) < 0 ||
        read_text(options->mask, &out->mask, &open->mask) < 0 ||
        read_text(options->mask_page, &out->mask_page, &open->mask_page) < 0 ||
        read_limits(options->limits, &open->limits) < 0)
        return -1;
    if (open->mask_page && !open->mask) {
        PyErr_SetString(PyExc_ValueError, "mask_page= is a page of mask=, which is not given");
        return -1;
    }
    open->has_nodata = option_given(options->nodata);
    return open->has_nodata ? value_read(options->nodata, "nodata", &open->nodata) : 0;
}

void open_release(OpenHow *how)
{
    Py_CLEAR(how->mask);
    Py_CLEAR(how->mask_page);
}
