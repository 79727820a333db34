/* SPDX-License-Identifier: MIT */
/* chain.c: the type imgstat.Chain, a transform whose calls a graph can record. */
#include "method.h"
#include "transform_array.h"

#include <string.h>

typedef struct Chain {
    PyObject_HEAD HeldChain *chain;
    ImgstatMethod method;
    ArrayOptions options; /* owned references */
    bool busy;
} Chain;

/* What a call says. */
typedef struct Words {
    MethodOptions method;
    ArrayOptions array;
    RunOptions run;
    PyObject *name, *example, *out;
} Words;

static void chain_dealloc(PyObject *self)
{
    Chain *const chain = (Chain *)self;
    PyTypeObject *const type = Py_TYPE(self);
    Py_BEGIN_ALLOW_THREADS
    chain_end(chain->chain);
    Py_END_ALLOW_THREADS
    Py_XDECREF(chain->options.axes);
    Py_XDECREF(chain->options.nodata);
    Py_XDECREF(chain->options.alpha);
    Py_XDECREF(chain->options.bits);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyObject *chain_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static const Keyword own[] = {{"method", offsetof(Words, name)},
                                  {"example", offsetof(Words, example)},
                                  {"alpha", offsetof(Words, array.alpha)},
                                  {"threads", offsetof(Words, run.threads)},
                                  {NULL, 0}};
    Words words = {.example = NULL};
    ImgstatTransform transform;
    ImgstatMethod method;
    HeldChain *held;
    if (!PyArg_ParseTuple(args, "|OO:Chain", &words.name, &words.example))
        return NULL;
    const KeywordSet sets[] = {
        {method_keywords, &words.method}, {array_keywords, &words.array}, {own, &words}};
    State *const state = state_of_type(type);
    if (keywords_read("Chain", kwargs, sets, sizeof sets / sizeof sets[0]) < 0 ||
        transform_of_name(words.name, &words.method, &transform) < 0)
        return NULL;
    if (transform != IMGSTAT_STRETCH && transform != IMGSTAT_PERCENTILE &&
        transform != IMGSTAT_EQUALIZE)
        return PyErr_Format(PyExc_ValueError, "a Chain takes method=\"stretch\", \"percentile\" or "
                                              "\"equalize\"");
    if (method_read(&words.method, transform, &method) < 0)
        return NULL;
    if (!option_given(words.example))
        return PyErr_Format(PyExc_TypeError, "Chain() needs an array: example=");
    if (transform_chain(state, words.example, &method, &words.array, &words.run, &held) < 0)
        return NULL;
    Chain *const chain = (Chain *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!chain) {
        chain_end(held);
        return NULL;
    }
    chain->chain = held;
    chain->method = method;
    chain->options = (ArrayOptions){.axes = Py_XNewRef(words.array.axes),
                                    .nodata = Py_XNewRef(words.array.nodata),
                                    .alpha = Py_XNewRef(words.array.alpha),
                                    .bits = Py_XNewRef(words.array.bits)};
    return (PyObject *)chain;
}

static PyObject *chain_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static const Keyword own[] = {{"mask", offsetof(Words, array.mask)},
                                  {"stream", offsetof(Words, array.stream)},
                                  {"out", offsetof(Words, out)},
                                  {NULL, 0}};
    Chain *const chain = (Chain *)self;
    PyObject *x;
    Words words = {.array = chain->options};
    const KeywordSet set = {own, &words};
    if (!PyArg_ParseTuple(args, "O:Chain", &x) || keywords_read("Chain", kwargs, &set, 1) < 0)
        return NULL;
    if (__atomic_test_and_set(&chain->busy, __ATOMIC_ACQUIRE))
        return PyErr_Format(PyExc_ValueError, "a Chain serves one call at a time");
    const TransformWork work = {.method = &chain->method, .chain = chain->chain};
    PyObject *const result = transform_array(state_of_type(Py_TYPE(self)), x, words.out, &work,
                                             &words.array, &words.run);
    __atomic_clear(&chain->busy, __ATOMIC_RELEASE);
    return result;
}

PyDoc_STRVAR(
    chain_doc,
    "Chain(method, example, *, clip=None, dtype=None, out_range=None, channels=None, "
    "axes=None,\n      nodata=None, alpha=None, bits=None, threads=0, stream=None)\n--\n\n"
    "A transform with all its memory, for arrays of one type and at most one size: those "
    "of example.\n\n"
    "c(x, *, out=None, mask=None, stream=None) measures and maps x, and returns out or a new "
    "array. Of arrays on\na GPU it enqueues its work on the stream and returns: nothing "
    "waits or allocates where out is given, so that a\nCUDA graph can record the call "
    "(torch.cuda.graph) once the same call has run before; without out it is a\nValueError "
    "then, but of arrays of torch. A Chain serves one stream at a time; keep it as long as graphs "
    "that recorded "
    "it.\n\n"
    "method: 'stretch', 'percentile' or 'equalize'. Samples of more than 16 bits are an "
    "imgstat.Error.");

static PyType_Slot chain_slots[] = {
    {Py_tp_doc, (void *)(uintptr_t)chain_doc},
    {Py_tp_dealloc, chain_dealloc},
    {Py_tp_new, chain_new},
    {Py_tp_call, chain_call},
    {0, NULL},
};

PyType_Spec chain_spec = {
    .name = "imgstat.Chain",
    .basicsize = sizeof(Chain),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = chain_slots,
};
