/* SPDX-License-Identifier: MIT */
/* dataset.c: the class Dataset, records of many files, and what became of these. */
#include "dataset.h"

#include "error.h"
#include "method.h"
#include "methods.h"
#include "record.h"
#include "transfer.h"
#include "values.h"

#include <stdlib.h>
#include <string.h>

/* ---- The calls of the library ---- */

static ImgstatResult make(const void *bytes, size_t n, void **out, ImgstatError *err)
{
    ImgstatDataset *made;
    const ImgstatResult res = imgstat_dataset_from_bytes(NULL, bytes, n, 0, &made, err);
    *out = made;
    return res;
}

static ImgstatResult load_file(const char *path, void **out, ImgstatError *err)
{
    ImgstatDataset *made;
    const ImgstatResult res = imgstat_dataset_load(path, 0, &made, err);
    *out = made;
    return res;
}

static ImgstatResult save_file(void *dataset, const char *path, bool replace, ImgstatError *err)
{
    return imgstat_dataset_save(dataset, path, replace, err);
}

static size_t write_bytes(void *dataset, void *out, size_t capacity)
{
    return imgstat_dataset_bytes(dataset, out, capacity);
}

static ImgstatResult merge_datasets(void *into, void *from, ImgstatError *err)
{
    return imgstat_dataset_merge(into, from, err);
}

/* The set that it is a shard of: bytes alone, which never collect garbage. */
static PyObject *set_of(void *dataset)
{
    ImgstatAccount account;
    imgstat_dataset_account(dataset, &account);
    char name[sizeof account.set + sizeof account.shards];
    memcpy(name, account.set, sizeof account.set);
    memcpy(name + sizeof account.set, &account.shards, sizeof account.shards);
    return PyBytes_FromStringAndSize(name, sizeof name);
}

static void destroy(void *dataset)
{
    imgstat_dataset_destroy(dataset);
}

const SavedKind dataset_kind = {.name = "Dataset",
                                .from = "from_bytes",
                                .make = make,
                                .load = load_file,
                                .save = save_file,
                                .write = write_bytes,
                                .merge = merge_datasets,
                                .whole = set_of,
                                .destroy = destroy};

PyObject *dataset_new(State *state, ImgstatDataset *dataset)
{
    return saved_new((PyTypeObject *)state->dataset_type, dataset);
}

/* ---- Making ---- */

static PyObject *create(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *words[] = {NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, ":Dataset", words))
        return NULL;
    ImgstatDataset *dataset;
    ImgstatError err = {0};
    const ImgstatResult res = imgstat_dataset_create(&dataset, &err);
    State *const state = state_of_type(type);
    return res == IMGSTAT_OK ? dataset_new(state, dataset) : raise_result(state, res, &err);
}

static PyObject *of(PyObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *const dataset = PyObject_CallNoArgs(type);
    PyObject *const measured = dataset ? dataset_measure(dataset, args, kwargs) : NULL;
    Py_XDECREF(dataset);
    return measured;
}

static PyObject *set_shard(PyObject *self, PyObject *args)
{
    PyObject *number, *of;
    long long shard, n;
    const char *set;
    Py_ssize_t bytes;
    if (!PyArg_ParseTuple(args, "OOy#:set_shard", &number, &of, &set, &bytes) ||
        integer_read(number, "shard", 0, UINT32_MAX, &shard) < 0 ||
        integer_read(of, "of", 0, UINT32_MAX, &n) < 0)
        return NULL;
    if (bytes != 16) {
        PyErr_SetString(PyExc_ValueError, "a set is named by 16 bytes");
        return NULL;
    }
    ImgstatError err = {0};
    ImgstatDataset *const dataset = saved_lock(self);
    if (!dataset)
        return NULL;
    const ImgstatResult res = imgstat_dataset_set_shard(dataset, (uint32_t)shard, (uint32_t)n,
                                                        (const uint8_t *)set, &err);
    saved_unlock(self);
    if (res != IMGSTAT_OK)
        return raise_result(state_of_type(Py_TYPE(self)), res, &err);
    Py_RETURN_NONE;
}

/* ---- Its records ---- */

static Py_ssize_t length(PyObject *self)
{
    ImgstatDataset *const dataset = saved_lock(self);
    if (!dataset)
        return -1;
    const size_t n = imgstat_dataset_records(dataset);
    saved_unlock(self);
    return (Py_ssize_t)n;
}

/* A copy of a record, by its bytes. Called without the GIL. */
static ImgstatResult copy_record(const ImgstatRecord *record, ImgstatRecord **out,
                                 ImgstatError *err)
{
    const size_t n = imgstat_record_bytes(record, NULL, 0);
    void *const bytes = n ? malloc(n) : NULL;
    ImgstatResult res = IMGSTAT_ERR_MEMORY;
    if (bytes && imgstat_record_bytes(record, bytes, n) == n)
        res = imgstat_record_from_bytes(bytes, n, out, err);
    else
        *err = (ImgstatError){.code = res, .message = "no memory for a record"};
    free(bytes);
    return res;
}

static PyObject *item(PyObject *self, Py_ssize_t i)
{
    Saved *const saved = (Saved *)self;
    State *const state = state_of_type(Py_TYPE(self));
    ImgstatRecord *copy = NULL;
    ImgstatError err = {0};
    ImgstatResult res = IMGSTAT_OK;
    if (saved_check(self) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    pthread_mutex_lock(&saved->lock);
    const ImgstatRecord *const record =
        i < 0 ? NULL : imgstat_dataset_record(saved->object, (size_t)i);
    if (record)
        res = copy_record(record, &copy, &err);
    pthread_mutex_unlock(&saved->lock);
    Py_END_ALLOW_THREADS
    if (res != IMGSTAT_OK)
        return raise_result(state, res, &err);
    if (copy)
        return record_new(state, copy);
    PyErr_SetString(PyExc_IndexError, "there are not so many records");
    return NULL;
}

static PyObject *make_transfer(PyObject *self, PyObject *args, PyObject *kwargs)
{
    Saved *const saved = (Saved *)self;
    State *const state = state_of_type(Py_TYPE(self));
    MethodOptions options = {NULL};
    PyObject *name = NULL;
    static const Keyword own_keywords[] = {{"method", 0}, {NULL, 0}};
    const KeywordSet sets[] = {{own_keywords, &name}, {method_keywords, &options}};
    ImgstatTransform transform;
    ImgstatMethod method;
    if (saved_check(self) < 0 || !PyArg_ParseTuple(args, "|O:transfer", &name) ||
        keywords_read("transfer", kwargs, sets, sizeof sets / sizeof sets[0]) < 0 ||
        transform_of_name(name, &options, &transform) < 0 ||
        method_read(&options, transform, &method) < 0)
        return NULL;
    ImgstatTransfer *transfer;
    ImgstatError err = {0};
    ImgstatResult res;
    Py_BEGIN_ALLOW_THREADS
    pthread_mutex_lock(&saved->lock);
    res = imgstat_transfer_from_dataset(&method, saved->object, &transfer, &err);
    pthread_mutex_unlock(&saved->lock);
    Py_END_ALLOW_THREADS
    PyObject *const made =
        res == IMGSTAT_OK ? transfer_new(state, transfer) : raise_result(state, res, &err);
    if (made)
        ((Saved *)made)->not_saved =
            "a transfer for groups of files or kinds of images cannot be saved";
    return made;
}

static PyObject *repr(PyObject *self)
{
    ImgstatAccount account;
    ImgstatDataset *const dataset = saved_lock(self);
    if (!dataset)
        return NULL;
    imgstat_dataset_account(dataset, &account);
    const size_t n = imgstat_dataset_records(dataset);
    saved_unlock(self);
    return PyUnicode_FromFormat("<imgstat.Dataset: records %zu, files %llu, failed %llu>", n,
                                (unsigned long long)account.files,
                                (unsigned long long)account.failed);
}

/* ---- The class ---- */

PyDoc_STRVAR(
    class_doc,
    "Dataset()\n--\n\n"
    "Records of many files, one for each group and kind of images, and what became of the "
    "files.\n\n"
    "A sequence of its Records (copies), ascending by group, then kind. Data sets merge by + as "
    "records do:\nin any order and grouping, with the bytes of `imgstat stats --save-record`. "
    "Memory "
    "does not grow with\nthe number of files. Pickles, copies and compares. Threads may share it.");
#define FILES_DOC                                                                                  \
    "files: an iterable of what imgstat.open takes, or of tuples (name, source). Items are taken " \
    "as threads\n  become free, on any of them.\n"
#define BATCH_DOC                                                                                \
    "progress: called with the number of files that are done; an exception that it raises ends " \
    "the batch,\n  as Ctrl-C does. Neither it nor files and group can use the data set.\n"       \
    "device: 'cpu', or GPUs such as 'cuda:0,1' or 'cuda:all'. threads: 0 for all processors.\n"  \
    "open: what imgstat.open takes, but name."
PyDoc_STRVAR(
    measure_doc,
    "measure($self, files, /, *, group=None, by='all', pages=None, region=None, "
    "progress=None,\n        device=None, threads=0, **open)\n--\n\n"
    "Measures the images of files into the data set, several at a time, and returns it. A "
    "file that fails is\nin failures, and no exception.\n\n" FILES_DOC
    "group: text, or a function of an item that returns text: images of each group have "
    "records of their own.\n"
    "by: 'channel': pages on a channel axis are in groups of their own, named after it.\n"
    "pages: such as '0,3-5'; by default all images. region: (x, y, width, height).\n" BATCH_DOC);
PyDoc_STRVAR(of_doc, "of($type, files, /, **options)\n--\n\n"
                     "Measures files into a new data set: Dataset().measure(files, **options).");
PyDoc_STRVAR(stats_doc,
             "stats($self, files=None, **options)\n--\n\n"
             "Computes the statistics of all records: a list of imgstat.Stats in their order.\n\n"
             "files: None, or the files that it was measured from, which are read again for what "
             "records of samples\n  beyond 16 bits do not hold: exact percentiles and median, "
             "mode, shape, histogram. They must be the same,\n  with the same group, by, pages, "
             "region and open.\n"
             "options: those of imgstat.stats for what is computed (percentiles, bins, ddof ...) "
             "and of measure.");
PyDoc_STRVAR(transfer_doc,
             "transfer($self, method=None, **options)\n--\n\n"
             "Makes the set of transfers of all records: each image gets that of its group and "
             "kind. Arguments are\nthose of Record.transfer.");
PyDoc_STRVAR(set_shard_doc,
             "set_shard($self, shard, of, name, /)\n--\n\n"
             "Makes it shard `shard`, counted from 0, of a set of `of`, which 16 bytes name: each "
             "merges once, and the\nlast one completes the set.");
PyDoc_STRVAR(from_bytes_doc, "from_bytes($type, data, /)\n--\n\n"
                             "Makes a data set of what to_bytes returned. Damaged bytes are an "
                             "imgstat.Error.");
PyDoc_STRVAR(to_bytes_doc, "to_bytes($self)\n--\n\n"
                           "Returns the bytes of the data set, which depend on samples and names "
                           "of files alone.");
PyDoc_STRVAR(load_doc, "load($type, path, /)\n--\n\n"
                       "Loads a data set from a file.");
PyDoc_STRVAR(save_doc, "save($self, path, *, replace=False)\n--\n\n"
                       "Writes the data set as a file, which may exist if replace is true.");
PyDoc_STRVAR(
    merge_doc,
    "merge($type, datasets, /)\n--\n\n"
    "Merges an iterable of data sets into a new one; shards of several sets may come in any "
    "order. ValueError if\na group has records of other kinds in one of them, a shard comes "
    "twice, a set stays incomplete beside others,\nor there are none.");

static PyMethodDef methods[] = {
    {"of", WITH_WORDS(of) | METH_CLASS, of_doc},
    {"measure", WITH_WORDS(dataset_measure), measure_doc},
    {"stats", WITH_WORDS(dataset_stats), stats_doc},
    {"transfer", WITH_WORDS(make_transfer), transfer_doc},
    {"set_shard", set_shard, METH_VARARGS, set_shard_doc},
    {"from_bytes", saved_from_bytes, METH_O | METH_CLASS, from_bytes_doc},
    {"to_bytes", saved_to_bytes, METH_NOARGS, to_bytes_doc},
    {"load", saved_load, METH_O | METH_CLASS, load_doc},
    {"save", WITH_WORDS(saved_save), save_doc},
    {"merge", saved_merge, METH_O | METH_CLASS, merge_doc},
    {"__bytes__", saved_to_bytes, METH_NOARGS, NULL},
    {"__copy__", saved_copy, METH_NOARGS, NULL},
    {"__deepcopy__", saved_copy, METH_O, NULL},
    {"__reduce__", saved_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)(uintptr_t)class_doc},
    {Py_tp_new, create},
    {Py_tp_dealloc, saved_dealloc},
    {Py_tp_repr, repr},
    {Py_tp_richcompare, saved_compare},
    {Py_tp_hash, PyObject_HashNotImplemented}, /* it changes */
    {Py_tp_methods, methods},
    {Py_tp_getset, dataset_attributes},
    {Py_nb_add, saved_add},
    {Py_nb_inplace_add, saved_add_in_place},
    {Py_sq_length, length},
    {Py_sq_item, item},
    {0, NULL},
};

PyType_Spec dataset_spec = {.name = "imgstat.Dataset",
                            .basicsize = sizeof(Saved),
                            .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                            .slots = slots};
