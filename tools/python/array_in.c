/* SPDX-License-Identifier: MIT */
/* array_in.c: finds the images of an array, and which of them need not be copied. */
#include "array_in.h"
#include "values.h"

#include <stdlib.h>
#include <string.h>

const Keyword array_keywords[] = {
    {"axes", offsetof(ArrayOptions, axes)},     {"mask", offsetof(ArrayOptions, mask)},
    {"nodata", offsetof(ArrayOptions, nodata)}, {"bits", offsetof(ArrayOptions, bits)},
    {"stream", offsetof(ArrayOptions, stream)}, {NULL, 0},
};

/* ---- Axes ------------------------------------------------------------------------------------ */

/* The axis of each role; -1: there is none. */
typedef struct Axes {
    int batch, row, pixel, channel;
} Axes;

/* The letters of an array that come without. NULL: an exception. */
static const char *usual_axes(const ArrayView *view, const char *what)
{
    switch (view->n_dims) {
    case 1:
        return "W";
    case 2:
        return "HW";
    case 3:
        if (view->shape[2] <= 4)
            return "HWC";
    }
    PyErr_Format(PyExc_ValueError,
                 "%s has %d axes: say which is which, such as axes=\"HWC\", \"CHW\", \"NHW\" or "
                 "\"NHWC\" (H rows, W columns, C channels, N images)",
                 what, view->n_dims);
    return NULL;
}

static int read_axes(const ArrayView *view, const char *what, PyObject *letters, Axes *out)
{
    *out = (Axes){-1, -1, -1, -1};
    const char *text;
    if (text_read(letters, "axes", &text) < 0 || (!text && !(text = usual_axes(view, what))))
        return -1;
    bool good = strlen(text) == (size_t)view->n_dims;
    for (int i = 0; good && i < view->n_dims; i++) {
        int *const role = text[i] == 'H'   ? &out->row
                          : text[i] == 'W' ? &out->pixel
                          : text[i] == 'C' ? &out->channel
                                           : &out->batch;
        good = text[i] >= 'A' && text[i] <= 'Z' && *role < 0;
        *role = i;
    }
    if (good && out->pixel >= 0)
        return 0;
    PyErr_Format(PyExc_ValueError,
                 "axes=\"%s\" does not fit %s, which has %d: it should have one letter for each, W "
                 "among them, of H (rows), W (columns), C (channels) and one more (images)",
                 text, what, view->n_dims);
    return -1;
}

/* The length of an axis, and the bytes between its elements: 0 of an axis of one. */
static int64_t axis_of(const ArrayView *view, int axis, int64_t *step)
{
    const int64_t n = axis < 0 ? 1 : view->shape[axis];
    *step = n > 1 ? view->strides[axis] : 0;
    return n;
}

static int set_sizes(ArrayImages *images, const char *what, const Axes *axes)
{
    const ArrayView *const view = &images->view;
    const int64_t n = axis_of(view, axes->batch, &images->image_step);
    const int64_t rows = axis_of(view, axes->row, &images->row_step);
    const int64_t pixels = axis_of(view, axes->pixel, &images->pixel_step);
    const int64_t channels = axis_of(view, axes->channel, &images->channel_step);
    if (rows > UINT32_MAX || pixels > UINT32_MAX || channels > UINT16_MAX || channels == 0) {
        PyErr_Format(PyExc_ValueError,
                     "%s is an image of %lld x %lld pixels with %lld channels: imgstat takes up to "
                     "4294967295 each way, and 1 to 65535 channels",
                     what, (long long)pixels, (long long)rows, (long long)channels);
        return -1;
    }
    images->n = (size_t)n;
    images->height = (uint32_t)rows;
    images->width = (uint32_t)pixels;
    images->channels = (uint16_t)channels;
    images->has_batch = axes->batch >= 0;
    images->has_channels = axes->channel >= 0;
    return 0;
}

/* ---- Layout ---------------------------------------------------------------------------------- */

static bool rows_fit(int64_t n_rows, int64_t row_step, int64_t row_bytes)
{
    return n_rows <= 1 || row_step >= row_bytes;
}

/* Addresses of samples are multiples of their size, of all axes. */
static bool aligned(const ArrayImages *images)
{
    const int64_t bytes = (int64_t)imgstat_sample_bytes(images->view.sample);
    return images->view.data % (uintptr_t)bytes == 0 && images->row_step % bytes == 0 &&
           images->image_step % bytes == 0 && images->channel_step % bytes == 0;
}

static ArrayLayout layout_of(const ArrayImages *images)
{
    const int64_t bytes = (int64_t)imgstat_sample_bytes(images->view.sample);
    const int64_t width = images->width, channels = images->channels;
    const bool swapped = images->view.swapped && bytes > 1;
    if (swapped || !aligned(images))
        return ARRAY_SCATTERED;
    if ((channels == 1 || images->channel_step == bytes) &&
        (width <= 1 || images->pixel_step == channels * bytes) &&
        rows_fit(images->height, images->row_step, width * channels * bytes))
        return ARRAY_INTERLEAVED;
    if ((width <= 1 || images->pixel_step == bytes) &&
        rows_fit(images->height, images->row_step, width * bytes))
        return ARRAY_PLANAR;
    return ARRAY_SCATTERED;
}

static int check_layout(ArrayImages *images, const char *what)
{
    images->layout = layout_of(images);
    if (images->layout != ARRAY_SCATTERED || images->view.memory != IMGSTAT_CUDA)
        return 0;
    PyErr_Format(PyExc_ValueError,
                 "%s lies in GPU memory by strides that imgstat cannot read in place: make it "
                 "contiguous first",
                 what);
    return -1;
}

/* ---- Options --------------------------------------------------------------------------------- */

/* Whether a row of a mask has its bytes one after another. */
static bool bytes_in_rows(const ArrayImages *images, int64_t row_step, int64_t pixel_step)
{
    return (images->width <= 1 || pixel_step == 1) &&
           rows_fit(images->height, row_step, images->width);
}

/* The mask of an array, in the order of the array's stream. */
static int view_mask(State *state, const ArrayImages *images, PyObject *mask, ArrayView *out)
{
    PyObject *const stream =
        images->view.memory == IMGSTAT_CUDA ? PyLong_FromVoidPtr(images->view.stream) : NULL;
    const int status = PyErr_Occurred() ? -1 : array_view_open(state, mask, "mask", stream, out);
    Py_XDECREF(stream);
    return status;
}

static int open_mask(State *state, ArrayImages *images, const ArrayOptions *options)
{
    ArrayView *const mask = &images->mask;
    if (!option_given(options->mask))
        return 0;
    if (view_mask(state, images, options->mask, mask) < 0)
        return -1;
    const bool batch = images->has_batch && mask->n_dims == 3;
    const int first = batch ? 1 : 0;
    int64_t n = 1, rows = 1, pixels = -1;
    if (mask->n_dims == first + 2) {
        n = axis_of(mask, batch ? 0 : -1, &images->mask_image_step);
        rows = axis_of(mask, first, &images->mask_row_step);
        pixels = axis_of(mask, first + 1, &images->mask_pixel_step);
    } else if (mask->n_dims == 1) {
        pixels = axis_of(mask, 0, &images->mask_pixel_step);
    }
    if (imgstat_sample_bytes(mask->sample) != 1)
        PyErr_Format(PyExc_TypeError, "mask is of %s: it should be of bool or uint8",
                     sample_dtype(mask->sample));
    else if ((batch && (size_t)n != images->n) || rows != images->height || pixels != images->width)
        PyErr_Format(PyExc_ValueError, "mask should have the %u rows and %u columns of the image%s",
                     images->height, images->width,
                     images->has_batch ? ", or as many of these as there are images" : "");
    else if (mask->memory != images->view.memory || mask->device_id != images->view.device_id)
        PyErr_SetString(PyExc_ValueError, "mask should be in the same memory as the array");
    else if (mask->memory == IMGSTAT_CUDA &&
             !bytes_in_rows(images, images->mask_row_step, images->mask_pixel_step))
        PyErr_SetString(PyExc_ValueError, "mask should be contiguous in GPU memory");
    else
        return 0;
    return -1;
}

static int read_nodata(ArrayImages *images, PyObject *nodata)
{
    images->has_nodata = option_given(nodata);
    return images->has_nodata ? value_read(nodata, "nodata", &images->nodata) : 0;
}

static int read_options(State *state, ArrayImages *images, const ArrayOptions *options)
{
    const long width = 8 * (long)imgstat_sample_bytes(images->view.sample);
    const long last = images->channels - 1L;
    long long bits = 0, alpha = -1;
    if ((option_given(options->bits) && integer_read(options->bits, "bits", 1, width, &bits) < 0) ||
        (option_given(options->alpha) &&
         integer_read(options->alpha, "alpha", -last - 1, last < INT16_MAX ? last : INT16_MAX,
                      &alpha) < 0))
        return -1;
    images->bits = (uint8_t)bits;
    /* -1 is the last channel, as indices of Python are. */
    images->alpha = (int16_t)(option_given(options->alpha) && alpha < 0 ? alpha + last + 1 : alpha);
    return read_nodata(images, options->nodata) < 0 ? -1 : open_mask(state, images, options);
}

/* ---- Images ---------------------------------------------------------------------------------- */

int array_images_open(State *state, PyObject *array, const char *what, const ArrayOptions *options,
                      ArrayImages *out)
{
    Axes axes;
    *out = (ArrayImages){.n = 0};
    if (array_view_open(state, array, what, options->stream, &out->view) < 0)
        return -1;
    if (out->view.boolean)
        PyErr_Format(PyExc_TypeError,
                     "%s is of bool, which has no levels: it can be a mask, or x.view(\"uint8\")",
                     what);
    else if (read_axes(&out->view, what, options->axes, &axes) == 0 &&
             set_sizes(out, what, &axes) == 0 && check_layout(out, what) == 0 &&
             read_options(state, out, options) == 0)
        return 0;
    array_images_close(out);
    return -1;
}

void array_images_close(ArrayImages *images)
{
    array_view_close(&images->mask);
    array_view_close(&images->view);
}

static SamplePlaces places_of(const ArrayImages *images, size_t i)
{
    const uintptr_t first = images->view.data + (uintptr_t)((int64_t)i * images->image_step);
    return (SamplePlaces){(unsigned char *)first, images->row_step, images->pixel_step,
                          images->channel_step};
}

static SampleCounts counts_of(const ArrayImages *images)
{
    return (SampleCounts){images->height, images->width, images->channels,
                          imgstat_sample_bytes(images->view.sample)};
}

/* Allocates memory once. A multiple of nothing is a byte. */
static ImgstatResult reserve(void **memory, SampleCounts counts, ImgstatError *err)
{
    size_t bytes;
    if (*memory)
        return IMGSTAT_OK;
    if (!__builtin_mul_overflow(counts.rows * counts.pixels, counts.channels * counts.bytes,
                                &bytes))
        *memory = malloc(bytes ? bytes : 1);
    if (*memory)
        return IMGSTAT_OK;
    *err = (ImgstatError){.code = IMGSTAT_ERR_MEMORY, .message = "out of memory for a copy"};
    return err->code;
}

static SamplePlaces scratch_places(void *memory, SampleCounts counts)
{
    const int64_t pixel = (int64_t)(counts.channels * counts.bytes);
    return (SamplePlaces){memory, pixel * (int64_t)counts.pixels, pixel, (int64_t)counts.bytes};
}

/* The mask of image i; in scratch memory where its bytes do not follow each other. */
static ImgstatResult set_mask(const ArrayImages *images, size_t i, ArrayScratch *scratch,
                              ImagePro *out, ImgstatError *err)
{
    const uintptr_t first = images->mask.data + (uintptr_t)((int64_t)i * images->mask_image_step);
    if (images->mask.n_dims == 0)
        return IMGSTAT_OK;
    out->mask = (const uint8_t *)first;
    out->mask_pitch = images->height > 1 ? (size_t)images->mask_row_step : images->width;
    if (bytes_in_rows(images, images->mask_row_step, images->mask_pixel_step))
        return IMGSTAT_OK;
    const SampleCounts counts = {images->height, images->width, 1, 1};
    const SamplePlaces from = {(unsigned char *)first, images->mask_row_step,
                               images->mask_pixel_step, 1};
    ImgstatResult res = reserve(&scratch->mask, counts, err);
    if (res == IMGSTAT_OK)
        res = samples_copy(scratch_places(scratch->mask, counts), from, counts, false, images->work,
                           err);
    out->mask = scratch->mask;
    out->mask_pitch = images->width;
    return res;
}

static ImgstatResult describe(const ArrayImages *images, size_t i, const void *pixels, size_t pitch,
                              uint16_t channels, ArrayScratch *scratch, ImagePro *out,
                              ImgstatError *err)
{
    const ImgstatResult res = imgstat_image_wrap(
        images->view.memory, images->view.device_id, pixels, pitch, images->width, images->height,
        channels, images->view.sample, images->bits, NULL, NULL, out, err);
    if (res != IMGSTAT_OK)
        return res;
    if (images->has_nodata)
        imgstat_image_set_nodata(out, images->nodata);
    return set_mask(images, i, scratch, out, err);
}

static size_t pitch_of(const ArrayImages *images)
{
    return images->height > 1 ? (size_t)images->row_step : 0;
}

ImgstatResult array_image(const ArrayImages *images, size_t i, bool fill, ArrayScratch *scratch,
                          ImagePro *out, ImgstatError *err)
{
    const SamplePlaces from = places_of(images, i);
    if (images->layout == ARRAY_INTERLEAVED)
        return describe(images, i, from.first, pitch_of(images), images->channels, scratch, out,
                        err);
    if (images->view.memory == IMGSTAT_CUDA) {
        *err = (ImgstatError){.code = IMGSTAT_ERR_ARG,
                              .message = "the channels of a pixel lie apart in GPU memory: make "
                                         "the array contiguous with the channels last"};
        return err->code;
    }
    const SampleCounts counts = counts_of(images);
    ImgstatResult res = reserve(&scratch->pixels, counts, err);
    if (res == IMGSTAT_OK && fill)
        res = samples_copy(scratch_places(scratch->pixels, counts), from, counts,
                           images->view.swapped, images->work, err);
    if (res != IMGSTAT_OK)
        return res;
    return describe(images, i, scratch->pixels, 0, images->channels, scratch, out, err);
}

ImgstatResult array_plane(const ArrayImages *images, size_t i, uint16_t channel,
                          ArrayScratch *scratch, ImagePro *out, ImgstatError *err)
{
    const SamplePlaces from = places_of(images, i);
    return describe(images, i, from.first + channel * images->channel_step, pitch_of(images), 1,
                    scratch, out, err);
}

bool array_in_place(const ArrayImages *images, bool planes)
{
    return images->layout == (planes ? ARRAY_PLANAR : ARRAY_INTERLEAVED) &&
           (images->mask.n_dims == 0 ||
            bytes_in_rows(images, images->mask_row_step, images->mask_pixel_step));
}

ImgstatResult array_image_store(const ArrayImages *images, size_t i, const ArrayScratch *scratch,
                                ImgstatError *err)
{
    if (images->layout == ARRAY_INTERLEAVED || !scratch->pixels)
        return IMGSTAT_OK;
    const SampleCounts counts = counts_of(images);
    return samples_copy(places_of(images, i), scratch_places(scratch->pixels, counts), counts,
                        images->view.swapped, images->work, err);
}

void array_scratch_release(ArrayScratch *scratch)
{
    free(scratch->pixels);
    free(scratch->mask);
    *scratch = (ArrayScratch){NULL, NULL};
}

bool array_same_shape(const ArrayView *a, const ArrayView *b)
{
    return a->n_dims == b->n_dims &&
           memcmp(a->shape, b->shape, (size_t)a->n_dims * sizeof a->shape[0]) == 0;
}
