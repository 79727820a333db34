/* SPDX-License-Identifier: MIT */
/* codec/encode.cu: from the pixels of images to pieces of deflate streams, and what comes back. */
#include "codec/deflate_pieces.h"
#include "codec/filter_rows.h"
#include "codec/load_kernel.cuh"
#include "codec/tiles.cuh"
#include "common/load_words.cuh"
#include "common/tuning.cuh"
#include "device/cuda_device.h"

/* Makes the bytes of all pieces. No images load both kernels. */
static ImgstatResult make_rows(CudaDevice *device, const DeviceEncode *call, const void *images,
                               cudaStream_t on, ImgstatError *err)
{
    const size_t n = call->n_images;
    if (!call->tiled || n == 0) {
        CUDA_TRY(device, err, cuda_filter_rows((const FilterImage *)images, n, call->rows, on));
        IMGSTAT_TRY(cuda_launched(device, on, "filter_rows", err));
    }
    if (call->tiled || n == 0) {
        CUDA_TRY(device, err, launch_predict_tiles((const TiledImage *)images, n, call->rows, on));
        IMGSTAT_TRY(cuda_launched(device, on, "predict_tiles", err));
    }
    return IMGSTAT_OK;
}

static ImgstatResult make_pieces(CudaDevice *device, const DeviceEncode *call, cudaStream_t on,
                                 ImgstatError *err)
{
    const size_t n = call->n_pieces;
    uint8_t *const lists = (uint8_t *)(uintptr_t)call->lists_there.address;
    DeflatedPiece *const results = (DeflatedPiece *)(uintptr_t)call->results_there.address;
    const DeflatePiece *const pieces = (const DeflatePiece *)(lists + call->pieces_at);
    assert(call->lists_there.bytes >= call->list_bytes &&
           call->results_there.bytes >= deflate_results_there(n) &&
           call->scratch.bytes >= (n ? deflate_pieces_scratch(n, call->n_blocks) : 0));
    if (n > 0)
        CUDA_TRY(device, err,
                 cudaMemcpyAsync(lists, call->lists, call->list_bytes, cudaMemcpyHostToDevice, on));
    IMGSTAT_TRY(make_rows(device, call, lists, on, err));
    uint8_t *const pays = (uint8_t *)(results + n);
    CUDA_TRY(device, err, cuda_match_gain(call->coding, pieces, n, pays, on));
    IMGSTAT_TRY(cuda_launched(device, on, "match_gain", err));
    CUDA_TRY(device, err,
             cuda_deflate(call->coding, pieces, n, call->n_blocks, pays, results,
                          (void *)(uintptr_t)call->scratch.address, on));
    IMGSTAT_TRY(cuda_launched(device, on, "deflate_pieces", err));
    if (n > 0)
        CUDA_TRY(device, err,
                 cudaMemcpyAsync(call->results, results, n * sizeof *results,
                                 cudaMemcpyDeviceToHost, on));
    return IMGSTAT_OK;
}

/* ---- What comes back ---- */

/* 16 bytes from any address. exact: reads no others; else also those of the words that they are in.
 */
DEVICE uint4 load_any(const uint8_t *from, bool exact)
{
    const unsigned over = (uintptr_t)from % 4;
    if (over == 0 || !exact)
        return load_words(from);
    uint32_t word[4] = {0};
#pragma unroll
    for (int b = 0; b < 16; b++)
        word[b / 4] |= (uint32_t)from[b] << 8 * (b % 4);
    return make_uint4(word[0], word[1], word[2], word[3]);
}

/*
 * copy_bytes: copies to places in pinned memory, each of any address and size.
 *
 *   Idea      A copy engine takes a microsecond or two for each copy; whole vectors that threads
 *             store cross the bus as fast as it sends them.
 *   Work      a few instructions a vector of 16 bytes.
 *   Memory    reads n bytes once, and writes them over the bus.
 *   Launch    <<<dim3(copies, COPY_BLOCKS), COPY_THREADS>>>.
 *   Requires  places that do not overlap.
 *   Result    the bytes; copies of several rows are left out.
 */
static __global__ void __launch_bounds__(COPY_THREADS) copy_bytes(const DeviceCopy *copies)
{
    const DeviceCopy copy = copies[blockIdx.x];
    const uint8_t *const from = (const uint8_t *)copy.from;
    uint8_t *const to = (uint8_t *)copy.to;
    if (copy.rows != 1)
        return;
    const size_t head = min((16 - (uintptr_t)to % 16) % 16, copy.row_bytes);
    const size_t vectors = (copy.row_bytes - head) / 16, tail = head + 16 * vectors;
    for (size_t v = (size_t)blockIdx.y * COPY_THREADS + threadIdx.x; v < vectors;
         v += (size_t)COPY_THREADS * COPY_BLOCKS)
        *(uint4 *)(to + head + 16 * v) = load_any(from + head + 16 * v, v == 0 || v + 1 == vectors);
    if (blockIdx.y == 0 && threadIdx.x < head)
        to[threadIdx.x] = from[threadIdx.x];
    if (blockIdx.y == 0 && threadIdx.x < copy.row_bytes - tail)
        to[tail + threadIdx.x] = from[tail + threadIdx.x];
}

static ImgstatResult copy_rows(CudaDevice *device, const DeviceCopies *copies, cudaStream_t on,
                               ImgstatError *err)
{
    DeviceCopy *const list = (DeviceCopy *)(uintptr_t)copies->there.address;
    assert(copies->there.bytes >= copies->n * sizeof *list && copies->n <= INT32_MAX);
    for (const DeviceCopy *c = copies->list; c < copies->list + copies->n; c++)
        if (c->rows != 1)
            CUDA_TRY(device, err,
                     cuda_copy_rows(c->to, c->row_bytes, (const void *)(uintptr_t)c->from, c->pitch,
                                    c->row_bytes, c->rows, cudaMemcpyDeviceToHost, on));
    CUDA_TRY(
        device, err,
        cudaMemcpyAsync(list, copies->list, copies->n * sizeof *list, cudaMemcpyHostToDevice, on));
    copy_bytes<<<dim3((unsigned)copies->n, COPY_BLOCKS), COPY_THREADS, 0, on>>>(list);
    return cuda_launched(device, on, "copy_bytes", err);
}

ImgstatResult cuda_encode_async(Device *base, void *stream, const DeviceEncode *call,
                                const DeviceCopies *copies, ImgstatError *err)
{
    CudaDevice *const device = (CudaDevice *)base;
    const cudaStream_t on = (cudaStream_t)stream;
    CUDA_ENTER(device, err);
    if (!call && !copies) { /* no pieces load their kernels */
        const DeviceEncode none = {};
        CUDA_TRY(device, err, load_kernel((const void *)copy_bytes));
        return make_pieces(device, &none, on, err);
    }
    if (call)
        IMGSTAT_TRY(make_pieces(device, call, on, err));
    if (copies)
        IMGSTAT_TRY(copy_rows(device, copies, on, err));
    return IMGSTAT_OK;
}
