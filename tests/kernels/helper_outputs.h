/* SPDX-License-Identifier: MIT */
/* helper_outputs.h: mapped images of both devices side by side, for the tests of transforms. */
#ifndef IMGSTAT_HELPER_OUTPUTS_H
#define IMGSTAT_HELPER_OUTPUTS_H

#include "ops_images.h"

#include <cuda_runtime_api.h>

void must_cuda(cudaError_t status);

/* Host and device pixels of an output without gaps. */
typedef struct Output {
    unsigned char *expected, *got;
    size_t bytes;
    ImagePro cpu, cuda;
    DevMem memory;
} Output;

Output output_create(const ImagePro *from, ImgstatSample sample);
void output_destroy(Output *o);
/* Overwrites the device's pixels, so that those that are not written show. */
void poison(Output *o);
/* A byte that differs is a failure. */
void compare(Output *o, const char *what, const char *text);
/* A comparison that cannot fail would prove nothing: fails if compare sees no wrong byte. */
void check_outputs(void);

/* What the processor makes of an image. */
void map_on_cpu(const ImgstatMethod *method, const ImagePro *from, int16_t alpha, ImagePro *to);

#endif
