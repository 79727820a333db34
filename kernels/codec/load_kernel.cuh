/* SPDX-License-Identifier: MIT */
/* codec/load_kernel.cuh: loads a kernel before it is needed, since the driver may wait for that
 * until the device is idle; launches a kernel for each image of a list. */
#ifndef IMGSTAT_KERNELS_CODEC_LOAD_KERNEL_CUH
#define IMGSTAT_KERNELS_CODEC_LOAD_KERNEL_CUH

#include <cuda_runtime.h>
#include <stddef.h>

enum { GRID_Y_MOST = 65535 };

static inline cudaError_t load_kernel(const void *kernel)
{
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, kernel);
}

/* Launches blocks of threads for each of n images, whose number is blockIdx.y. n = 0: loads the
 * kernel. */
template <typename Image>
static inline cudaError_t launch_images(void (*kernel)(const Image *), const Image *images,
                                        size_t n, unsigned blocks, unsigned threads,
                                        cudaStream_t stream)
{
    if (n == 0)
        return load_kernel((const void *)kernel);
    cudaError_t status = cudaSuccess;
    for (size_t at = 0; at < n && status == cudaSuccess; at += GRID_Y_MOST) {
        const size_t taken = n - at < GRID_Y_MOST ? n - at : GRID_Y_MOST;
        kernel<<<dim3(blocks, (unsigned)taken), threads, 0, stream>>>(images + at);
        status = cudaGetLastError();
    }
    return status;
}

#endif
