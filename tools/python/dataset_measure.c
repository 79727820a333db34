/* SPDX-License-Identifier: MIT */
/* dataset_measure.c: measures files into a Dataset, and reads them again for exact statistics. */
#include "dataset.h"

#include "error.h"
#include "file_jobs.h"
#include "measure.h"
#include "open_options.h"

typedef struct Words {
    JobOptions job;
    OpenOptions open;
    RunOptions run;
    MeasureOptions measure;
    PyObject *files;
    PyObject *by;     /* "all", "channel" */
    PyObject *region; /* (x, y, width, height) */
} Words;

static const Keyword own_keywords[] = {
    {"files", offsetof(Words, files)},
    {"by", offsetof(Words, by)},
    {"region", offsetof(Words, region)},
    {NULL, 0},
};

static int read_by(PyObject *by, ImgstatGrouping *out)
{
    *out = IMGSTAT_BY_ALL;
    if (!option_given(by))
        return 0;
    if (PyUnicode_Check(by) && PyUnicode_CompareWithASCIIString(by, "channel") == 0)
        *out = IMGSTAT_BY_CHANNEL;
    else if (!PyUnicode_Check(by) || PyUnicode_CompareWithASCIIString(by, "all") != 0) {
        PyErr_Format(PyExc_ValueError, "by=%R should be \"all\" or \"channel\"", by);
        return -1;
    }
    return 0;
}

/* A call of the library for many files. */
typedef struct Call {
    OpenHow how;
    ImgstatMeasure measure;
    ImgstatMeasureBatch batch;
    FileJobs jobs;
} Call;

/* Ends by call_end, after a failure too. */
static int call_begin(Call *call, const Words *words)
{
    ImgstatMeasureBatch *const batch = &call->batch;
    const JobOptions no_options = {NULL};
    PyObject *const none = words->files ? NULL : PyTuple_New(0);
    int status = file_jobs_begin(words->files ? words->files : none,
                                 words->files ? &words->job : &no_options, &call->jobs);
    Py_XDECREF(none); /* its iterator has it */
    if (status < 0 || open_read(&words->open, &call->how) < 0 ||
        read_by(words->by, &batch->by) < 0 ||
        run_read(&words->run, &batch->device, &batch->threads) < 0 ||
        region_read(words->region, &call->measure.region) < 0)
        return -1;
    batch->how = &call->measure;
    batch->open = call->how.open;
    batch->warned = file_jobs_warned;
    batch->progress = file_jobs_done;
    batch->reading = file_jobs_read;
    batch->cancelled = file_jobs_cancelled;
    batch->context = &call->jobs;
    return 0;
}

static void call_end(Call *call)
{
    file_jobs_end(&call->jobs);
    open_release(&call->how);
    measure_release(&call->measure);
}

PyObject *dataset_measure(PyObject *self, PyObject *args, PyObject *kwargs)
{
    State *const state = state_of_type(Py_TYPE(self));
    Saved *const saved = (Saved *)self;
    Words words = {.files = NULL};
    const KeywordSet sets[] = {{job_keywords, &words.job},
                               {open_keywords, &words.open},
                               {run_keywords, &words.run},
                               {own_keywords, &words}};
    if (saved_check(self) < 0 || !PyArg_ParseTuple(args, "O:measure", &words.files) ||
        keywords_read("measure", kwargs, sets, sizeof sets / sizeof sets[0]) < 0)
        return NULL;
    Call call = {.how.mask = NULL};
    PyObject *made = NULL;
    if (call_begin(&call, &words) == 0) {
        ImgstatError err = {0};
        ImgstatResult res;
        work_begin(&call.jobs.work, NULL);
        pthread_mutex_lock(&saved->lock);
        atomic_store(&saved->measured, true);
        res = imgstat_dataset_measure(saved->object, &call.batch, &call.jobs.stream, &err);
        atomic_store(&saved->measured, false);
        pthread_mutex_unlock(&saved->lock);
        work_end(&call.jobs.work);
        made = file_jobs_answer(state, &call.jobs, Py_NewRef(self), res, &err);
    }
    call_end(&call);
    return made;
}

/* ---- Statistics ---- */

/* Whether all records have samples of at most 16 bits. */
static bool is_narrow(ImgstatDataset *dataset)
{
    const ImgstatRecord *record;
    bool narrow = true;
    for (size_t i = 0; narrow && (record = imgstat_dataset_record(dataset, i)); i++) {
        ImgstatKind kind;
        imgstat_record_kind(record, &kind);
        narrow = imgstat_sample_bytes(kind.sample) <= 2;
    }
    return narrow;
}

/* Reads what is computed. Of wider types, some needs the pixels. */
static int read_measure(const MeasureOptions *options, bool readable, ImgstatMeasure *out)
{
    const ImgstatRegion region = out->region;
    if (measure_read(options, readable, out) < 0)
        return -1;
    out->region = region;
    if (readable || (!out->histogram && !out->mode && !out->shape))
        return 0;
    PyErr_SetString(PyExc_ValueError, "the histogram, mode and shape of samples beyond 16 bits are "
                                      "not in records: stats(files, ...) reads the files again");
    return -1;
}

/* A list of Stats, of records that were computed and stay. */
static PyObject *stats_of_all(State *state, PyObject *owner, const ImgstatMeasure *how)
{
    ImgstatDataset *const dataset = ((Saved *)owner)->object;
    PyObject *list = PyList_New(0);
    ImgstatRecord *record;
    for (size_t i = 0; list && (record = imgstat_dataset_record(dataset, i)); i++) {
        PyObject *const stats = stats_of_owned(state, record, owner, how);
        if (!stats || PyList_Append(list, stats) < 0)
            Py_CLEAR(list);
        Py_XDECREF(stats);
    }
    return list;
}

PyObject *dataset_stats(PyObject *self, PyObject *args, PyObject *kwargs)
{
    State *const state = state_of_type(Py_TYPE(self));
    Words words = {.files = NULL};
    const KeywordSet sets[] = {{job_keywords, &words.job},
                               {open_keywords, &words.open},
                               {run_keywords, &words.run},
                               {measure_keywords, &words.measure},
                               {own_keywords, &words}};
    if (!PyArg_ParseTuple(args, "|O:stats", &words.files) ||
        keywords_read("stats", kwargs, sets, sizeof sets / sizeof sets[0]) < 0)
        return NULL;
    if (words.files == Py_None)
        words.files = NULL;
    PyObject *const own = saved_copy(self, NULL); /* nobody else sees that it is computed */
    if (!own)
        return NULL;
    ImgstatDataset *const dataset = ((Saved *)own)->object;
    Call call = {.how.mask = NULL};
    PyObject *made = NULL;
    const bool readable = words.files || is_narrow(dataset); /* a histogram can be computed */
    if (call_begin(&call, &words) == 0 &&
        read_measure(&words.measure, readable, &call.measure) == 0) {
        ImgstatError err = {0};
        ImgstatResult res;
        work_begin(&call.jobs.work, NULL);
        res = imgstat_dataset_compute(dataset, &call.batch, words.files ? &call.jobs.stream : NULL,
                                      &err);
        work_end(&call.jobs.work);
        made = file_jobs_answer(state, &call.jobs, Py_NewRef(own), res, &err);
    }
    if (made) {
        Py_DECREF(made);
        made = stats_of_all(state, own, &call.measure);
    }
    call_end(&call);
    Py_DECREF(own);
    return made;
}
