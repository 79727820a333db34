/* SPDX-License-Identifier: MIT */
/* transform_files.c: transforms many files, several at a time. */
#include "error.h"
#include "file_input.h"
#include "file_jobs.h"
#include "file_output.h"
#include "method.h"
#include "methods.h"
#include "open_options.h"
#include "transfer.h"
#include "values.h"
#include "warnings.h"
#include "work.h"

#include <stdlib.h>

typedef struct Words {
    PyObject *method;    /* the name of a transform */
    PyObject *transfer;  /* a Transfer, in its place */
    PyObject *reference; /* a path, for "match" */
    PyObject *reference_page;
    PyObject *together;                    /* "page", "channel", "file", "all" */
    PyObject *skip_existing, *drop_levels; /* bool */
    PyObject *fill;                        /* what undefined samples become */
    PyObject *memory;                      /* bytes */
    PyObject *group, *pages, *progress;    /* as in file_jobs.h */
    MethodOptions options;
    OpenOptions open;
    WriteOptions write;
    RunOptions run;
} Words;

static const Keyword own_keywords[] = {
    {"method", offsetof(Words, method)},
    {"transfer", offsetof(Words, transfer)},
    {"reference", offsetof(Words, reference)},
    {"reference_page", offsetof(Words, reference_page)},
    {"together", offsetof(Words, together)},
    {"skip_existing", offsetof(Words, skip_existing)},
    {"drop_levels", offsetof(Words, drop_levels)},
    {"fill", offsetof(Words, fill)},
    {"memory", offsetof(Words, memory)},
    {"group", offsetof(Words, group)},
    {"pages", offsetof(Words, pages)},
    {"progress", offsetof(Words, progress)},
    {NULL, 0},
};

/* A file, and what became of it. */
typedef struct File {
    FileInput input;
    FileOutput output;
    PyObject *group;
    bool skipped;
    bool failed;
    ImgstatError *error; /* malloc'ed, or NULL */
} File;

typedef struct Call {
    OpenHow how;
    PyObject *reference; /* bytes */
    ImgstatBatch batch;
    size_t n;
    File *files;
    ImgstatJob *jobs;
    PyObject *progress;
    Work work;
    Warnings warnings;
} Call;

/* ---- What is asked for ---- */

static int read_together(PyObject *together, ImgstatGrouping *out)
{
    static const char *const names[] = {"page", "channel", "file", "all"};
    static const ImgstatGrouping values[] = {IMGSTAT_BY_PAGE, IMGSTAT_BY_CHANNEL, IMGSTAT_BY_FILE,
                                             IMGSTAT_BY_ALL};
    if (!option_given(together))
        return 0;
    for (size_t i = 0; PyUnicode_Check(together) && i < 4; i++)
        if (PyUnicode_CompareWithASCIIString(together, names[i]) == 0) {
            *out = values[i];
            return 0;
        }
    PyErr_Format(PyExc_ValueError,
                 "together=%R should be \"page\", \"channel\", \"file\" or \"all\"", together);
    return -1;
}

static int read_method(State *state, const Words *words, ImgstatBatch *batch)
{
    ImgstatTransform transform;
    if (option_given(words->transfer)) {
        bool both = option_given(words->method);
        for (const Keyword *k = method_keywords; k->name; k++)
            both = both ||
                   option_given(*(PyObject *const *)((const char *)&words->options + k->offset));
        if (both) {
            PyErr_SetString(PyExc_ValueError,
                            "a method and its options, or a transfer is wanted, not both");
            return -1;
        }
        batch->transfer = transfer_get(state, words->transfer);
        return batch->transfer ? 0 : -1;
    }
    return transform_of_name(words->method, &words->options, &transform) < 0 ||
                   method_read(&words->options, transform, &batch->method) < 0
               ? -1
               : 0;
}

static int read_reference(const Words *words, Call *call)
{
    if (text_read(words->reference_page, "reference_page", &call->batch.reference_page) < 0)
        return -1;
    if (option_given(words->reference)) {
        if (!PyUnicode_FSConverter(words->reference, &call->reference))
            return -1;
        call->batch.reference = PyBytes_AsString(call->reference);
    } else if (call->batch.reference_page) {
        PyErr_SetString(PyExc_ValueError,
                        "reference_page= is a page of reference=, which is not given");
        return -1;
    }
    return 0;
}

static int read_batch(State *state, const Words *words, Call *call)
{
    ImgstatBatch *const batch = &call->batch;
    const int skip = option_given(words->skip_existing) ? PyObject_IsTrue(words->skip_existing) : 0;
    const int drop = option_given(words->drop_levels) ? PyObject_IsTrue(words->drop_levels) : 0;
    if (skip < 0 || drop < 0 || read_method(state, words, batch) < 0 ||
        read_reference(words, call) < 0 || read_together(words->together, &batch->together) < 0 ||
        open_read(&words->open, &call->how) < 0 || write_read(&words->write, &batch->write) < 0 ||
        run_read(&words->run, &batch->device, &batch->threads) < 0)
        return -1;
    batch->skip_existing = skip > 0;
    batch->drop_levels = drop > 0;
    batch->open = call->how.open;
    batch->open.warn = warnings_keep; /* on the calling thread */
    batch->open.warn_context = &call->warnings;
    batch->write.has_nodata = option_given(words->fill);
    if (batch->write.has_nodata && value_read(words->fill, "fill", &batch->write.nodata) < 0)
        return -1;
    long long memory = 0;
    if (option_given(words->memory) &&
        integer_read(words->memory, "memory", 0, INT64_MAX, &memory) < 0)
        return -1;
    batch->memory = (uint64_t)memory;
    call->progress = option_given(words->progress) ? words->progress : NULL;
    return PyErr_Occurred() ? -1 : 0;
}

/* ---- Files ---- */

static int open_file(PyObject *item, const Words *words, const char *pages, File *file,
                     ImgstatJob *job)
{
    if (!PyTuple_Check(item) || PyTuple_Size(item) != 2) {
        PyErr_SetString(PyExc_TypeError, "files should be tuples (source, target)");
        return -1;
    }
    PyObject *const from = PyTuple_GetItem(item, 0);
    if (file_input_open(from, NULL, &file->input) < 0 ||
        file_output_open(PyTuple_GetItem(item, 1), &file->output) < 0 ||
        job_group(words->group, from, &file->group) < 0)
        return -1;
    *job = (ImgstatJob){.input = file->input.name,
                        .output = file->output.name,
                        .pages = pages,
                        .source = file->input.is_path ? NULL : &file->input.calls,
                        .sink = file->output.object ? &file->output.calls : NULL,
                        .group = file->group ? PyBytes_AsString(file->group) : NULL};
    return 0;
}

/* files: a list of tuples. */
static int open_files(PyObject *files, const Words *words, Call *call)
{
    const char *pages;
    if (text_read(words->pages, "pages", &pages) < 0)
        return -1;
    const size_t n = (size_t)PyList_Size(files);
    call->files = calloc(n + 1, sizeof *call->files);
    call->jobs = calloc(n + 1, sizeof *call->jobs);
    if (!call->files || !call->jobs) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < n; i++) {
        call->n++;
        if (open_file(PyList_GetItem(files, (Py_ssize_t)i), words, pages, &call->files[i],
                      &call->jobs[i]) < 0)
            return -1;
    }
    return 0;
}

static void call_end(Call *call)
{
    for (size_t i = 0; i < call->n; i++) {
        file_input_close(&call->files[i].input);
        file_output_close(&call->files[i].output);
        Py_XDECREF(call->files[i].group);
        free(call->files[i].error);
    }
    free(call->files);
    free(call->jobs);
    Py_XDECREF(call->reference);
    open_release(&call->how);
}

/* ---- The batch ---- */

/* On the calling thread. */
static bool report(void *context, const ImgstatDone *done)
{
    Call *const call = context;
    File *const file = &call->files[done->job];
    file->skipped = done->skipped;
    file->failed = done->error != NULL;
    file->error = done->error ? malloc(sizeof *file->error) : NULL;
    if (file->error)
        *file->error = *done->error;
    const PyGILState_STATE gil = work_enter();
    /* Files that were at work are reported after the end as well. */
    bool good = !PyErr_Occurred() && PyErr_CheckSignals() == 0;
    PyObject *const raised = error_ends(file->input.raised)    ? file->input.raised
                             : error_ends(file->output.raised) ? file->output.raised
                                                               : NULL;
    if (good && raised) {
        PyErr_SetObject((PyObject *)Py_TYPE(raised), raised);
        good = false;
    }
    if (good && call->progress) {
        PyObject *const answer =
            PyObject_CallFunction(call->progress, "n", (Py_ssize_t)done->job + 1);
        good = answer != NULL;
        Py_XDECREF(answer);
    }
    work_leave(gil);
    return good;
}

static bool is_cancelled(void *context)
{
    return work_cancelled(&((Call *)context)->work);
}

/* The Error of a file, with the exception of its object as the cause. */
static PyObject *file_error(State *state, const File *file)
{
    static const ImgstatError no_memory = {.code = IMGSTAT_ERR_MEMORY, .message = "no memory"};
    if (!file->failed)
        return Py_NewRef(Py_None);
    PyObject *const error = error_object(state, file->error ? file->error : &no_memory);
    PyObject *const cause = file->input.raised ? file->input.raised : file->output.raised;
    if (error && cause)
        PyException_SetCause(error, Py_NewRef(cause));
    return error;
}

/* A list of (skipped, error or None). */
static PyObject *outcomes(State *state, const Call *call)
{
    PyObject *list = PyList_New((Py_ssize_t)call->n);
    for (size_t i = 0; list && i < call->n; i++) {
        PyObject *const error = file_error(state, &call->files[i]);
        PyObject *const outcome =
            error ? Py_BuildValue("(NN)", PyBool_FromLong(call->files[i].skipped), error) : NULL;
        if (!outcome || PyList_SetItem(list, (Py_ssize_t)i, outcome) < 0)
            Py_CLEAR(list);
    }
    return list;
}

/* transform_files(list of (source, target), **options): imgstat.transform_files is on top of it. */
static PyObject *transform_files(PyObject *module, PyObject *args, PyObject *kwargs)
{
    State *const state = state_of(module);
    PyObject *files;
    Words words = {.method = NULL};
    const KeywordSet sets[] = {{own_keywords, &words},
                               {method_keywords, &words.options},
                               {open_keywords, &words.open},
                               {write_keywords, &words.write},
                               {run_keywords, &words.run}};
    if (!PyArg_ParseTuple(args, "O!:transform_files", &PyList_Type, &files) ||
        keywords_read("transform_files", kwargs, sets, sizeof sets / sizeof sets[0]) < 0)
        return NULL;
    Call call = {.n = 0};
    PyObject *made = NULL;
    if (work_calls_back() == 0 && read_batch(state, &words, &call) == 0 &&
        open_files(files, &words, &call) == 0) {
        ImgstatError err = {0};
        ImgstatResult res;
        call.batch.progress = report;
        call.batch.cancelled = is_cancelled;
        call.batch.context = &call;
        work_begin(&call.work, NULL);
        res = imgstat_batch_run(&call.batch, call.jobs, call.n, &err);
        work_end(&call.work);
        if (!PyErr_Occurred() && res == IMGSTAT_OK)
            made = outcomes(state, &call);
        else
            raise_result(state, res, &err);
    }
    call_end(&call);
    return warnings_issue(&call.warnings, made);
}

PyMethodDef transform_files_functions[] = {
    {"transform_files", WITH_WORDS(transform_files), NULL},
    {NULL, NULL, 0, NULL},
};
