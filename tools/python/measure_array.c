/* SPDX-License-Identifier: MIT */
/* measure_array.c: measures the images of an array, where they are, one after the other. */
#include "measure_array.h"
#include "chains.h"
#include "device.h"
#include "driver.h"
#include "error.h"
#include "work.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK_MOST = 16384, CHUNK_SAMPLES = 16 << 20 };

/* A call: the images of an array, and what to measure. */
typedef struct Call {
    State *state;
    ArrayImages images;
    ImgstatMeasure how;
    const char *device; /* NULL: where the pixels are */
    unsigned threads;
    uint16_t planes; /* records of an image */
    Work work;
    ImgstatRecord **records; /* images.n * planes; of a merging call 2: the sum, and an image's */
} Call;

/* Measures image i into `planes` records. */
static ImgstatResult measure_image(Call *call, ImgstatDevice *device, size_t i,
                                   ArrayScratch *scratch, ImgstatRecord **records,
                                   ImgstatError *err)
{
    ImgstatResult res = IMGSTAT_OK;
    for (uint16_t c = 0; c < call->planes && res == IMGSTAT_OK; c++) {
        ImagePro image;
        res = call->planes > 1 ? array_plane(&call->images, i, c, scratch, &image, err)
                               : array_image(&call->images, i, true, scratch, &image, err);
        if (res == IMGSTAT_OK)
            res = imgstat_measure_image(device, &image, &call->how, &records[c], err);
    }
    return res;
}

/* Measures image i and adds it to the first record. */
static ImgstatResult merge_image(Call *call, ImgstatDevice *device, size_t i, ArrayScratch *scratch,
                                 ImgstatError *err)
{
    ImgstatRecord **const records = call->records;
    ImgstatResult res = measure_image(call, device, i, scratch, &records[i > 0], err);
    if (res == IMGSTAT_OK && i > 0) {
        res = imgstat_record_merge(records[0], records[1], err);
        imgstat_record_destroy(records[1]);
        records[1] = NULL;
    }
    return res;
}

/* Describes the images of a chunk and measures them together. */
static ImgstatResult measure_chunk(Call *call, ImgstatDevice *device, size_t first, size_t n,
                                   ImagePro *images, ImgstatError *err)
{
    ArrayScratch unused = {NULL, NULL};
    ImgstatResult res = IMGSTAT_OK;
    for (size_t i = 0; i < n && res == IMGSTAT_OK; i++)
        for (uint16_t c = 0; c < call->planes && res == IMGSTAT_OK; c++) {
            ImagePro *const image = &images[i * call->planes + c];
            res = call->planes > 1
                      ? array_plane(&call->images, first + i, c, &unused, image, err)
                      : array_image(&call->images, first + i, true, &unused, image, err);
        }
    if (res == IMGSTAT_OK)
        res = imgstat_measure_images(device, images, n * call->planes, &call->how,
                                     &call->records[first * call->planes], err);
    return res;
}

/* Returns how many images are measured together; 1 where they are copied one by one. On the
 * processor so many as take about 0.01 s. */
static size_t chunk_of(const Call *call)
{
    const ArrayImages *const images = &call->images;
    const uint64_t samples = (uint64_t)images->width * images->height * images->channels + 1;
    const uint64_t most =
        images->view.memory == IMGSTAT_CUDA ? CHUNK_MOST : CHUNK_SAMPLES / samples;
    const size_t n = most < CHUNK_MOST ? (size_t)most : CHUNK_MOST;
    if (call->how.mergeable || !array_in_place(images, call->planes > 1) || n < 2)
        return 1;
    return n < images->n ? n : images->n;
}

static ImgstatResult measure_images(Call *call, ImgstatDevice *device, ImgstatError *err)
{
    const size_t chunk = chunk_of(call), n = call->images.n;
    ArrayScratch scratch = {NULL, NULL};
    ImgstatResult res = IMGSTAT_OK;
    ImagePro *const images = chunk > 1 ? malloc(chunk * call->planes * sizeof *images) : NULL;
    for (size_t i = 0; i < n && res == IMGSTAT_OK; i += images ? chunk : 1) {
        res = images ? measure_chunk(call, device, i, n - i < chunk ? n - i : chunk, images, err)
              : call->how.mergeable
                  ? merge_image(call, device, i, &scratch, err)
                  : measure_image(call, device, i, &scratch, &call->records[i * call->planes], err);
        if (res == IMGSTAT_OK && work_cancelled(&call->work))
            res = IMGSTAT_ERR_CANCELLED;
    }
    free(images);
    array_scratch_release(&scratch);
    return res;
}

/* Measures all images. 0, or -1 with an exception. */
static int measure_all(Call *call)
{
    const ArrayView *const view = &call->images.view;
    ImgstatDevice *const device = device_take_for(call->state, view, call->device, call->threads);
    if (!device)
        return -1;
    ImgstatError err;
    ImgstatResult res = IMGSTAT_OK;
    imgstat_device_cancel(device, work_cancelled, &call->work);
    work_begin(&call->work, NULL);
    if (view->memory == IMGSTAT_CUDA)
        res = driver_wait(view->device_id, view->stream, &err);
    if (res == IMGSTAT_OK)
        res = measure_images(call, device, &err);
    device_give(call->state, device);
    work_end(&call->work);
    if (res != IMGSTAT_OK)
        raise_result(call->state, res, &err);
    return res == IMGSTAT_OK ? 0 : -1;
}

/* SIZE_MAX - 1: more than memory holds, of images that share theirs. */
static size_t n_records(const Call *call)
{
    size_t n;
    if (call->how.mergeable)
        return 2;
    return __builtin_mul_overflow(call->images.n, call->planes, &n) ? SIZE_MAX - 1 : n;
}

static void call_end(Call *call)
{
    for (size_t i = 0; call->records && i < n_records(call); i++)
        imgstat_record_destroy(call->records[i]);
    free(call->records);
    array_images_close(&call->images);
    measure_release(&call->how);
}

/* Opens the array. options: NULL for a record that merges. Ends by call_end, after a failure too.
 */
static int call_begin(Call *call, State *state, PyObject *array, const ArrayOptions *array_options,
                      const MeasureOptions *options, const RunOptions *run)
{
    *call = (Call){.state = state, .planes = 1};
    if (run_read(run, &call->device, &call->threads) < 0 ||
        array_images_open(state, array, "the array", array_options, &call->images) < 0 ||
        device_check(&call->images.view, call->device) < 0)
        return -1;
    call->images.work = &call->work;
    const bool narrow = imgstat_sample_bytes(call->images.view.sample) <= 2;
    if (!options)
        call->how.mergeable = true;
    else if (measure_read(options, narrow, &call->how) < 0)
        return -1;
    if (options && call->images.layout == ARRAY_PLANAR)
        call->planes = call->images.channels;
    call->records = calloc(n_records(call) + 1, sizeof(ImgstatRecord *));
    if (call->records)
        return 0;
    PyErr_NoMemory();
    return -1;
}

/* Makes the Stats of image i. */
static PyObject *stats_of_image(Call *call, size_t i)
{
    ImgstatRecord **const records = &call->records[i * call->planes];
    PyObject *const stats = call->planes == 1
                                ? stats_of_record(call->state, records[0], &call->how)
                                : stats_of_planes(call->state, records, call->planes, &call->how);
    memset(records, 0, call->planes * sizeof(ImgstatRecord *)); /* they are taken over */
    return stats;
}

static PyObject *call_stats(Call *call)
{
    if (!call->images.has_batch)
        return stats_of_image(call, 0);
    PyObject *const list = PyList_New((Py_ssize_t)call->images.n);
    for (size_t i = 0; list && i < call->images.n; i++) {
        PyObject *const stats = stats_of_image(call, i);
        if (!stats || PyList_SetItem(list, (Py_ssize_t)i, stats) < 0) {
            Py_DECREF(list);
            return NULL;
        }
    }
    return list;
}

/* Whether the first read of an image answers what is asked; of f64 another one may be needed for a
 * deviation whose square is no double. */
static bool read_once(const ImgstatMeasure *how, ImgstatSample sample)
{
    return imgstat_sample_bytes(sample) <= 2 ||
           (sample != IMGSTAT_F64 && !how->n_percentiles && !how->median && !how->mode &&
            !how->shape && !how->histogram);
}

/* Whether a batch on a GPU is measured now, and its statistics made when they are asked for. A
 * record of 16 bits may be larger than its image, and all threads are faster at their statistics.
 */
static bool one_launch(const ArrayImages *images)
{
    return images->n > 1 && imgstat_sample_bytes(images->view.sample) != 2 &&
           images->image_step % 16 == 0;
}

/* Enqueues the measurement of an image, or of a batch, on a GPU, where no more is needed: *chain,
 * and then nothing waits. */
static ImgstatResult measure_later(Call *call, ImagePro *image, HeldChain **chain,
                                   ImgstatError *err)
{
    const ArrayImages *const images = &call->images;
    const ArrayView *const view = &images->view;
    ArrayScratch unused = {NULL, NULL};
    *chain = NULL;
    if (view->memory != IMGSTAT_CUDA || (images->has_batch && !one_launch(images)) ||
        call->planes > 1 || images->mask.n_dims > 0 || images->width == 0 || images->height == 0 ||
        !read_once(&call->how, view->sample))
        return IMGSTAT_OK;
    ImgstatResult res = array_image(images, 0, true, &unused, image, err);
    if (res == IMGSTAT_OK)
        res = chain_take(call->state, NULL, image, images->n, -1, view->stream, chain, err);
    if (res == IMGSTAT_OK && *chain)
        res = chain_measure(*chain, &(Series){image, images->n, images->image_step}, err);
    if (res != IMGSTAT_OK) {
        chain_give(*chain);
        *chain = NULL;
    }
    return res;
}

/* Measures now, or later. */
static PyObject *call_measure(Call *call, PyObject *array)
{
    ImagePro image;
    HeldChain *chain;
    ImgstatError err;
    ImgstatResult res;
    Py_BEGIN_ALLOW_THREADS
    res = measure_later(call, &image, &chain, &err);
    Py_END_ALLOW_THREADS
    if (res != IMGSTAT_OK)
        return raise_result(call->state, res, &err);
    if (chain && call->images.has_batch)
        return stats_batch_of_later(call->state, chain, call->images.n, array, &call->how);
    if (chain)
        return stats_of_later(call->state, chain, &image, array, &call->how);
    return measure_all(call) == 0 ? call_stats(call) : NULL;
}

PyObject *stats_of_array(State *state, PyObject *array, const ArrayOptions *array_options,
                         const MeasureOptions *options, const RunOptions *run)
{
    Call call;
    PyObject *stats = NULL;
    if (call_begin(&call, state, array, array_options, options, run) == 0)
        stats = call_measure(&call, array);
    call_end(&call);
    return stats;
}

/* The record of no images. */
static ImgstatRecord *empty_record(const Call *call)
{
    const ArrayImages *const images = &call->images;
    const ImgstatKind kind = {.sample = images->view.sample,
                              .bits = images->bits,
                              .channels = images->channels,
                              .alpha = -1};
    ImgstatRecord *record = NULL;
    ImgstatError err;
    const ImgstatResult res = imgstat_record_create(&kind, &record, &err);
    if (res != IMGSTAT_OK)
        raise_result(call->state, res, &err);
    return record;
}

ImgstatRecord *measure_array(State *state, PyObject *array, const ArrayOptions *array_options,
                             const RunOptions *run)
{
    Call call;
    ImgstatRecord *record = NULL;
    if (call_begin(&call, state, array, array_options, NULL, run) == 0 && measure_all(&call) == 0) {
        record = call.images.n ? call.records[0] : empty_record(&call);
        call.records[0] = NULL;
    }
    call_end(&call);
    return record;
}
