/* SPDX-License-Identifier: MIT */
/* codec/png.cuh: the launches that decode images of deflated rows, in this order; images and checks
 * in device memory. With no images each only loads its kernel. */
#ifndef IMGSTAT_KERNELS_CODEC_PNG_CUH
#define IMGSTAT_KERNELS_CODEC_PNG_CUH

#include "codec/load_kernel.cuh"

extern "C" {
#include "codec/deflated_rows.h"
}

/* codec/inflate.cu */
cudaError_t launch_inflate_rows(const DeflatedRows *images, size_t n, DeflatedCheck *checks,
                                cudaStream_t stream);

/* codec/adler.cu: adds to sums that are 0 before. Nothing is told of bands then. */
cudaError_t launch_add_bytes(const DeflatedRows *images, size_t n, DeflatedCheck *checks,
                             cudaStream_t stream);

/* codec/unfilter.cu. most_bands: of an image. */
cudaError_t launch_unfilter_rows(const DeflatedRows *images, size_t n, uint32_t most_bands,
                                 DeflatedCheck *checks, cudaStream_t stream);
cudaError_t launch_expand_rows(const DeflatedRows *images, size_t n, DeflatedCheck *checks,
                               cudaStream_t stream);

#endif
