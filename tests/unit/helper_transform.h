/* SPDX-License-Identifier: MIT */
/* helper_transform.h: images and plain-counted records for the tests of transfers. */
#ifndef HELPER_TRANSFORM_H
#define HELPER_TRANSFORM_H

#include "cpu/map_rows.h"
#include "support.h"

/* The 8x8 example of the encyclopedia article on histogram equalization, and its equalized form. */
extern const uint8_t example_in[64], example_out[64];

/* The images of tests/record_expected.py. The caller releases them. */
ImagePro pattern_image(const char *kind, uint32_t width, uint32_t height, ImgstatSample sample);
ImagePro image_of(const void *pixels, uint32_t width, uint32_t height, uint16_t channels,
                  ImgstatSample sample, uint8_t bits);
ImagePro image_like(const ImagePro *image, ImgstatSample sample);

/* Hash of the samples, rows one after the other. */
uint64_t image_fnv(const ImagePro *image);
bool image_equal(const ImagePro *a, const ImagePro *b);

/* Counts valid samples one by one: bins and extrema of a narrow type. */
Record *plain_record(const ImagePro *image);

TransferShape shape_of(const ImagePro *image, int16_t alpha, bool rgb);
/* Measures (luma where the method wants it), makes the transfer and applies it. */
ImagePro transformed(const ImgstatMethod *method, const ImagePro *image, int16_t alpha, bool rgb);
/* The same for CLAHE of one channel, in bands of `rows`. */
ImagePro adapted(const ImgstatMethod *method, const ImagePro *image, uint32_t rows);

#endif
