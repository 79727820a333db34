/* SPDX-License-Identifier: MIT */
/* file.c: an open file: opened, read, measured and closed. */
#include "file.h"

#include "array_out.h"
#include "device.h"
#include "error.h"
#include "measure.h"
#include "methods.h"
#include "record.h"
#include "transfer.h"
#include "values.h"
#include "work.h"

#include <stdlib.h>
#include <string.h>

/* ---- Calls, one at a time ---- */

static bool lock_file(FileObject *file)
{
    if (work_lock(&file->lock))
        return true;
    PyErr_SetString(PyExc_RuntimeError, "the file is at work for this thread");
    return false;
}

bool file_begin(FileObject *file)
{
    if (!lock_file(file))
        return false;
    if (file->file)
        return true;
    pthread_mutex_unlock(&file->lock);
    PyErr_SetString(PyExc_ValueError, "the file is closed");
    return false;
}

PyObject *file_end(FileObject *file, PyObject *made)
{
    Warnings warnings = file->warnings;
    file->warnings = (Warnings){NULL};
    made = file_input_end(&file->input, made);
    pthread_mutex_unlock(&file->lock);
    return warnings_issue(&warnings, made);
}

PyObject *file_raise(FileObject *file, ImgstatResult result, const ImgstatError *err)
{
    return file_input_raise(state_of_type(Py_TYPE((PyObject *)file)), &file->input, result, err);
}

/* ---- Opening and closing ---- */

static void init_lock(pthread_mutex_t *lock)
{
    pthread_mutexattr_t checks;
    pthread_mutexattr_init(&checks);
    pthread_mutexattr_settype(&checks, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(lock, &checks);
    pthread_mutexattr_destroy(&checks);
}

static PyObject *open_file(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *from, *name;
    OpenOptions options = {NULL};
    const KeywordSet set = {open_keywords, &options};
    if (!PyArg_ParseTuple(args, "OO:open", &from, &name) ||
        keywords_read("open", kwargs, &set, 1) < 0)
        return NULL;
    FileObject *const file = PyObject_GC_New(FileObject, type);
    if (!file)
        return NULL;
    memset((char *)file + sizeof(PyObject), 0, sizeof *file - sizeof(PyObject));
    init_lock(&file->lock);
    file->page = IMGSTAT_NO_PAGE;
    if (file_input_open(from, name == Py_None ? NULL : name, &file->input) < 0 ||
        open_read(&options, &file->how) < 0) {
        Py_DECREF(file);
        return NULL;
    }
    file->how.open.warn = warnings_keep;
    file->how.open.warn_context = &file->warnings;
    ImgstatFile *opened;
    ImgstatError err = {0};
    ImgstatResult res;
    Py_BEGIN_ALLOW_THREADS
    pthread_mutex_lock(&file->lock);
    res = file_input_open_file(&file->input, &file->how.open, &opened, &err);
    file->file = opened;
    Py_END_ALLOW_THREADS
    if (res != IMGSTAT_OK) {
        file_raise(file, res, &err);
        (void)file_end(file, NULL);
        Py_DECREF(file);
        return NULL;
    }
    PyObject_GC_Track(file);
    return file_end(file, (PyObject *)file);
}

/* The source may have the file. It is what breaks such a ring. */
static int traverse(PyObject *self, visitproc visit, void *arg)
{
    FileObject *const file = (FileObject *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(file->input.object);
    Py_VISIT(file->input.view.obj);
    return 0;
}

static PyObject *close_file(PyObject *self, PyObject *unused)
{
    (void)unused;
    FileObject *const file = (FileObject *)self;
    if (!lock_file(file))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    imgstat_file_close(file->file);
    file->file = NULL;
    Py_END_ALLOW_THREADS
    file_input_release(&file->input);
    pthread_mutex_unlock(&file->lock);
    Py_RETURN_NONE;
}

static void dealloc(PyObject *self)
{
    FileObject *const file = (FileObject *)self;
    PyTypeObject *const type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_BEGIN_ALLOW_THREADS
    imgstat_file_close(file->file);
    Py_END_ALLOW_THREADS(void)
    warnings_issue(&file->warnings, NULL);
    file_input_close(&file->input);
    open_release(&file->how);
    pthread_mutex_destroy(&file->lock);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

/* ---- Reading ---- */

ImgstatResult file_page_select(FileObject *file, uint32_t page, ImgstatError *err)
{
    if (file->page == page && file->next_row == 0)
        return IMGSTAT_OK;
    const ImgstatResult res = imgstat_file_page(file->file, page, &file->info, err);
    file->page = res == IMGSTAT_OK ? page : IMGSTAT_NO_PAGE;
    file->next_row = 0;
    return res;
}

/* Reads the rows of an image, of whole tiles or strips, and so few at a time that a signal ends it
 * soon. */
static ImgstatResult read_parts(FileObject *file, const ImagePro *image, Work *work,
                                ImgstatError *err)
{
    enum { PART_BYTES = 8 << 20 };
    ImgstatLayout layout;
    ImgstatResult res = imgstat_file_layout(file->file, &layout, err);
    const uint64_t few = PART_BYTES / (image->pitch + 1) + 1;
    const bool whole = res == IMGSTAT_OK && (layout.tiled || layout.tile_height <= few);
    const uint64_t tile = whole && layout.tile_height ? layout.tile_height : 1;
    const uint64_t rows = (few + tile - 1) / tile * tile;
    for (uint64_t y = 0; y < image->height && res == IMGSTAT_OK; y += rows) {
        ImagePro part = *image;
        part.host = (char *)image->host + y * image->pitch;
        part.height = (uint32_t)(image->height - y < rows ? image->height - y : rows);
        res = work_cancelled(work) ? IMGSTAT_ERR_CANCELLED
                                   : imgstat_file_read(file->file, &part, err);
    }
    return res;
}

/* Reads the next `rows` rows of the page into a new image. */
static ImgstatResult read_rows(FileObject *file, uint32_t rows, Work *work, ImagePro *out,
                               ImgstatError *err)
{
    const ImgstatPage *const info = &file->info;
    ImgstatResult res =
        imgstat_image_create(info->width, rows, info->channels, info->sample, info->bits, out, err);
    if (res == IMGSTAT_OK)
        res = read_parts(file, out, work, err);
    if (res == IMGSTAT_OK)
        file->next_row += rows;
    else
        file->page = IMGSTAT_NO_PAGE; /* which row is next is not known */
    return res;
}

/* Goes to a row of a page. Rows before it are read, if they are not behind. */
static ImgstatResult go_to_row(FileObject *file, uint32_t page, uint32_t row, Work *work,
                               ImgstatError *err)
{
    enum { SKIPPED_ROWS = 64 };
    ImgstatResult res = IMGSTAT_OK;
    if (file->page != page || file->next_row > row) {
        file->page = IMGSTAT_NO_PAGE;
        res = file_page_select(file, page, err);
    }
    while (res == IMGSTAT_OK && file->next_row < row && row <= file->info.height) {
        const uint32_t left = row - file->next_row;
        ImagePro skipped;
        res = read_rows(file, left < SKIPPED_ROWS ? left : SKIPPED_ROWS, work, &skipped, err);
        imgstat_image_release(&skipped);
    }
    return res;
}

static bool numpy_is_loaded(void)
{
    PyObject *const name = PyUnicode_FromString("numpy");
    PyObject *const numpy = name ? PyImport_GetModule(name) : NULL;
    Py_XDECREF(name);
    Py_XDECREF(numpy);
    return numpy != NULL;
}

/* read(page, first row, rows): at most so many rows. */
static PyObject *read_page(PyObject *self, PyObject *args)
{
    FileObject *const file = (FileObject *)self;
    unsigned page;
    PyObject *first, *number;
    long long row, rows;
    if (!PyArg_ParseTuple(args, "IOO:read", &page, &first, &number) ||
        integer_read(first, "first row", 0, UINT32_MAX, &row) < 0 ||
        integer_read(number, "rows", 0, UINT32_MAX, &rows) < 0 || !file_begin(file))
        return NULL;
    ImagePro image = {.host = NULL};
    ImgstatError err = {0};
    ImgstatResult res;
    Work work;
    work_begin(&work, &file->stopped);
    res = go_to_row(file, page, (uint32_t)row, &work, &err);
    const uint32_t left = row < file->info.height ? file->info.height - (uint32_t)row : 0;
    if (res == IMGSTAT_OK)
        res = read_rows(file, rows < left ? (uint32_t)rows : left, &work, &image, &err);
    if (res != IMGSTAT_OK)
        imgstat_image_release(&image);
    work_end(&work);
    PyObject *array = NULL;
    if (res == IMGSTAT_OK)
        array = array_of_image(state_of_type(Py_TYPE(self)), &image, image.channels > 1);
    else
        file_raise(file, res, &err);
    if (array && numpy_is_loaded())
        array = array_as(array, ARRAY_NUMPY);
    if (array && PyErr_Occurred())
        Py_CLEAR(array);
    return file_end(file, array);
}

/* ---- Pages ---- */

static PyObject *count(PyObject *self, PyObject *unused)
{
    (void)unused;
    FileObject *const file = (FileObject *)self;
    return file_begin(file)
               ? file_end(file, PyLong_FromUnsignedLong(imgstat_file_pages(file->file)))
               : NULL;
}

static PyObject *tell(PyObject *self, PyObject *page, PyObject *(*of)(FileObject *, uint32_t))
{
    FileObject *const file = (FileObject *)self;
    const unsigned long number = PyLong_AsUnsignedLong(page);
    if (PyErr_Occurred() || !file_begin(file))
        return NULL;
    return file_end(file, of(file, (uint32_t)number));
}

static PyObject *info(PyObject *self, PyObject *page)
{
    return tell(self, page, file_page_info);
}

static PyObject *layout(PyObject *self, PyObject *page)
{
    return tell(self, page, file_page_layout);
}

static PyObject *find(PyObject *self, PyObject *named)
{
    FileObject *const file = (FileObject *)self;
    if (!file_begin(file))
        return NULL;
    uint32_t *pages = NULL, n;
    PyObject *made = file_pages_of(file, named, &pages, &n) == 0 ? PyTuple_New(n) : NULL;
    for (uint32_t i = 0; made && i < n; i++) {
        PyObject *const page = PyLong_FromUnsignedLong(pages[i]);
        if (!page || PyTuple_SetItem(made, i, page) < 0)
            Py_CLEAR(made);
    }
    free(pages);
    return file_end(file, made);
}

/* ---- Measuring ---- */

typedef struct PagesOptions {
    PyObject *pages;  /* None: all images; a text, or a sequence of numbers */
    PyObject *region; /* (x, y, width, height) */
} PagesOptions;

static const Keyword pages_keywords[] = {
    {"pages", offsetof(PagesOptions, pages)},
    {"region", offsetof(PagesOptions, region)},
    {NULL, 0},
};

/* Measures pages as one image. The file's call has begun. NULL: an exception. */
static ImgstatRecord *measure_pages(FileObject *file, const PagesOptions *options,
                                    const RunOptions *run, ImgstatMeasure *how)
{
    State *const state = state_of_type(Py_TYPE((PyObject *)file));
    const char *device_name;
    unsigned threads;
    uint32_t *pages = NULL, n;
    ImgstatRecord *record = NULL;
    if (run_read(run, &device_name, &threads) < 0 || region_read(options->region, &how->region) < 0)
        return NULL;
    ImgstatDevice *const device =
        file_pages_of(file, options->pages ? options->pages : Py_None, &pages, &n) == 0
            ? device_take(state, device_name, threads)
            : NULL;
    if (device) {
        ImgstatError err = {0};
        ImgstatResult res;
        Work work;
        imgstat_device_cancel(device, work_cancelled, &work);
        work_begin(&work, &file->stopped);
        res = imgstat_measure_pages(device, file->file, pages, n, how, &record, &err);
        device_give(state, device);
        work_end(&work);
        if (res != IMGSTAT_OK)
            file_raise(file, res, &err);
    }
    free(pages);
    return record;
}

static PyObject *measure_record(PyObject *self, PyObject *args, PyObject *kwargs)
{
    FileObject *const file = (FileObject *)self;
    PagesOptions pages = {NULL};
    RunOptions run = {NULL};
    const KeywordSet sets[] = {{pages_keywords, &pages}, {run_keywords, &run}};
    if (!PyArg_ParseTuple(args, ":record") ||
        keywords_read("File.record", kwargs, sets, sizeof sets / sizeof sets[0]) < 0 ||
        !file_begin(file))
        return NULL;
    ImgstatMeasure how = {.mergeable = true};
    ImgstatRecord *const record = measure_pages(file, &pages, &run, &how);
    return file_end(file, record ? record_new(state_of_type(Py_TYPE(self)), record) : NULL);
}

/* Whether samples of the first of the pages have at most 16 bits; -1 with an exception. */
static int pages_are_narrow(FileObject *file, PyObject *named)
{
    uint32_t *pages = NULL, n = 0;
    ImgstatError err = {0};
    const bool found = file_pages_of(file, named ? named : Py_None, &pages, &n) == 0;
    const ImgstatResult res = found && n ? file_page_select(file, pages[0], &err)
                                         : IMGSTAT_OK; /* of none, measuring complains */
    free(pages);
    if (res != IMGSTAT_OK)
        file_raise(file, res, &err);
    return found && res == IMGSTAT_OK ? imgstat_sample_bytes(file->info.sample) <= 2 : -1;
}

static PyObject *measure_stats(PyObject *self, PyObject *args, PyObject *kwargs)
{
    FileObject *const file = (FileObject *)self;
    PagesOptions pages = {NULL};
    RunOptions run = {NULL};
    MeasureOptions options = {NULL};
    const KeywordSet sets[] = {
        {pages_keywords, &pages}, {run_keywords, &run}, {measure_keywords, &options}};
    if (!PyArg_ParseTuple(args, ":stats") ||
        keywords_read("File.stats", kwargs, sets, sizeof sets / sizeof sets[0]) < 0 ||
        !file_begin(file))
        return NULL;
    ImgstatMeasure how = {.percentiles = NULL};
    const int narrow = pages_are_narrow(file, pages.pages);
    ImgstatRecord *const record = narrow >= 0 && measure_read(&options, narrow, &how) == 0
                                      ? measure_pages(file, &pages, &run, &how)
                                      : NULL;
    PyObject *const made =
        record ? stats_of_record(state_of_type(Py_TYPE(self)), record, &how) : NULL;
    measure_release(&how);
    return file_end(file, made);
}

/* fits(page, transfer, group) */
static PyObject *fits(PyObject *self, PyObject *args)
{
    FileObject *const file = (FileObject *)self;
    unsigned page;
    PyObject *object;
    const char *group;
    if (!PyArg_ParseTuple(args, "IOs:fits", &page, &object, &group))
        return NULL;
    const ImgstatTransfer *const transfer = transfer_get(state_of_type(Py_TYPE(self)), object);
    if (!transfer || !file_begin(file))
        return NULL;
    ImgstatError err = {0};
    ImgstatResult res;
    Py_BEGIN_ALLOW_THREADS
    res = file_page_select(file, page, &err);
    Py_END_ALLOW_THREADS
    if (res != IMGSTAT_OK)
        return file_end(file, file_raise(file, res, &err));
    res = imgstat_transfer_fits(transfer, &file->info, group, &err);
    return file_end(file, PyBool_FromLong(res == IMGSTAT_OK));
}

/* ---- The class ---- */

static PyObject *get_name(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_DecodeFSDefault(((FileObject *)self)->input.name);
}

static PyObject *get_closed(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(!((FileObject *)self)->file);
}

/* Ends what another thread reads and measures, which fails. */
static PyObject *stop(PyObject *self, PyObject *unused)
{
    (void)unused;
    atomic_store(&((FileObject *)self)->stopped, true);
    Py_RETURN_NONE;
}

static PyObject *lost_rows(PyObject *self, PyObject *unused)
{
    (void)unused;
    FileObject *const file = (FileObject *)self;
    return file_begin(file)
               ? file_end(file, PyLong_FromUnsignedLongLong(imgstat_file_lost_rows(file->file)))
               : NULL;
}

static PyMethodDef methods[] = {
    {"count", count, METH_NOARGS, NULL},
    {"info", info, METH_O, NULL},
    {"layout", layout, METH_O, NULL},
    {"find", find, METH_O, NULL},
    {"read", read_page, METH_VARARGS, NULL},
    {"stats", WITH_WORDS(measure_stats), NULL},
    {"record", WITH_WORDS(measure_record), NULL},
    {"fits", fits, METH_VARARGS, NULL},
    {"lost_rows", lost_rows, METH_NOARGS, NULL},
    {"stop", stop, METH_NOARGS, NULL},
    {"close", close_file, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef attributes[] = {
    {"name", get_name, NULL, NULL, NULL},
    {"closed", get_closed, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "An open file: imgstat.File has its documentation."},
    {Py_tp_new, open_file},
    {Py_tp_dealloc, dealloc},
    {Py_tp_traverse, traverse},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {0, NULL},
};

PyType_Spec file_spec = {.name = "imgstat._imgstat.FileHandle",
                         .basicsize = sizeof(FileObject),
                         .flags =
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_HAVE_GC,
                         .slots = slots};
