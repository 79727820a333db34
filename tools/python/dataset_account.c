/* SPDX-License-Identifier: MIT */
/* dataset_account.c: what became of the files of a Dataset. */
#include "dataset.h"

#include <stdlib.h>
#include <string.h>

typedef enum Attribute { FILES, FAILED, PAGES, ALL_FAILURES, DIGEST, VERSION, SHARDS } Attribute;

/* Makes numbers and texts alone: they never collect garbage, and so run no code of Python. */
static PyObject *attribute(const ImgstatAccount *account, Attribute which)
{
    char digest[2 * sizeof account->digest + 1];
    switch (which) {
    case FILES:
        return PyLong_FromUnsignedLongLong(account->files);
    case FAILED:
        return PyLong_FromUnsignedLongLong(account->failed);
    case PAGES:
        return PyLong_FromUnsignedLongLong(account->pages);
    case ALL_FAILURES:
        return PyLong_FromUnsignedLongLong(account->all_failures);
    case DIGEST:
        for (size_t i = 0; i < sizeof account->digest; i++)
            PyOS_snprintf(digest + 2 * i, 3, "%02x", account->digest[i]);
        return PyUnicode_FromString(digest);
    case VERSION:
        return PyUnicode_FromFormat("%u.%u.%u", (unsigned)account->version[0],
                                    (unsigned)account->version[1], (unsigned)account->version[2]);
    case SHARDS:
        return PyLong_FromUnsignedLong(account->shards);
    }
    Py_RETURN_NONE;
}

/* Takes the lock and finds the account. Returns false, without the lock, with an exception. */
static bool lock_account(PyObject *self, ImgstatAccount *out)
{
    ImgstatDataset *const dataset = saved_lock(self);
    if (dataset)
        imgstat_dataset_account(dataset, out);
    return dataset != NULL;
}

static PyObject *get(PyObject *self, void *which)
{
    ImgstatAccount account;
    if (!lock_account(self, &account))
        return NULL;
    PyObject *const made = attribute(&account, (Attribute)(intptr_t)which);
    saved_unlock(self);
    return made;
}

static PyObject *get_done(PyObject *self, void *unused)
{
    (void)unused;
    ImgstatAccount account;
    if (!lock_account(self, &account))
        return NULL;
    const size_t bytes = (account.shards + 7) / 8;
    uint8_t *const done = malloc(bytes + 1);
    if (done && bytes)
        memcpy(done, account.done, bytes);
    saved_unlock(self);
    PyObject *list = done ? PyList_New(0) : PyErr_NoMemory();
    for (uint32_t k = 0; list && k < account.shards; k++) {
        PyObject *const shard = done[k / 8] >> k % 8 & 1 ? PyLong_FromUnsignedLong(k) : NULL;
        if (shard && PyList_Append(list, shard) < 0)
            Py_CLEAR(list);
        Py_XDECREF(shard);
    }
    free(done);
    return list;
}

/* ---- Failures ---- */

/* A copy of the list of failures; free() frees each name and message, and the list. */
static ImgstatFailure *copy_failures(const ImgstatAccount *account)
{
    ImgstatFailure *const list = calloc(account->n_failures + 1, sizeof *list);
    for (size_t i = 0; list && i < account->n_failures; i++) {
        list[i].code = account->failures[i].code;
        list[i].name = strdup(account->failures[i].name);
        list[i].message = strdup(account->failures[i].message);
    }
    return list;
}

static PyObject *failure_object(const ImgstatFailure *failure)
{
    if (!failure->name || !failure->message)
        return PyErr_NoMemory();
    PyObject *const name = PyUnicode_DecodeFSDefault(failure->name);
    PyObject *const message =
        PyUnicode_DecodeUTF8(failure->message, (Py_ssize_t)strlen(failure->message), "replace");
    PyObject *const made =
        name && message ? Py_BuildValue("(OsO)", name, imgstat_result_name(failure->code), message)
                        : NULL;
    Py_XDECREF(name);
    Py_XDECREF(message);
    return made;
}

static PyObject *get_failures(PyObject *self, void *unused)
{
    (void)unused;
    ImgstatAccount account;
    if (!lock_account(self, &account))
        return NULL;
    ImgstatFailure *const failures = copy_failures(&account);
    saved_unlock(self);
    PyObject *list = failures ? PyList_New((Py_ssize_t)account.n_failures) : PyErr_NoMemory();
    for (size_t i = 0; failures && i < account.n_failures; i++) {
        PyObject *const failure = list ? failure_object(&failures[i]) : NULL;
        if (list && (!failure || PyList_SetItem(list, (Py_ssize_t)i, failure) < 0))
            Py_CLEAR(list);
        free((void *)(uintptr_t)failures[i].name);
        free((void *)(uintptr_t)failures[i].message);
    }
    free(failures);
    return list;
}

#define IS(which) ((void *)(intptr_t)(which))
PyGetSetDef dataset_attributes[] = {
    {"files", get, NULL, "Number of files that were to be measured.", IS(FILES)},
    {"failed", get, NULL, "Files that were not measured, or only some of their pages.", IS(FAILED)},
    {"pages", get, NULL, "Number of pages that were measured.", IS(PAGES)},
    {"failures", get_failures, NULL,
     "List of (name, code, sentence), ascending: the first 10,000 failures.", NULL},
    {"all_failures", get, NULL, "Number of all failures.", IS(ALL_FAILURES)},
    {"digest", get, NULL, "Hash of the names of the files, in any order, as hexadecimal text.",
     IS(DIGEST)},
    {"version", get, NULL, "Version of the latest imgstat that had a part in it.", IS(VERSION)},
    {"shards", get, NULL, "Number of shards of the set that this is a part of; 0: it is complete.",
     IS(SHARDS)},
    {"done", get_done, NULL, "List of the shards that are in here, counted from 0.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
