/* SPDX-License-Identifier: MIT */
/* codec/decode.cu: from the compressed bytes of images to their pixels. */
#include "codec/png.cuh"
#include "device/cuda_device.h"

/* Images of a launch: grids have as many blocks in one direction. */
enum { LAUNCH_MOST = 1 << 20 };

static ImgstatResult decode_launch(CudaDevice *device, cudaStream_t stream,
                                   const DeflatedRows *images, const DeflatedRows *there, size_t n,
                                   DeflatedCheck *checks, ImgstatError *err)
{
    bool expands = false;
    for (size_t i = 0; i < n; i++)
        expands = expands || images[i].form != ROWS_PLAIN;
    CUDA_TRY(device, err, launch_inflate_rows(there, n, checks, stream));
    IMGSTAT_TRY(cuda_launched(device, stream, "inflate_rows", err));
    CUDA_TRY(device, err, launch_add_bytes(there, n, checks, stream));
    IMGSTAT_TRY(cuda_launched(device, stream, "add_bytes", err));
    CUDA_TRY(device, err, launch_unfilter_rows(there, n, checks, stream));
    IMGSTAT_TRY(cuda_launched(device, stream, "unfilter_rows", err));
    if (!expands)
        return IMGSTAT_OK;
    CUDA_TRY(device, err, launch_expand_rows(there, n, checks, stream));
    return cuda_launched(device, stream, "expand_rows", err);
}

ImgstatResult cuda_decode_async(Device *base, void *stream, const DeflatedRows *images, size_t n,
                                DevMem there, DevMem checks, ImgstatError *err)
{
    CudaDevice *const device = (CudaDevice *)base;
    CUDA_ENTER(device, err);
    if (n == 0) {
        CUDA_TRY(device, err, launch_inflate_rows(NULL, 0, NULL, NULL));
        CUDA_TRY(device, err, launch_add_bytes(NULL, 0, NULL, NULL));
        CUDA_TRY(device, err, launch_unfilter_rows(NULL, 0, NULL, NULL));
        CUDA_TRY(device, err, launch_expand_rows(NULL, 0, NULL, NULL));
        return IMGSTAT_OK;
    }
    assert(there.bytes >= n * sizeof(DeflatedRows) && checks.bytes >= n * sizeof(DeflatedCheck));
    DeflatedRows *const to = (DeflatedRows *)(uintptr_t)there.address;
    DeflatedCheck *const check = (DeflatedCheck *)(uintptr_t)checks.address;
    const cudaStream_t on = (cudaStream_t)stream;
    CUDA_TRY(device, err, cudaMemsetAsync(check, 0, n * sizeof *check, on));
    CUDA_TRY(device, err, cudaMemcpyAsync(to, images, n * sizeof *to, cudaMemcpyHostToDevice, on));
    for (size_t i = 0; i < n; i += LAUNCH_MOST) {
        const size_t left = n - i;
        IMGSTAT_TRY(decode_launch(device, on, images + i, to + i,
                                  left < LAUNCH_MOST ? left : (size_t)LAUNCH_MOST, check + i, err));
    }
    return IMGSTAT_OK;
}
