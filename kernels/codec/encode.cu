/* SPDX-License-Identifier: MIT */
/* codec/encode.cu: from the pixels of images to pieces of deflate streams, and what comes back. */
#include "codec/deflate_pieces.h"
#include "codec/filter_rows.h"
#include "device/cuda_device.h"

ImgstatResult cuda_encode_async(Device *base, void *stream, const DeviceEncode *call,
                                ImgstatError *err)
{
    CudaDevice *const device = (CudaDevice *)base;
    CUDA_ENTER(device, err);
    const cudaStream_t on = (cudaStream_t)stream;
    const size_t n = call->n_pieces;
    uint8_t *const lists = (uint8_t *)(uintptr_t)call->lists_there.address;
    DeflatedPiece *const results = (DeflatedPiece *)(uintptr_t)call->results_there.address;
    const FilterImage *const images = (const FilterImage *)lists;
    const DeflatePiece *const pieces = (const DeflatePiece *)(lists + call->pieces_at);
    assert(call->lists_there.bytes >= call->list_bytes &&
           call->results_there.bytes >= deflate_results_bytes(n) &&
           call->scratch.bytes >= (n ? deflate_pieces_scratch(n, call->n_blocks) : 0));
    if (n > 0)
        CUDA_TRY(device, err,
                 cudaMemcpyAsync(lists, call->lists, call->list_bytes, cudaMemcpyHostToDevice, on));
    CUDA_TRY(device, err, cuda_filter_rows(images, call->n_images, call->rows, on));
    IMGSTAT_TRY(cuda_launched(device, on, "filter_rows", err));
    CUDA_TRY(device, err, cuda_match_gain(call->coding, pieces, n, (uint8_t *)(results + n), on));
    IMGSTAT_TRY(cuda_launched(device, on, "match_gain", err));
    CUDA_TRY(device, err,
             cuda_deflate(call->coding, pieces, n, call->n_blocks, results,
                          (void *)(uintptr_t)call->scratch.address, on));
    IMGSTAT_TRY(cuda_launched(device, on, "deflate_pieces", err));
    if (n > 0)
        CUDA_TRY(device, err,
                 cudaMemcpyAsync(call->results, results, deflate_results_bytes(n),
                                 cudaMemcpyDeviceToHost, on));
    return IMGSTAT_OK;
}

ImgstatResult cuda_copy_async(Device *base, void *stream, const DeviceCopy *copies, size_t n,
                              ImgstatError *err)
{
    CudaDevice *const device = (CudaDevice *)base;
    CUDA_ENTER_MEASURING(device, err);
    for (const DeviceCopy *c = copies; c < copies + n; c++)
        CUDA_TRY(device, err,
                 cuda_copy_rows(c->to, c->row_bytes, (const void *)(uintptr_t)c->from, c->pitch,
                                c->row_bytes, c->rows, cudaMemcpyDeviceToHost,
                                (cudaStream_t)stream));
    return IMGSTAT_OK;
}
