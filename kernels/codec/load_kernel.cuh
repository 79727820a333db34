/* SPDX-License-Identifier: MIT */
/* codec/load_kernel.cuh: loads a kernel before it is needed: the driver may wait for that until the
 * device is idle. */
#ifndef IMGSTAT_KERNELS_CODEC_LOAD_KERNEL_CUH
#define IMGSTAT_KERNELS_CODEC_LOAD_KERNEL_CUH

#include <cuda_runtime.h>

static inline cudaError_t load_kernel(const void *kernel)
{
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, kernel);
}

#endif
