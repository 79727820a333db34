/* SPDX-License-Identifier: MIT */
/* transform_array.c: maps the images of an array, in place where their layout allows. */
#include "transform_array.h"
#include "array_out.h"
#include "device.h"
#include "driver.h"
#include "error.h"
#include "method.h"
#include "work.h"

#include <string.h>

/* What is one image for the library. */
typedef enum Way {
    WAY_IMAGES, /* an image with its channels; copied where they are not interleaved */
    WAY_PLANES, /* each channel, where nothing combines them */
    WAY_STACKS  /* all channels as one, below each other: what one map for all of them is */
} Way;

/* A call. */
typedef struct Call {
    State *state;
    const TransformWork *work;
    ArrayImages from, to, reference;
    ArrayScratch from_scratch, to_scratch, reference_scratch;
    Way way;
    const char *device;
    unsigned threads;
    HeldChain *chain; /* NULL: the calls of the library wait */
    Work run;
} Call;

/* ---- The way --------------------------------------------------------------------------------- */

static bool maps_each_channel(const ImgstatMethod *method, const ArrayImages *images)
{
    const bool rgb = images->channels == 3;
    switch (method->channels) {
    case IMGSTAT_CHANNELS_DEFAULT:
        return method->transform == IMGSTAT_MATCH ||
               ((method->transform == IMGSTAT_EQUALIZE || method->transform == IMGSTAT_CLAHE) &&
                !rgb);
    case IMGSTAT_EACH:
        return true;
    default:
        return false;
    }
}

static bool maps_all_alike(const ImgstatMethod *method)
{
    return method->transform != IMGSTAT_CLAHE &&
           (method->channels == IMGSTAT_JOINT ||
            (method->channels == IMGSTAT_CHANNELS_DEFAULT && method->transform != IMGSTAT_MATCH &&
             method->transform != IMGSTAT_EQUALIZE));
}

static bool planes_adjoin(const ArrayImages *images)
{
    return images->height > 0 && images->channel_step == images->height * images->row_step &&
           (uint64_t)images->height * images->channels <= UINT32_MAX;
}

static Way way_of(const Call *call)
{
    const ArrayImages *const from = &call->from, *const to = &call->to;
    const ImgstatMethod *const method = call->work->method;
    const bool matches = call->work->reference != NULL;
    if (!method || from->alpha >= 0 || from->layout != ARRAY_PLANAR || to->layout != ARRAY_PLANAR ||
        (matches && call->reference.layout != ARRAY_PLANAR))
        return WAY_IMAGES;
    if (maps_each_channel(method, from))
        return WAY_PLANES;
    return maps_all_alike(method) && from->mask.n_dims == 0 && planes_adjoin(from) &&
                   planes_adjoin(to)
               ? WAY_STACKS
               : WAY_IMAGES;
}

static int set_way(Call *call)
{
    call->way = way_of(call);
    if (call->way != WAY_IMAGES || call->from.view.memory != IMGSTAT_CUDA ||
        (call->from.layout == ARRAY_INTERLEAVED && call->to.layout == ARRAY_INTERLEAVED))
        return 0;
    PyErr_SetString(PyExc_ValueError,
                    "this transform combines the channels of a pixel, which lie apart in GPU "
                    "memory: make the array contiguous with the channels last, or choose "
                    "channels=\"each\" or \"joint\"");
    return -1;
}

/* ---- The result ------------------------------------------------------------------------------ */

static ImgstatSample output_sample(const Call *call)
{
    return call->work->transfer ? imgstat_transfer_output(call->work->transfer, NULL)
                                : method_output(call->work->method, call->from.view.sample);
}

/* The first address of an array and the one behind its last. */
static void extent(const ArrayView *view, uintptr_t *first, uintptr_t *end)
{
    *first = view->data;
    *end = view->data + imgstat_sample_bytes(view->sample);
    for (int i = 0; i < view->n_dims; i++) {
        const int64_t span = (view->shape[i] - 1) * view->strides[i];
        if (view->shape[i] == 0)
            *end = *first = view->data, i = view->n_dims;
        else if (span < 0)
            *first += (uintptr_t)span;
        else
            *end += (uintptr_t)span;
    }
}

static bool same_place(const ArrayView *a, const ArrayView *b)
{
    return a->data == b->data && a->sample == b->sample &&
           memcmp(a->strides, b->strides, (size_t)a->n_dims * sizeof a->strides[0]) == 0;
}

static bool overlap(const ArrayView *a, const ArrayView *b)
{
    uintptr_t a_first, a_end, b_first, b_end;
    extent(a, &a_first, &a_end);
    extent(b, &b_first, &b_end);
    return a_first < b_end && b_first < a_end;
}

static uint64_t step_of(const ArrayView *view, int axis)
{
    const int64_t stride = view->strides[axis];
    return stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride;
}

/* Whether elements of an array share memory: some steps along one axis lead where steps along
 * another one do. */
static bool overlaps_itself(const ArrayView *view)
{
    for (int i = 0; i < view->n_dims; i++)
        if (view->shape[i] == 0)
            return false;
    for (int i = 0; i < view->n_dims; i++)
        for (int j = 0; view->shape[i] > 1 && j < view->n_dims; j++) {
            const uint64_t step = step_of(view, i), other = step_of(view, j);
            uint64_t divisor = step;
            for (uint64_t rest = other, next; rest > 0; rest = next) {
                next = divisor % rest;
                divisor = rest;
            }
            if (step < imgstat_sample_bytes(view->sample) ||
                (j != i && (uint64_t)view->shape[j] > step / divisor &&
                 (uint64_t)view->shape[i] > other / divisor))
                return true;
        }
    return false;
}

static int check_out(const Call *call)
{
    const ArrayView *const from = &call->from.view, *const to = &call->to.view;
    const ImgstatSample sample = output_sample(call);
    if (!array_same_shape(from, to))
        PyErr_SetString(PyExc_ValueError, "out should have the shape of the array");
    else if (to->sample != sample)
        PyErr_Format(PyExc_TypeError, "out is of %s: it should be of %s", sample_dtype(to->sample),
                     sample_dtype(sample));
    else if (to->readonly)
        PyErr_SetString(PyExc_ValueError, "out is read-only");
    else if (overlaps_itself(to))
        PyErr_SetString(PyExc_ValueError,
                        "out overlaps itself: each element should have memory of its own");
    else if (to->memory != from->memory || to->device_id != from->device_id)
        PyErr_SetString(PyExc_ValueError, "out should be in the same memory as the array");
    else if (overlap(from, to) && !same_place(from, to))
        PyErr_SetString(PyExc_ValueError,
                        "out overlaps the array: it should be the same, or memory of its own");
    else if (overlap(&call->from.mask, to) || overlap(&call->reference.view, to))
        PyErr_SetString(PyExc_ValueError,
                        "out overlaps the mask or the reference: it should be memory of its own");
    else
        return 0;
    return -1;
}

/* Of torch's memory, which its graphs and its own streams know. */
static PyObject *new_tensor(PyObject *array, ImgstatSample sample)
{
    PyObject *const torch = PyImport_ImportModule("torch");
    PyObject *const shape = torch ? PyObject_GetAttrString(array, "shape") : NULL;
    PyObject *const type = shape ? PyObject_GetAttrString(torch, sample_dtype(sample)) : NULL;
    PyObject *const words = type ? Py_BuildValue("{sO}", "dtype", type) : NULL;
    PyObject *const function = words ? PyObject_GetAttrString(array, "new_empty") : NULL;
    PyObject *const args = function ? PyTuple_Pack(1, shape) : NULL;
    PyObject *const tensor = args ? PyObject_Call(function, args, words) : NULL;
    Py_XDECREF(args);
    Py_XDECREF(function);
    Py_XDECREF(words);
    Py_XDECREF(type);
    Py_XDECREF(shape);
    Py_XDECREF(torch);
    return tensor;
}

static PyObject *new_result(const Call *call, PyObject *array, const ArrayOptions *options)
{
    const ArrayView *const from = &call->from.view;
    const ImgstatSample sample = output_sample(call);
    if (from->memory != IMGSTAT_CUDA)
        return array_allocate(call->state, sample, from->n_dims, from->shape);
    if (from->kind == ARRAY_TORCH && !option_given(options->stream))
        return new_tensor(array, sample);
    return array_allocate_cuda(call->state, sample, from->n_dims, from->shape, from->device_id,
                               from->stream);
}

/* The stream of an array on a GPU, for others that the same call takes; else None. */
static PyObject *stream_of(const ArrayView *view)
{
    return view->memory == IMGSTAT_CUDA ? PyLong_FromVoidPtr(view->stream) : Py_NewRef(Py_None);
}

/* Opens the result: `out` with a new reference, or a new one. */
static PyObject *open_result(Call *call, PyObject *array, PyObject *out,
                             const ArrayOptions *options)
{
    PyObject *const stream = stream_of(&call->from.view);
    const ArrayOptions same = {.axes = options->axes, .stream = stream};
    PyObject *const result = !stream             ? NULL
                             : option_given(out) ? Py_NewRef(out)
                                                 : new_result(call, array, options);
    int status = -1;
    if (result && array_images_open(call->state, result, "out", &same, &call->to) == 0)
        status = check_out(call);
    Py_XDECREF(stream);
    if (status == 0)
        return result;
    Py_XDECREF(result);
    return NULL;
}

/* ---- Images ---------------------------------------------------------------------------------- */

/* Describes part c of image i. */
static ImgstatResult describe(const Call *call, const ArrayImages *images, size_t i, uint16_t c,
                              bool fill, ArrayScratch *scratch, ImagePro *out, ImgstatError *err)
{
    if (call->way == WAY_IMAGES)
        return array_image(images, i, fill, scratch, out, err);
    const ImgstatResult res = array_plane(images, i, c, scratch, out, err);
    if (res == IMGSTAT_OK && call->way == WAY_STACKS)
        out->height *= images->channels;
    return res;
}

/* n: images that a chain maps together. */
static ImgstatResult map(const Call *call, ImgstatDevice *device, size_t n, const ImagePro *from,
                         const ImagePro *reference, ImagePro *to, ImgstatError *err)
{
    if (from->width == 0 || from->height == 0)
        return IMGSTAT_OK;
    if (call->chain)
        return chain_run(call->chain, &(Series){from, n, call->from.image_step},
                         &(Series){to, n, call->to.image_step}, call->from.view.stream, err);
    if (call->work->transfer)
        return imgstat_transfer_apply(device, call->work->transfer, from, call->from.alpha, to,
                                      err);
    return imgstat_image_transform_to(device, call->work->method, from, call->from.alpha, reference,
                                      to, err);
}

/* Maps images i to i + n - 1. */
static ImgstatResult transform_images(Call *call, ImgstatDevice *device, size_t i, size_t n,
                                      ImgstatError *err)
{
    const uint16_t parts = call->way == WAY_PLANES ? call->from.channels : 1;
    const bool matches = call->work->reference != NULL;
    ImgstatResult res = IMGSTAT_OK;
    for (uint16_t c = 0; c < parts && res == IMGSTAT_OK; c++) {
        ImagePro from, to, reference;
        res = describe(call, &call->from, i, c, true, &call->from_scratch, &from, err);
        if (res == IMGSTAT_OK)
            res = describe(call, &call->to, i, c, false, &call->to_scratch, &to, err);
        if (res == IMGSTAT_OK && matches) /* is the same every time, where it is copied as well */
            res = describe(call, &call->reference, 0, c, i == 0, &call->reference_scratch,
                           &reference, err);
        if (res == IMGSTAT_OK)
            res = map(call, device, n, &from, matches ? &reference : NULL, &to, err);
    }
    return res == IMGSTAT_OK ? array_image_store(&call->to, i, &call->to_scratch, err) : res;
}

/* Finds a chain for images on a GPU, if the library has one for the method: then nothing waits. */
static ImgstatResult find_chain(Call *call, ImgstatError *err)
{
    ImagePro like;
    if (!call->work->method || call->from.view.memory != IMGSTAT_CUDA || call->from.n == 0)
        return IMGSTAT_OK;
    const ImgstatResult res = describe(call, &call->from, 0, 0, false, NULL, &like, err);
    if (res != IMGSTAT_OK || like.width == 0 || like.height == 0)
        return res;
    return chain_take(call->state, call->work->method, &like, 1, call->from.alpha,
                      call->from.view.stream, &call->chain, err);
}

/* How many images one call maps: all of them where nothing is copied and they have no masks. */
static size_t at_once(const Call *call)
{
    return call->chain && call->from.view.memory == IMGSTAT_CUDA && call->from.mask.n_dims == 0
               ? call->from.n
               : 1;
}

/* Maps all images, without the interpreter's lock. */
static ImgstatResult map_images(Call *call, ImgstatDevice *device, ImgstatError *err)
{
    const ArrayView *const view = &call->from.view;
    ImgstatResult res = IMGSTAT_OK;
    if (view->memory == IMGSTAT_CUDA && !call->chain)
        res = driver_wait(view->device_id, view->stream, err);
    const size_t each = at_once(call);
    for (size_t i = 0; i < call->from.n && res == IMGSTAT_OK; i += each) {
        res = transform_images(call, device, i, each, err);
        if (res == IMGSTAT_OK && work_cancelled(&call->run))
            res = IMGSTAT_ERR_CANCELLED;
    }
    return res;
}

/* 0, or -1 with an exception. */
static int transform_all(Call *call)
{
    ImgstatError err;
    ImgstatDevice *device = NULL;
    call->from.work = call->to.work = call->reference.work = &call->run;
    chain_cancel(call->chain, &call->run);
    work_begin(&call->run, NULL);
    ImgstatResult res = call->work->chain ? IMGSTAT_OK : find_chain(call, &err);
    if (res == IMGSTAT_OK && !call->chain) {
        work_end(&call->run);
        device = device_take_for(call->state, &call->from.view, call->device, call->threads);
        if (!device)
            return -1;
        imgstat_device_cancel(device, work_cancelled, &call->run);
        work_begin(&call->run, NULL);
    }
    if (res == IMGSTAT_OK)
        res = map_images(call, device, &err);
    if (call->work->chain)
        chain_cancel(call->chain, NULL);
    else
        chain_give(call->chain);
    device_give(call->state, device);
    work_end(&call->run);
    if (res != IMGSTAT_OK)
        raise_result(call->state, res, &err);
    return res == IMGSTAT_OK ? 0 : -1;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* The reference is one image, with the axes of the array but for those of a batch. */
static int open_reference(Call *call, const ArrayOptions *options)
{
    const ArrayView *const view = &call->reference.view;
    PyObject *const stream = stream_of(&call->from.view);
    ArrayOptions same = {.axes = options->axes, .stream = stream, .bits = options->bits};
    PyObject *axes = NULL;
    if (!stream)
        return -1;
    if (call->from.has_batch && option_given(options->axes)) {
        char letters[ARRAY_DIMS + 1] = "";
        const char *const all = PyUnicode_AsUTF8AndSize(options->axes, NULL);
        for (size_t i = 0, n = 0; all && all[i]; i++)
            if (strchr("HWC", all[i]))
                letters[n++] = all[i];
        same.axes = axes = PyUnicode_FromString(letters);
    }
    const int status = PyErr_Occurred()
                           ? -1
                           : array_images_open(call->state, call->work->reference, "the reference",
                                               &same, &call->reference);
    Py_XDECREF(axes);
    Py_DECREF(stream);
    if (status < 0)
        return -1;
    if (view->memory == call->from.view.memory && view->device_id == call->from.view.device_id)
        return 0;
    PyErr_SetString(PyExc_ValueError, "the reference should be in the same memory as the array");
    return -1;
}

static void call_end(Call *call)
{
    array_scratch_release(&call->from_scratch);
    array_scratch_release(&call->to_scratch);
    array_scratch_release(&call->reference_scratch);
    array_images_close(&call->reference);
    array_images_close(&call->to);
    array_images_close(&call->from);
}

PyObject *transform_array(State *state, PyObject *array, PyObject *out, const TransformWork *work,
                          const ArrayOptions *options, const RunOptions *run)
{
    Call call = {.state = state, .work = work, .chain = work->chain};
    PyObject *result = NULL;
    if (PyBytes_Check(array)) /* what imgstat.stats takes for a file */
        PyErr_SetString(
            PyExc_TypeError,
            "bytes are a file: imgstat.open(x).read() has its pixels, and memoryview(x) "
            "takes the bytes as samples");
    else if (run_read(run, &call.device, &call.threads) == 0 &&
             array_images_open(state, array, "the array", options, &call.from) == 0 &&
             device_check(&call.from.view, call.device) == 0 &&
             (!work->reference || open_reference(&call, options) == 0))
        result = open_result(&call, array, out, options);
    if (result && (set_way(&call) < 0 || transform_all(&call) < 0)) {
        Py_DECREF(result);
        result = NULL;
    }
    const ArrayKind kind = call.from.view.kind;
    const bool converts =
        result && !option_given(out) && Py_IS_TYPE(result, (PyTypeObject *)state->array_type);
    call_end(&call);
    return converts ? array_as(result, kind) : result;
}

int transform_chain(State *state, PyObject *array, const ImgstatMethod *method,
                    const ArrayOptions *options, const RunOptions *run, HeldChain **out)
{
    const TransformWork work = {.method = method};
    Call call = {.state = state, .work = &work};
    ImgstatError err;
    ImgstatResult res = IMGSTAT_ERR_ARG;
    char name[24] = "cpu";
    *out = NULL;
    if (run_read(run, &call.device, &call.threads) == 0 &&
        array_images_open(state, array, "the example", options, &call.from) == 0) {
        const ArrayView *const view = &call.from.view;
        ImagePro like;
        call.to = call.from; /* results are laid out alike */
        if (view->memory == IMGSTAT_CUDA)
            PyOS_snprintf(name, sizeof name, "cuda:%d", (int)view->device_id);
        if (set_way(&call) == 0) {
            Py_BEGIN_ALLOW_THREADS
            res = describe(&call, &call.from, 0, 0, false, &call.from_scratch, &like, &err);
            if (res == IMGSTAT_OK)
                res = chain_make(name, call.threads, method, &like, call.from.alpha, out, &err);
            Py_END_ALLOW_THREADS
            if (res != IMGSTAT_OK)
                raise_result(state, res, &err);
        }
        call.to = (ArrayImages){.n = 0};
    }
    call_end(&call);
    return res == IMGSTAT_OK ? 0 : -1;
}
