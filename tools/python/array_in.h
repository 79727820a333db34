/* SPDX-License-Identifier: MIT */
/* array_in.h: the images of an array: of two axes one image, of more what `axes` says. */
#ifndef IMGSTAT_PYTHON_ARRAY_IN_H
#define IMGSTAT_PYTHON_ARRAY_IN_H

#include "array_copy.h"
#include "array_view.h"
#include "keywords.h"

/* What callers say about an array beside itself. All may be NULL or None. */
typedef struct ArrayOptions {
    PyObject *axes;   /* a letter for each axis: H, W, C, and another one for a batch */
    PyObject *mask;   /* an array of bool or bytes: 0 excludes */
    PyObject *nodata; /* a number that stands for undefined samples */
    PyObject *alpha;  /* index of the channel that is neither counted nor changed */
    PyObject *bits;   /* significant bits of integers */
    PyObject *stream; /* of CUDA memory */
} ArrayOptions;

/* All but alpha, which transforms have alone. */
extern const Keyword array_keywords[];

/* How the samples of an image lie. */
typedef enum ArrayLayout {
    ARRAY_INTERLEAVED, /* as an ImagePro has them */
    ARRAY_PLANAR,      /* each channel is an ImagePro */
    ARRAY_SCATTERED    /* they are copied: other strides, order of bytes, or odd addresses */
} ArrayLayout;

/* n images of one size in an array. */
typedef struct ArrayImages {
    ArrayView view, mask; /* mask: n_dims 0 where there is none */
    ArrayLayout layout;
    bool has_batch, has_channels; /* axes of the array */
    size_t n;
    uint32_t width, height;
    uint16_t channels;
    uint8_t bits; /* 0: the full width of the type */
    int16_t alpha;
    bool has_nodata;
    ImgstatValue nodata;
    int64_t image_step, row_step, pixel_step, channel_step;
    int64_t mask_image_step, mask_row_step, mask_pixel_step;
    Work *work; /* NULL, or what may end a copy */
} ArrayImages;

/* Memory for an image that is copied. All zero before the first use. */
typedef struct ArrayScratch {
    void *pixels, *mask;
} ArrayScratch;

/* Opens an array. what: its name in messages. 0, or -1 with an exception. */
int array_images_open(State *state, PyObject *array, const char *what, const ArrayOptions *options,
                      ArrayImages *out);
void array_images_close(ArrayImages *images);

/* Describes image i as interleaved, with its mask and nodata value. What lies otherwise is copied
 * to the scratch memory, or with `fill` false only has its place there; in GPU memory that is an
 * error. The interpreter's lock is not needed. */
ImgstatResult array_image(const ArrayImages *images, size_t i, bool fill, ArrayScratch *scratch,
                          ImagePro *out, ImgstatError *err);

/* Whether array_image, or with `planes` array_plane, needs no scratch memory. */
bool array_in_place(const ArrayImages *images, bool planes);

/* Describes one channel, of an image that is not scattered. */
ImgstatResult array_plane(const ArrayImages *images, size_t i, uint16_t channel,
                          ArrayScratch *scratch, ImagePro *out, ImgstatError *err);

/* Copies the scratch memory of image i to the array, if that is where array_image has put it. */
ImgstatResult array_image_store(const ArrayImages *images, size_t i, const ArrayScratch *scratch,
                                ImgstatError *err);
void array_scratch_release(ArrayScratch *scratch);

/* Whether an array has the shape of another one. */
bool array_same_shape(const ArrayView *a, const ArrayView *b);

#endif
