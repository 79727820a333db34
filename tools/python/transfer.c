/* SPDX-License-Identifier: MIT */
/* transfer.c: the class Transfer, what turns old samples into new ones. */
#include "transfer.h"

#include "error.h"
#include "methods.h"
#include "saved.h"
#include "transform_array.h"
#include "values.h"

#include <stdlib.h>

/* ---- The calls of the library ---- */

static ImgstatResult make(const void *bytes, size_t n, void **out, ImgstatError *err)
{
    ImgstatTransfer *made;
    const ImgstatResult res = imgstat_transfer_from_text("transfer", bytes, n, &made, err);
    *out = made;
    return res;
}

static ImgstatResult load_file(const char *path, void **out, ImgstatError *err)
{
    ImgstatTransfer *made;
    const ImgstatResult res = imgstat_transfer_load(path, 0, &made, err);
    *out = made;
    return res;
}

static ImgstatResult save_file(void *transfer, const char *path, bool replace, ImgstatError *err)
{
    return imgstat_transfer_save(transfer, path, replace, err);
}

static size_t write_text(void *transfer, void *out, size_t capacity)
{
    return imgstat_transfer_text(transfer, out, capacity);
}

static void destroy(void *transfer)
{
    imgstat_transfer_destroy(transfer);
}

const SavedKind transfer_kind = {.name = "Transfer",
                                 .from = "from_json",
                                 .make = make,
                                 .load = load_file,
                                 .save = save_file,
                                 .write = write_text,
                                 .destroy = destroy};

PyObject *transfer_new(State *state, ImgstatTransfer *transfer)
{
    return saved_new((PyTypeObject *)state->transfer_type, transfer);
}

const ImgstatTransfer *transfer_get(State *state, PyObject *object)
{
    if (Py_IS_TYPE(object, (PyTypeObject *)state->transfer_type))
        return ((Saved *)object)->object;
    PyErr_Format(PyExc_TypeError, "an imgstat.Transfer is wanted, not %R",
                 (PyObject *)Py_TYPE(object));
    return NULL;
}

/* ---- Texts ---- */

static PyObject *to_json(PyObject *self, PyObject *unused)
{
    PyObject *const bytes = saved_to_bytes(self, unused);
    PyObject *const text = bytes ? PyUnicode_FromEncodedObject(bytes, "utf-8", "strict") : NULL;
    Py_XDECREF(bytes);
    return text;
}

static PyObject *from_json(PyObject *type, PyObject *text)
{
    if (!PyUnicode_Check(text))
        return saved_from_bytes(type, text);
    PyObject *const bytes = PyUnicode_AsUTF8String(text);
    PyObject *const made = bytes ? saved_from_bytes(type, bytes) : NULL;
    Py_XDECREF(bytes);
    return made;
}

static PyObject *describe(PyObject *self)
{
    const ImgstatTransfer *const transfer = ((Saved *)self)->object;
    char *text;
    bool good;
    Py_BEGIN_ALLOW_THREADS
    const size_t n = imgstat_transfer_describe(transfer, NULL, 0); /* 0: no memory */
    text = n ? malloc(n + 1) : NULL;
    good = text && imgstat_transfer_describe(transfer, text, n + 1) == n;
    Py_END_ALLOW_THREADS
    PyObject *const made = good ? PyUnicode_FromString(text) : PyErr_NoMemory();
    free(text);
    return made;
}

static PyObject *repr(PyObject *self)
{
    PyObject *const text = describe(self);
    PyObject *const made = text ? PyUnicode_FromFormat("<imgstat.Transfer %U>", text) : NULL;
    Py_XDECREF(text);
    return made;
}

static PyObject *get_parameters(PyObject *self, void *unused)
{
    (void)unused;
    PyObject *const json = PyImport_ImportModule("json");
    PyObject *const text = json ? describe(self) : NULL;
    PyObject *const made = text ? PyObject_CallMethod(json, "loads", "O", text) : NULL;
    Py_XDECREF(json);
    Py_XDECREF(text);
    return made;
}

static PyObject *get_sample(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(
        imgstat_sample_name(imgstat_transfer_output(((Saved *)self)->object, NULL)));
}

static PyObject *get_bits(PyObject *self, void *unused)
{
    (void)unused;
    uint8_t bits;
    (void)imgstat_transfer_output(((Saved *)self)->object, &bits);
    return PyLong_FromLong(bits);
}

static Py_ssize_t length(PyObject *self)
{
    return (Py_ssize_t)imgstat_transfer_count(((Saved *)self)->object);
}

static Py_hash_t hash(PyObject *self)
{
    PyObject *bytes = saved_to_bytes(self, NULL);
    if (!bytes && PyErr_ExceptionMatches(PyExc_ValueError)) { /* it equals itself alone */
        PyErr_Clear();
        bytes = PyLong_FromVoidPtr(self);
    }
    const Py_hash_t made = bytes ? PyObject_Hash(bytes) : -1;
    Py_XDECREF(bytes);
    return made;
}

/* ---- Arrays ---- */

typedef struct Words {
    ArrayOptions array;
    RunOptions run;
    PyObject *out;
} Words;

static const Keyword own_keywords[] = {
    {"alpha", offsetof(Words, array.alpha)},
    {"out", offsetof(Words, out)},
    {NULL, 0},
};

static PyObject *apply(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *x;
    Words words = {.out = NULL};
    const KeywordSet sets[] = {
        {array_keywords, &words.array}, {run_keywords, &words.run}, {own_keywords, &words}};
    if (!PyArg_ParseTuple(args, "O:apply", &x) ||
        keywords_read("apply", kwargs, sets, sizeof sets / sizeof sets[0]) < 0)
        return NULL;
    const TransformWork work = {.transfer = ((Saved *)self)->object};
    return transform_array(state_of_type(Py_TYPE(self)), x, words.out, &work, &words.array,
                           &words.run);
}

/* ---- The class ---- */

PyDoc_STRVAR(
    class_doc,
    "What turns old samples into new ones: a table, a line, a power or knots for each "
    "channel.\n\n"
    "Made by Record.transfer, Dataset.transfer, or from what `imgstat normalize "
    "--save-transfer` wrote.\nIt never changes, so that threads share it; it pickles, "
    "compares, and is a key of dicts; that of\na Dataset equals itself alone, and is neither "
    "saved nor pickled. len(t): 1, or the number of transfers\nof a set (one for each "
    "channel of a stack, depth, group or kind).");
PyDoc_STRVAR(from_json_doc, "from_json($type, text, /)\n--\n\n"
                            "Makes a transfer of the text that to_json returned or a file of "
                            "save has (str or bytes).");
PyDoc_STRVAR(to_json_doc, "to_json($self)\n--\n\n"
                          "Returns the transfer as JSON on one line: docs/transforms.md.");
PyDoc_STRVAR(
    apply_doc,
    "apply($self, x, /, *, axes=None, mask=None, nodata=None, alpha=None, bits=None, out=None, "
    "device=None,\n      threads=0, stream=None)\n--\n\n"
    "Maps an array, or each image of a batch, of the type and channels that the transfer "
    "was made from.\nReturns an array of the same library, shape and device.\n\n"
    "out: an array that is written to and returned; it may be x where the type stays. "
    "Other arguments\nare those of imgstat.normalize. Raises ValueError where the type "
    "or channels do not fit.");
PyDoc_STRVAR(load_doc, "load($type, path, /)\n--\n\n"
                       "Loads a transfer from a file.");
PyDoc_STRVAR(save_doc, "save($self, path, *, replace=False)\n--\n\n"
                       "Writes the transfer as a file, which may exist if replace is true.");

static PyMethodDef methods[] = {
    {"apply", WITH_WORDS(apply), apply_doc},
    {"from_json", from_json, METH_O | METH_CLASS, from_json_doc},
    {"to_json", to_json, METH_NOARGS, to_json_doc},
    {"load", saved_load, METH_O | METH_CLASS, load_doc},
    {"save", WITH_WORDS(saved_save), save_doc},
    COPY_METHODS,
    {"__reduce__", saved_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef attributes[] = {
    {"sample", get_sample, NULL, "Type of the samples that it makes: 'u8' ...", NULL},
    {"bits", get_bits, NULL, "Their significant bits.", NULL},
    {"parameters", get_parameters, NULL,
     "A dict of what it was made from: method, black and white, mean and stddev ...", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)(uintptr_t)class_doc},
    {Py_tp_dealloc, saved_dealloc},
    {Py_tp_repr, repr},
    {Py_tp_richcompare, saved_compare},
    {Py_tp_hash, hash},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {Py_sq_length, length},
    {0, NULL},
};

PyType_Spec transfer_spec = {.name = "imgstat.Transfer",
                             .basicsize = sizeof(Saved),
                             .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
                                      Py_TPFLAGS_IMMUTABLETYPE,
                             .slots = slots};
