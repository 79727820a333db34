/* SPDX-License-Identifier: MIT */
/* record_transfer.c: makes transfers of what a Record holds. */
#include "error.h"
#include "method.h"
#include "record.h"
#include "transfer.h"

typedef struct Words {
    PyObject *method;    /* the name of a transform */
    PyObject *reference; /* a Record, for "match" */
} Words;

static const Keyword own_keywords[] = {
    {"method", offsetof(Words, method)},
    {"reference", offsetof(Words, reference)},
    {NULL, 0},
};

PyObject *record_transfer(PyObject *self, PyObject *args, PyObject *kwargs)
{
    State *const state = state_of_type(Py_TYPE(self));
    Words words = {NULL, NULL};
    MethodOptions options = {NULL};
    const KeywordSet sets[] = {{own_keywords, &words}, {method_keywords, &options}};
    ImgstatTransform transform;
    ImgstatMethod method;
    if (!PyArg_ParseTuple(args, "|O:transfer", &words.method) ||
        keywords_read("transfer", kwargs, sets, sizeof sets / sizeof sets[0]) < 0 ||
        transform_of_name(words.method, &options, &transform) < 0 ||
        method_read(&options, transform, &method) < 0)
        return NULL;
    const bool has_reference = option_given(words.reference);
    ImgstatRecord *const record = record_copy(state, self);
    ImgstatRecord *const reference =
        record && has_reference ? record_copy(state, words.reference) : NULL;
    ImgstatTransfer *transfer = NULL;
    if (record && (reference || !has_reference)) {
        ImgstatError err = {0};
        ImgstatResult res;
        Py_BEGIN_ALLOW_THREADS
        res = imgstat_transfer_from_record(&method, record, reference, &transfer, &err);
        Py_END_ALLOW_THREADS
        if (res != IMGSTAT_OK)
            raise_result(state, res, &err);
    }
    imgstat_record_destroy(record);
    imgstat_record_destroy(reference);
    return transfer ? transfer_new(state, transfer) : NULL;
}
