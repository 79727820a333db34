/* SPDX-License-Identifier: MIT */
/* stats.c: the type imgstat.Stats, which reads a record when it is asked. */
#include "stats.h"
#include "error.h"
#include "histogram.h"
#include "measure.h"
#include "methods.h"
#include "values.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Of the measurements that have not been read. One is read at a time. */
static pthread_mutex_t reading = PTHREAD_MUTEX_INITIALIZER;

/* The record of a channel, and which of its channels that is. */
static const ImgstatRecord *record_of(const Stats *stats, uint16_t channel, uint16_t *within)
{
    *within = stats->n_records == 1 ? channel : 0;
    return stats->records[stats->n_records == 1 ? 0 : channel];
}

static void destroy_all(ImgstatRecord **records, uint16_t n, PyObject *owner)
{
    for (uint16_t i = 0; i < n && !owner; i++)
        imgstat_record_destroy(records[i]);
}

Stats *stats_new(State *state, ImgstatRecord *const *records, uint16_t n, const ImgstatMeasure *how)
{
    Stats *const stats = PyObject_New(Stats, (PyTypeObject *)state->stats_type);
    ImgstatRecord **const kept = calloc(n, sizeof(ImgstatRecord *));
    if (!stats || !kept || !measure_copy(how, &stats->how)) {
        free(kept);
        if (stats) {
            PyObject_Free(stats);
            Py_DECREF(state->stats_type);
        }
        PyErr_NoMemory();
        return NULL;
    }
    if (records)
        memcpy(kept, records, n * sizeof(ImgstatRecord *));
    stats->records = kept;
    stats->n_records = n;
    stats->owner = stats->values = stats->array = NULL;
    stats->later = NULL;
    return stats;
}

static PyObject *stats_create(State *state, ImgstatRecord **records, uint16_t n, PyObject *owner,
                              const ImgstatMeasure *how)
{
    ImgstatKind kind;
    imgstat_record_kind(records[0], &kind);
    Stats *const stats = stats_new(state, records, n, how);
    if (!stats) {
        destroy_all(records, n, owner);
        return NULL;
    }
    stats->owner = owner;
    Py_XINCREF(owner);
    stats->sample = kind.sample;
    stats->channels = n == 1 ? kind.channels : n;
    return (PyObject *)stats;
}

PyObject *stats_of_later(State *state, HeldChain *chain, const ImagePro *image, PyObject *array,
                         const ImgstatMeasure *how)
{
    Stats *const stats = stats_new(state, NULL, 1, how);
    if (!stats) {
        chain_give(chain);
        return NULL;
    }
    stats->later = chain;
    stats->array = Py_NewRef(array);
    stats->sample = image->sample;
    stats->channels = image->channels;
    return (PyObject *)stats;
}

PyObject *stats_of_planes(State *state, ImgstatRecord **records, uint16_t n,
                          const ImgstatMeasure *how)
{
    return stats_create(state, records, n, NULL, how);
}

PyObject *stats_of_record(State *state, ImgstatRecord *record, const ImgstatMeasure *how)
{
    return stats_create(state, &record, 1, NULL, how);
}

PyObject *stats_of_owned(State *state, ImgstatRecord *record, PyObject *owner,
                         const ImgstatMeasure *how)
{
    return stats_create(state, &record, 1, owner, how);
}

static void stats_dealloc(PyObject *self)
{
    Stats *const stats = (Stats *)self;
    PyTypeObject *const type = Py_TYPE(self);
    if (stats->later) {
        Py_BEGIN_ALLOW_THREADS
        chain_give(stats->later);
        Py_END_ALLOW_THREADS
    }
    destroy_all(stats->records, stats->n_records, stats->owner);
    Py_XDECREF(stats->owner);
    Py_XDECREF(stats->values);
    Py_XDECREF(stats->array);
    free(stats->records);
    measure_release(&stats->how);
    PyObject_Free(self);
    Py_DECREF(type);
}

int stats_settle(Stats *stats)
{
    ImgstatError err;
    ImgstatResult res = IMGSTAT_OK;
    PyObject *array = NULL;
    if (!__atomic_load_n(&stats->later, __ATOMIC_ACQUIRE))
        return 0;
    Py_BEGIN_ALLOW_THREADS
    pthread_mutex_lock(&reading);
    HeldChain *const later = stats->later;
    if (later)
        res = chain_record(later, 0, &stats->how, &stats->records[0], &err);
    if (later && res == IMGSTAT_OK) {
        chain_give(later);
        array = stats->array;
        stats->array = NULL;
        __atomic_store_n(&stats->later, NULL, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&reading);
    Py_END_ALLOW_THREADS
    Py_XDECREF(array);
    if (res == IMGSTAT_OK)
        return 0;
    raise_result(state_of_type(Py_TYPE((PyObject *)stats)), res, &err);
    return -1;
}

/* ---- Attributes ------------------------------------------------------------------------------ */

/* A field of a Stats. */
typedef struct Question {
    PyObject *self;
    Field field;
} Question;

static bool narrow(ImgstatSample sample)
{
    return imgstat_sample_bytes(sample) <= 2;
}

static bool is_float(ImgstatSample sample)
{
    return strchr("fd", *imgstat_sample_name(sample)) != NULL;
}

static PyObject *sum_of(const Stats *stats, const ImgstatRecord *record, uint16_t channel,
                        const ImgstatStats *s)
{
    char text[48];
    if (is_float(stats->sample))
        return PyFloat_FromDouble(s->count ? s->sum : 0);
    imgstat_record_sum(record, channel, text);
    return s->count ? PyLong_FromString(text, NULL, 10) : PyLong_FromLong(0);
}

/* Of 64-bit integers the value itself where a sample has it: a double would round it. */
static PyObject *order_statistic(const Stats *stats, const ImgstatRecord *record, uint16_t channel,
                                 size_t k, double value)
{
    ImgstatValue exact;
    if (imgstat_sample_bytes(stats->sample) == 8 && !is_float(stats->sample) &&
        imgstat_record_exact(record, channel, k, &exact))
        return value_object(exact);
    return PyFloat_FromDouble(value);
}

static PyObject *percentiles_of(const Stats *stats, const ImgstatRecord *record, uint16_t channel)
{
    PyObject *const values = PyDict_New();
    for (size_t k = 0; values && k < stats->how.n_percentiles; k++) {
        PyObject *const key = PyFloat_FromDouble(stats->how.percentiles[k]);
        PyObject *const value = order_statistic(stats, record, channel, k,
                                                imgstat_record_percentile(record, channel, k));
        const int status = key && value ? PyDict_SetItem(values, key, value) : -1;
        Py_XDECREF(key);
        Py_XDECREF(value);
        if (status < 0) {
            Py_DECREF(values);
            return NULL;
        }
    }
    return values;
}

/* How many samples lie at an end of full scale. */
static PyObject *end_object(uint64_t count)
{
    return count == IMGSTAT_COUNT_UNKNOWN ? Py_NewRef(Py_None) : PyLong_FromUnsignedLongLong(count);
}

/* A dict is copied: the caller may change it. */
static PyObject *unpickled_value(const Stats *stats, uint16_t channel, Field field)
{
    PyObject *const value = PyTuple_GetItem(PyTuple_GetItem(stats->values, channel), field);
    return PyDict_Check(value) ? PyDict_Copy(value) : Py_NewRef(value);
}

static PyObject *answer(void *context, uint16_t channel)
{
    const Question *const question = context;
    const Stats *const stats = (Stats *)question->self;
    uint16_t within;
    if (stats->values)
        return unpickled_value(stats, channel, question->field);
    const ImgstatRecord *const record = record_of(stats, channel, &within);
    ImgstatStats s;
    imgstat_record_stats(record, within, &s);
    switch (question->field) {
    case COUNT:
        return PyLong_FromUnsignedLongLong(s.count);
    case N_NAN:
        return PyLong_FromUnsignedLongLong(s.nan);
    case N_INF:
        return PyLong_FromUnsignedLongLong(s.inf);
    case NODATA:
        return PyLong_FromUnsignedLongLong(s.nodata);
    case MASKED:
        return PyLong_FromUnsignedLongLong(s.masked);
    case MIN:
        return s.count ? value_object(s.min) : Py_NewRef(Py_None);
    case MAX:
        return s.count ? value_object(s.max) : Py_NewRef(Py_None);
    case MODE:
        return s.count ? value_object(s.mode) : Py_NewRef(Py_None);
    case MIN_AT:
        return s.count ? PyLong_FromUnsignedLongLong(s.min_at) : Py_NewRef(Py_None);
    case MAX_AT:
        return s.count ? PyLong_FromUnsignedLongLong(s.max_at) : Py_NewRef(Py_None);
    case MIN_PAGE:
        return s.count ? PyLong_FromUnsignedLong(s.min_page) : Py_NewRef(Py_None);
    case MAX_PAGE:
        return s.count ? PyLong_FromUnsignedLong(s.max_page) : Py_NewRef(Py_None);
    case MIN_FILE:
        return s.count ? PyUnicode_DecodeFSDefault(s.min_file) : Py_NewRef(Py_None);
    case MAX_FILE:
        return s.count ? PyUnicode_DecodeFSDefault(s.max_file) : Py_NewRef(Py_None);
    case SUM:
        return sum_of(stats, record, within, &s);
    case MEAN:
        return PyFloat_FromDouble(s.mean);
    case VARIANCE:
        return PyFloat_FromDouble(s.variance);
    case STDDEV:
        return PyFloat_FromDouble(s.stddev);
    case MEDIAN:
        return order_statistic(stats, record, within, IMGSTAT_MEDIAN, s.median);
    case ENTROPY:
        return PyFloat_FromDouble(s.entropy);
    case LOW:
        return end_object(s.low);
    case HIGH:
        return end_object(s.high);
    case SKEWNESS:
        return PyFloat_FromDouble(s.skewness);
    case KURTOSIS:
        return PyFloat_FromDouble(s.kurtosis);
    case PERCENTILES:
        return percentiles_of(stats, record, within);
    case HISTOGRAM:
        return histogram_object(question->self, record, within);
    case FIELDS:
        break;
    }
    return NULL;
}

/* What has to be asked for, and was not. */
static const char *missing(const Stats *stats, Field field)
{
    const ImgstatMeasure *const how = &stats->how;
    const bool free = narrow(stats->sample);
    if (field == MEDIAN && !free && !how->median)
        return "median=True";
    if (field == MODE && !free && !how->mode)
        return "mode=True";
    if ((field == SKEWNESS || field == KURTOSIS) && !how->shape)
        return "shape=True";
    if ((field == HISTOGRAM || field == ENTROPY) && !how->histogram)
        return "bins=256";
    return NULL;
}

PyObject *stats_field(PyObject *self, uint16_t channel, Field field)
{
    Question question = {self, field};
    return missing((Stats *)self, field) ? Py_NewRef(Py_None) : answer(&question, channel);
}

static PyObject *get_field(PyObject *self, void *closure)
{
    Stats *const stats = (Stats *)self;
    Question question = {self, *(const Field *)closure};
    const char *const lacks = missing(stats, question.field);
    if (stats_settle(stats) < 0)
        return NULL;
    if (!lacks)
        return each_channel(stats->channels, answer, &question);
    PyErr_Format(PyExc_AttributeError, "this was not measured of %s samples: ask for it by %s",
                 imgstat_sample_name(stats->sample), lacks);
    return NULL;
}

static PyObject *get_channels(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromLong(((Stats *)self)->channels);
}

static PyObject *stats_repr(PyObject *self)
{
    static const Field shown[] = {COUNT, MIN, MAX, MEAN, STDDEV};
    PyObject *value[5] = {NULL};
    bool good = true;
    for (int i = 0; i < 5 && good; i++) {
        value[i] = get_field(self, (void *)(uintptr_t)&shown[i]);
        good = value[i] != NULL;
    }
    PyObject *const text =
        good ? PyUnicode_FromFormat("imgstat.Stats(count=%R, min=%R, max=%R, mean=%R, std=%R)",
                                    value[0], value[1], value[2], value[3], value[4])
             : NULL;
    for (int i = 0; i < 5; i++)
        Py_XDECREF(value[i]);
    return text;
}

/* ---- The type -------------------------------------------------------------------------------- */

PyDoc_STRVAR(
    stats_doc,
    "Statistics of an image: those of docs/statistics.md.\n\n"
    "Each attribute is one value for an image of one channel, else a tuple with one for "
    "each channel.\nValues are over the samples that count: finite, not nodata, not "
    "masked. Where there are none, sums are 0,\nother floats nan, and extrema and positions None. "
    "Reading what was not measured is an\nAttributeError that names what to ask for. Pickles and "
    "copies; it never changes.");

static const Field fields[] = {COUNT,  N_NAN,    N_INF,    NODATA,      MASKED,   MIN,      MAX,
                               MIN_AT, MAX_AT,   MIN_PAGE, MAX_PAGE,    MIN_FILE, MAX_FILE, SUM,
                               MEAN,   VARIANCE, STDDEV,   MEDIAN,      MODE,     ENTROPY,  LOW,
                               HIGH,   SKEWNESS, KURTOSIS, PERCENTILES, HISTOGRAM};

#define FIELD(name, field, doc)                                       \
    {                                                                 \
        name, get_field, NULL, doc, (void *)(uintptr_t)&fields[field] \
    }

static PyGetSetDef stats_getset[] = {
    {"channels", get_channels, NULL, "Number of channels.", NULL},
    FIELD("count", COUNT, "Samples that count."),
    FIELD("nan", N_NAN, "Samples that are not a number."),
    FIELD("inf", N_INF, "Infinite samples."),
    FIELD("nodata", NODATA, "Samples that have the nodata value."),
    FIELD("masked", MASKED, "Samples where the mask is 0."),
    FIELD("min", MIN, "Smallest value."),
    FIELD("max", MAX, "Largest value."),
    FIELD("min_at", MIN_AT,
          "Index of the first pixel with the smallest value: row * width + "
          "column."),
    FIELD("max_at", MAX_AT, "Index of the first pixel with the largest value."),
    FIELD("min_page", MIN_PAGE, "Page that this pixel is on, counted from 0; 0 of arrays."),
    FIELD("max_page", MAX_PAGE, "Page with the first pixel with the largest value."),
    FIELD("min_file", MIN_FILE, "Name of the file that has the smallest value; '' of arrays."),
    FIELD("max_file", MAX_FILE, "Name of the file that has the largest value."),
    FIELD("sum", SUM,
          "Sum: an exact int of integers; of floats a float, as docs/float-sums.md says."),
    FIELD("mean", MEAN, "Mean."),
    FIELD("var", VARIANCE, "Variance: divided by count - ddof."),
    FIELD("std", STDDEV, "Standard deviation."),
    FIELD("median", MEDIAN, "Median; of types beyond 16 bits with median=True."),
    FIELD("mode", MODE,
          "Smallest of the most frequent values; of types beyond 16 bits with "
          "mode=True."),
    FIELD("entropy", ENTROPY, "Entropy of the histogram in bits."),
    FIELD("low", LOW,
          "How many samples lie at the low end of full scale. None of floats; of types beyond 16 "
          "bits known with median=True."),
    FIELD("high", HIGH, "The same at the high end."),
    FIELD("skewness", SKEWNESS, "Skewness; with shape=True."),
    FIELD("kurtosis", KURTOSIS, "Excess kurtosis, 0 of a normal distribution; with shape=True."),
    FIELD("percentiles", PERCENTILES,
          "A dict of the percentiles that were asked for: "
          "s.percentiles[99]."),
    FIELD("histogram", HISTOGRAM,
          "imgstat.Histogram; of types beyond 16 bits with bins= or "
          "range=."),
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef stats_methods[] = {
    HTML_METHOD,
    {"_of", stats_unpickle, METH_VARARGS | METH_CLASS, "Makes Stats of what was pickled."},
    COPY_METHODS,
    {"__reduce__", stats_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot stats_slots[] = {
    {Py_tp_doc, (void *)(uintptr_t)stats_doc},
    {Py_tp_dealloc, stats_dealloc},
    {Py_tp_repr, stats_repr},
    {Py_tp_getset, stats_getset},
    {Py_tp_methods, stats_methods},
    {0, NULL},
};

PyType_Spec stats_spec = {
    .name = "imgstat.Stats",
    .basicsize = sizeof(Stats),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = stats_slots,
};
