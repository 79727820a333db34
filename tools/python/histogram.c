/* SPDX-License-Identifier: MIT */
/* histogram.c: the type imgstat.Histogram. Its counts are the record's own memory. */
#include "histogram.h"
#include "array_out.h"
#include "methods.h"
#include "values.h"

#include <string.h>

typedef struct Histogram {
    PyObject_HEAD PyObject *owner; /* of the record, or an Array of counts, and edges behind them */
    const ImgstatRecord *record;   /* NULL: it was unpickled */
    uint16_t channel;
    ImgstatHistogram bins;
} Histogram;

static PyObject *histogram_new(PyObject *type, PyObject *owner, const ImgstatRecord *record,
                               uint16_t channel, const ImgstatHistogram *bins)
{
    Histogram *const histogram = PyObject_New(Histogram, (PyTypeObject *)type);
    if (!histogram)
        return NULL;
    histogram->owner = Py_NewRef(owner);
    histogram->record = record;
    histogram->channel = channel;
    histogram->bins = *bins;
    return (PyObject *)histogram;
}

PyObject *histogram_object(PyObject *owner, const ImgstatRecord *record, uint16_t channel)
{
    ImgstatHistogram bins;
    (void)imgstat_record_histogram(record, channel, &bins); /* was asked for */
    return histogram_new(state_of_type(Py_TYPE(owner))->histogram_type, owner, record, channel,
                         &bins);
}

static void histogram_dealloc(PyObject *self)
{
    PyTypeObject *const type = Py_TYPE(self);
    Py_DECREF(((Histogram *)self)->owner);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* ---- Attributes ------------------------------------------------------------------------------ */

static PyObject *get_counts(PyObject *self, void *closure)
{
    (void)closure;
    const Histogram *const h = (Histogram *)self;
    const ArrayParts parts = {.memory = IMGSTAT_HOST,
                              .data = (uintptr_t)h->bins.counts,
                              .sample = IMGSTAT_U64,
                              .readonly = true,
                              .n_dims = 1,
                              .shape = {h->bins.bins},
                              .strides = {sizeof(uint64_t)},
                              .owner = Py_NewRef(h->owner)};
    return array_create(state_of_type(Py_TYPE(self)), &parts);
}

/* An Array of one axis, and its memory. */
static PyObject *new_numbers(PyObject *self, ImgstatSample sample, uint32_t n, void **memory)
{
    const int64_t shape = n;
    PyObject *const array = array_allocate(state_of_type(Py_TYPE(self)), sample, 1, &shape);
    if (array)
        *memory = (void *)array_parts(array)->data;
    return array;
}

static PyObject *get_edges(PyObject *self, void *closure)
{
    (void)closure;
    const Histogram *const h = (Histogram *)self;
    void *memory;
    PyObject *const array = new_numbers(self, IMGSTAT_F64, h->bins.bins + 1, &memory);
    double *const edge = array ? memory : NULL;
    for (uint32_t k = 0; array && k <= h->bins.bins; k++) {
        ImgstatValue value = {.sample = IMGSTAT_F64, .as.f = h->bins.lo + k};
        if (!h->bins.per_value && h->record)
            (void)imgstat_record_edge(h->record, h->channel, k, &value);
        else if (!h->bins.per_value)
            memcpy(&value.as.f, h->bins.counts + h->bins.bins + k, sizeof value.as.f);
        edge[k] = imgstat_value_double(value);
    }
    return array;
}

static PyObject *get_cdf(PyObject *self, void *closure)
{
    (void)closure;
    const Histogram *const h = (Histogram *)self;
    void *memory;
    PyObject *const array = new_numbers(self, IMGSTAT_U64, h->bins.bins, &memory);
    uint64_t *const cdf = array ? memory : NULL, sum = 0;
    for (uint32_t k = 0; array && k < h->bins.bins; k++)
        cdf[k] = sum += h->bins.counts[k];
    return array;
}

static PyObject *get_range(PyObject *self, void *closure)
{
    (void)closure;
    const Histogram *const h = (Histogram *)self;
    return Py_BuildValue("(dd)", h->bins.lo, h->bins.hi);
}

static PyObject *get_per_value(PyObject *self, void *closure)
{
    (void)closure;
    return PyBool_FromLong(((Histogram *)self)->bins.per_value);
}

/* counts, edges = histogram, as numpy.histogram returns them. */
static Py_ssize_t histogram_length(PyObject *self)
{
    (void)self;
    return 2;
}

static PyObject *histogram_item(PyObject *self, Py_ssize_t i)
{
    if (i == 0)
        return get_counts(self, NULL);
    if (i == 1)
        return get_edges(self, NULL);
    PyErr_SetString(PyExc_IndexError, "a histogram is a pair of counts and edges");
    return NULL;
}

static PyObject *histogram_repr(PyObject *self)
{
    const Histogram *const h = (Histogram *)self;
    PyObject *const range = get_range(self, NULL);
    PyObject *const text =
        range ? PyUnicode_FromFormat("imgstat.Histogram(bins=%u, range=%R)", h->bins.bins, range)
              : NULL;
    Py_XDECREF(range);
    return text;
}

/* ---- Pickles --------------------------------------------------------------------------------- */

/* Lists as an Array's tolist makes them; edges is None where each bin counts one value. */
static PyObject *histogram_reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    const Histogram *const h = (Histogram *)self;
    PyObject *const make = PyObject_GetAttrString((PyObject *)Py_TYPE(self), "_of");
    PyObject *const counts = make ? get_counts(self, NULL) : NULL;
    PyObject *const bins = counts ? PyObject_CallMethod(counts, "tolist", NULL) : NULL;
    PyObject *const edges = !bins               ? NULL
                            : h->bins.per_value ? Py_NewRef(Py_None)
                                                : get_edges(self, NULL);
    PyObject *const ends =
        edges && edges != Py_None ? PyObject_CallMethod(edges, "tolist", NULL) : Py_XNewRef(edges);
    PyObject *const made =
        ends ? Py_BuildValue("O(ddOO)", make, h->bins.lo, h->bins.hi, bins, ends) : NULL;
    Py_XDECREF(make);
    Py_XDECREF(counts);
    Py_XDECREF(edges);
    Py_XDECREF(bins);
    Py_XDECREF(ends);
    return made;
}

/* Fills the memory of an unpickled histogram. 0, or -1 with an exception. */
static int read_bins(PyObject *counts, PyObject *edges, uint64_t *to)
{
    const Py_ssize_t n = PyList_Size(counts);
    for (Py_ssize_t k = 0; k < n && !PyErr_Occurred(); k++)
        to[k] = PyLong_AsUnsignedLongLong(PyList_GetItem(counts, k));
    for (Py_ssize_t k = 0; edges != Py_None && k <= n && !PyErr_Occurred(); k++) {
        const double edge = PyFloat_AsDouble(PyList_GetItem(edges, k));
        memcpy(&to[n + k], &edge, sizeof edge);
    }
    return PyErr_Occurred() ? -1 : 0;
}

static PyObject *histogram_of(PyObject *type, PyObject *args)
{
    ImgstatHistogram bins = {0};
    PyObject *counts, *edges;
    if (!PyArg_ParseTuple(args, "ddO!O:_of", &bins.lo, &bins.hi, &PyList_Type, &counts, &edges))
        return NULL;
    const Py_ssize_t n = PyList_Size(counts);
    if (n > INT32_MAX ||
        (edges != Py_None && (!PyList_Check(edges) || PyList_Size(edges) != n + 1)))
        return PyErr_Format(PyExc_ValueError, "edges are None, or one more than counts");
    const int64_t words = edges == Py_None ? n : 2 * n + 1;
    PyObject *const memory =
        array_allocate(state_of_type((PyTypeObject *)type), IMGSTAT_U64, 1, &words);
    if (!memory)
        return NULL;
    uint64_t *const to = (uint64_t *)array_parts(memory)->data;
    bins.bins = (uint32_t)n;
    bins.per_value = edges == Py_None;
    bins.counts = to;
    PyObject *const made =
        read_bins(counts, edges, to) == 0 ? histogram_new(type, memory, NULL, 0, &bins) : NULL;
    Py_DECREF(memory);
    return made;
}

/* ---- The type -------------------------------------------------------------------------------- */

PyDoc_STRVAR(
    histogram_doc,
    "Counts of the samples of a channel. `counts, edges = h` works, too.\n\n"
    "Bin k counts the samples v with edges[k] <= v < edges[k + 1]; the last one counts its "
    "upper edge as well.");

static PyGetSetDef histogram_getset[] = {
    {"counts", get_counts, NULL,
     "imgstat.Array of uint64, one count for each bin; numpy.asarray(h.counts) copies nothing.",
     NULL},
    {"edges", get_edges, NULL, "imgstat.Array of float64: where bins begin, and the last one ends.",
     NULL},
    {"cdf", get_cdf, NULL, "imgstat.Array of uint64: the counts of each bin and of those below.",
     NULL},
    {"range", get_range, NULL,
     "(lo, hi): where the first bin begins and the last one ends; with per_value the first and the "
     "last value.",
     NULL},
    {"per_value", get_per_value, NULL, "Whether each bin counts one value, lo + k.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef histogram_methods[] = {
    HTML_METHOD,
    {"_of", histogram_of, METH_VARARGS | METH_CLASS, "Makes a histogram of what was pickled."},
    COPY_METHODS,
    {"__reduce__", histogram_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot histogram_slots[] = {
    {Py_tp_doc, (void *)(uintptr_t)histogram_doc},
    {Py_tp_dealloc, histogram_dealloc},
    {Py_tp_repr, histogram_repr},
    {Py_tp_getset, histogram_getset},
    {Py_tp_methods, histogram_methods},
    {Py_sq_length, histogram_length},
    {Py_sq_item, histogram_item},
    {0, NULL},
};

PyType_Spec histogram_spec = {
    .name = "imgstat.Histogram",
    .basicsize = sizeof(Histogram),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = histogram_slots,
};
