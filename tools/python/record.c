/* SPDX-License-Identifier: MIT */
/* record.c: the class Record, statistics that merge. */
#include "record.h"

#include "error.h"
#include "methods.h"
#include "saved.h"

/* ---- The calls of the library ---- */

static ImgstatResult make(const void *bytes, size_t n, void **out, ImgstatError *err)
{
    ImgstatRecord *made;
    const ImgstatResult res = imgstat_record_from_bytes(bytes, n, &made, err);
    *out = made;
    return res;
}

static ImgstatResult load_file(const char *path, void **out, ImgstatError *err)
{
    ImgstatRecord *made;
    const ImgstatResult res = imgstat_record_load(path, &made, err);
    *out = made;
    return res;
}

static ImgstatResult save_file(void *record, const char *path, bool replace, ImgstatError *err)
{
    return imgstat_record_save(record, path, replace, err);
}

static size_t write_bytes(void *record, void *out, size_t capacity)
{
    return imgstat_record_bytes(record, out, capacity);
}

static ImgstatResult merge_records(void *into, void *from, ImgstatError *err)
{
    return imgstat_record_merge(into, from, err);
}

static void destroy(void *record)
{
    imgstat_record_destroy(record);
}

const SavedKind record_kind = {.name = "Record",
                               .from = "from_bytes",
                               .make = make,
                               .load = load_file,
                               .save = save_file,
                               .write = write_bytes,
                               .merge = merge_records,
                               .destroy = destroy};

PyObject *record_new(State *state, ImgstatRecord *record)
{
    return saved_new((PyTypeObject *)state->record_type, record);
}

ImgstatRecord *record_copy(State *state, PyObject *object)
{
    if (!Py_IS_TYPE(object, (PyTypeObject *)state->record_type)) {
        PyErr_Format(PyExc_TypeError, "an imgstat.Record is wanted, not %R",
                     (PyObject *)Py_TYPE(object));
        return NULL;
    }
    void *made;
    ImgstatError err = {0};
    ImgstatResult res;
    Py_BEGIN_ALLOW_THREADS
    res = saved_copy_object(object, &made, &err);
    Py_END_ALLOW_THREADS
    if (res != IMGSTAT_OK)
        raise_result(state, res, &err);
    return made;
}

/* ---- Methods ---- */

static PyObject *repr(PyObject *self)
{
    PyObject *value[5] = {0};
    static const char *const names[] = {"sample", "bits", "channels", "pages", "count"};
    PyObject *made = NULL;
    bool good = true;
    for (int i = 0; i < 5 && good; i++)
        good = (value[i] = PyObject_GetAttrString(self, names[i])) != NULL;
    if (good)
        made = PyUnicode_FromFormat(
            "<imgstat.Record: %U of %S bits, channels %S, pages %S, samples %S>", value[0],
            value[1], value[2], value[3], value[4]);
    for (int i = 0; i < 5; i++)
        Py_XDECREF(value[i]);
    return made;
}

/* ---- The class ---- */

PyDoc_STRVAR(
    class_doc,
    "Statistics of images that merge: counts, extrema, exact sums and bins of each channel.\n\n"
    "Records are made by Record.of, and merge by + in any order and grouping, with the same "
    "bytes.\nImages in one record have one sample type, as many significant bits and channels. "
    "Of samples of\nat most 16 bits everything follows exactly; of wider ones everything but "
    "percentiles and the\nmedian, of which bounds are known, and mode, shape and histogram, which "
    "need the pixels\n(imgstat.stats). Pickles, copies and compares. Threads may share a Record.");
PyDoc_STRVAR(
    of_doc,
    "of($type, x, /, *, axes=None, mask=None, nodata=None, alpha=None, bits=None, stream=None,\n"
    "   device=None, threads=0, **open)\n--\n\n"
    "Measures an array, all images of a batch, or all images of a file (a path, bytes, or "
    "an\nobject with read and seek; open: what imgstat.open takes, and pages= and region= of "
    "File.record) into one record.\n\n"
    "Arguments are those of imgstat.stats. Raises ValueError if images of a file differ "
    "in type.");
PyDoc_STRVAR(from_bytes_doc, "from_bytes($type, data, /)\n--\n\n"
                             "Makes a record of what to_bytes returned. Damaged bytes are an "
                             "imgstat.Error.");
PyDoc_STRVAR(to_bytes_doc, "to_bytes($self)\n--\n\n"
                           "Returns the bytes of the record, which depend on the samples and the "
                           "names of files alone:\nthose of `imgstat stats --save-record`.");
PyDoc_STRVAR(load_doc, "load($type, path, /)\n--\n\n"
                       "Loads a record from a file that holds one.");
PyDoc_STRVAR(save_doc, "save($self, path, *, replace=False)\n--\n\n"
                       "Writes the record as a file, which may exist if replace is true.");
PyDoc_STRVAR(merge_doc, "merge($type, records, /)\n--\n\n"
                        "Merges an iterable of records into a new one. ValueError if they are of "
                        "different kinds, or none.");
PyDoc_STRVAR(stats_doc, "stats($self, *, percentiles=None, method='linear', bins=None, range=None, "
                        "ddof=0, median=None,\n      mode=None, shape=False)\n--\n\n"
                        "Computes imgstat.Stats from the record, with the arguments of "
                        "imgstat.stats.");
PyDoc_STRVAR(percentile_doc,
             "percentile($self, q, *, method='linear')\n--\n\n"
             "Returns the q-th percentile (0 to 100), or a list of them for a list q; of several "
             "channels a tuple.\nNaN where only bounds are known.");
PyDoc_STRVAR(bounds_doc, "bounds($self, q, /)\n--\n\n"
                         "Returns (lo, hi), between which the q-th percentile lies: equal where "
                         "it is known exactly.\nOf several channels a tuple of them.");
PyDoc_STRVAR(transfer_doc,
             "transfer($self, method=None, *, reference=None, **options)\n--\n\n"
             "Makes the imgstat.Transfer that imgstat.normalize (methods stretch, percentile, "
             "meanstd, gamma),\nimgstat.equalize (equalize) or imgstat.match (match, with another "
             "Record as the reference) would\napply to all images of the record as one. options: "
             "those of these functions.");

static PyMethodDef methods[] = {
    {"of", WITH_WORDS(record_of) | METH_CLASS, of_doc},
    {"from_bytes", saved_from_bytes, METH_O | METH_CLASS, from_bytes_doc},
    {"to_bytes", saved_to_bytes, METH_NOARGS, to_bytes_doc},
    {"load", saved_load, METH_O | METH_CLASS, load_doc},
    {"save", WITH_WORDS(saved_save), save_doc},
    {"merge", saved_merge, METH_O | METH_CLASS, merge_doc},
    {"stats", WITH_WORDS(record_stats), stats_doc},
    {"percentile", WITH_WORDS(record_percentile), percentile_doc},
    {"bounds", record_bounds, METH_O, bounds_doc},
    {"transfer", WITH_WORDS(record_transfer), transfer_doc},
    HTML_METHOD,
    {"__bytes__", saved_to_bytes, METH_NOARGS, NULL},
    {"__copy__", saved_copy, METH_NOARGS, NULL},
    {"__deepcopy__", saved_copy, METH_O, NULL},
    {"__reduce__", saved_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)(uintptr_t)class_doc},
    {Py_tp_dealloc, saved_dealloc},
    {Py_tp_repr, repr},
    {Py_tp_richcompare, saved_compare},
    {Py_tp_hash, PyObject_HashNotImplemented}, /* it changes */
    {Py_tp_methods, methods},
    {Py_tp_getset, record_attributes},
    {Py_nb_add, saved_add},
    {Py_nb_inplace_add, saved_add_in_place},
    {0, NULL},
};

PyType_Spec record_spec = {.name = "imgstat.Record",
                           .basicsize = sizeof(Saved),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
                                    Py_TPFLAGS_IMMUTABLETYPE,
                           .slots = slots};
