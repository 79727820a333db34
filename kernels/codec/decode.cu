/* SPDX-License-Identifier: MIT */
/* codec/decode.cu: from the compressed bytes of images to their pixels. */
#include "codec/parted.cuh"
#include "codec/png.cuh"
#include "codec/tiles.cuh"
#include "device/cuda_device.h"

/* Images of a launch: grids have as many blocks in one direction. */
enum { LAUNCH_MOST = 1 << 20 };
/* Compressed bytes that are decoded while the next ones arrive: a millisecond of the bus, and more
 * tiles than multiprocessors. */
enum { UPLOADS_TOGETHER = 64 << 20 };

static ImgstatResult decode_rows(CudaDevice *device, cudaStream_t stream,
                                 const DeflatedRows *images, const DeflatedRows *there, size_t n,
                                 DeflatedCheck *checks, ImgstatError *err)
{
    bool expands = false;
    uint32_t bands = 1;
    for (size_t i = 0; i < n; i++) {
        bands = images[i].bands > bands ? images[i].bands : bands;
        expands = expands || images[i].form != ROWS_PLAIN;
    }
    CUDA_TRY(device, err, launch_inflate_rows(there, n, checks, stream));
    IMGSTAT_TRY(cuda_launched(device, stream, "inflate_rows", err));
    CUDA_TRY(device, err, launch_add_bytes(there, n, checks, stream));
    IMGSTAT_TRY(cuda_launched(device, stream, "add_bytes", err));
    CUDA_TRY(device, err, launch_unfilter_rows(there, n, bands, checks, stream));
    IMGSTAT_TRY(cuda_launched(device, stream, "unfilter_rows", err));
    if (!expands)
        return IMGSTAT_OK;
    CUDA_TRY(device, err, launch_expand_rows(there, n, checks, stream));
    return cuda_launched(device, stream, "expand_rows", err);
}

/* Loads all kernels. */
static ImgstatResult decode_load(CudaDevice *device, ImgstatError *err)
{
    const DecodeWork none = {};
    CUDA_TRY(device, err, launch_inflate_parted(NULL, NULL, 0, NULL, NULL));
    CUDA_TRY(device, err, launch_inflate_rows(NULL, 0, NULL, NULL));
    CUDA_TRY(device, err, launch_add_bytes(NULL, 0, NULL, NULL));
    CUDA_TRY(device, err, launch_unfilter_rows(NULL, 0, 0, NULL, NULL));
    CUDA_TRY(device, err, launch_expand_rows(NULL, 0, NULL, NULL));
    CUDA_TRY(device, err, launch_inflate_tiles(&none, NULL, NULL));
    CUDA_TRY(device, err, launch_check_tiles(&none, NULL, NULL));
    CUDA_TRY(device, err, launch_lzw_tiles(&none, NULL, NULL));
    CUDA_TRY(device, err, launch_packbits_tiles(&none, NULL, NULL));
    CUDA_TRY(device, err, launch_unpredict_tiles(&none, 0, NULL, NULL));
    CUDA_TRY(device, err, launch_store_tiles(&none, 0, NULL, NULL));
    return IMGSTAT_OK;
}

static ImgstatResult decode_tiles(CudaDevice *device, cudaStream_t stream, const DecodeWork *work,
                                  const DecodeWork *there, DeflatedCheck *checks, ImgstatError *err)
{
    bool has[TILE_CODINGS] = {}, floats = false;
    uint32_t rows = 0;
    for (size_t i = 0; i < work->n_pages; i++) {
        const TiledPage &page = work->pages[i];
        has[page.coding] = true;
        floats = floats || page.prediction == TILE_FLOATS;
        rows = page.tile_height > rows ? page.tile_height : rows;
    }
    if (has[TILE_DEFLATED]) {
        CUDA_TRY(device, err, launch_inflate_tiles(there, checks, stream));
        IMGSTAT_TRY(cuda_launched(device, stream, "inflate_tiles", err));
        CUDA_TRY(device, err, launch_check_tiles(there, checks, stream));
        IMGSTAT_TRY(cuda_launched(device, stream, "check_tiles", err));
    }
    if (has[TILE_LZW]) {
        CUDA_TRY(device, err, launch_lzw_tiles(there, checks, stream));
        IMGSTAT_TRY(cuda_launched(device, stream, "lzw_tiles", err));
    }
    if (has[TILE_PACKBITS]) {
        CUDA_TRY(device, err, launch_packbits_tiles(there, checks, stream));
        IMGSTAT_TRY(cuda_launched(device, stream, "packbits_tiles", err));
    }
    if (floats) {
        CUDA_TRY(device, err, launch_unpredict_tiles(there, rows, checks, stream));
        IMGSTAT_TRY(cuda_launched(device, stream, "unpredict_tiles", err));
    }
    CUDA_TRY(device, err, launch_store_tiles(there, rows, checks, stream));
    return cuda_launched(device, stream, "store_tiles", err);
}

/* Decodes tiles [first, end). */
static ImgstatResult decode_some_tiles(CudaDevice *device, cudaStream_t stream,
                                       const DecodeWork *work, const DecodeWork *there,
                                       size_t first, size_t end, DeflatedCheck *checks,
                                       ImgstatError *err)
{
    DecodeWork some = *there;
    some.tiles += first;
    some.n_tiles = end - first;
    return end > first ? decode_tiles(device, stream, work, &some, checks, err) : IMGSTAT_OK;
}

/* Uploads bytes of tiles from number *i on until there are `most` or no more; what follows on the
 * stream waits for them. */
static ImgstatResult upload_some(CudaDevice *device, cudaStream_t stream, const DecodeWork *work,
                                 size_t *i, size_t most, ImgstatError *err)
{
    if (*i == work->n_uploads)
        return IMGSTAT_OK;
    for (size_t bytes = 0; *i < work->n_uploads && bytes < most; (*i)++) {
        const DecodeUpload &up = work->uploads[*i];
        IMGSTAT_TRY(cuda_upload(device, (void *)(uintptr_t)up.to, up.from, up.bytes, err));
        bytes += up.bytes;
    }
    CUDA_TRY(device, err, cudaEventRecord(device->uploaded, device->stream));
    CUDA_TRY(device, err, cudaStreamWaitEvent(stream, device->uploaded, 0));
    return IMGSTAT_OK;
}

static bool has_deflated_tiles(const DecodeWork *work)
{
    for (size_t i = 0; i < work->n_pages; i++)
        if (work->pages[i].coding == TILE_DEFLATED)
            return true;
    return false;
}

/* Fails while a graph is recorded: uploads are in the order of the device's own stream, too. */
static ImgstatResult check_capture(CudaDevice *device, cudaStream_t stream, ImgstatError *err)
{
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    CUDA_TRY(device, err, cudaStreamIsCapturing(stream, &capture));
    return capture == cudaStreamCaptureStatusNone
               ? IMGSTAT_OK
               : error_set(err, IMGSTAT_ERR_ARG,
                           "a CUDA graph cannot record files that are on their way to the GPU");
}

ImgstatResult cuda_decode_async(Device *base, void *stream, const DecodeWork *work, DevMem there,
                                DevMem checks, ImgstatError *err)
{
    CudaDevice *const device = (CudaDevice *)base;
    const size_t n = work->n_rows + work->n_pages, bytes = decode_work_bytes(work);
    CUDA_ENTER(device, err);
    if (n == 0)
        return decode_load(device, err);
    assert(there.bytes >= bytes && checks.bytes >= n * sizeof(DeflatedCheck));
    const DecodeWork to = decode_work_at(work, (void *)(uintptr_t)there.address);
    DeflatedCheck *const check = (DeflatedCheck *)(uintptr_t)checks.address;
    const cudaStream_t on = (cudaStream_t)stream;
    size_t uploaded = 0, decoded = 0;
    if (work->n_uploads > 0)
        IMGSTAT_TRY(check_capture(device, on, err));
    CUDA_TRY(device, err, cudaMemsetAsync(check, 0, n * sizeof *check, on));
    CUDA_TRY(device, err, cudaMemcpyAsync(to.rows, work->rows, bytes, cudaMemcpyHostToDevice, on));
    if (has_deflated_tiles(work)) /* a warp takes 10 ms for one, so all are decoded together */
        IMGSTAT_TRY(upload_some(device, on, work, &uploaded, SIZE_MAX, err));
    if (work->n_parted > 0) {
        CUDA_TRY(device, err,
                 launch_inflate_parted(work->parted, to.parted, work->n_parted, check, on));
        IMGSTAT_TRY(cuda_launched(device, on, "inflate_parted", err));
    }
    for (size_t i = 0; i < work->n_rows; i += LAUNCH_MOST) {
        const size_t left = work->n_rows - i;
        IMGSTAT_TRY(decode_rows(device, on, work->rows + i, to.rows + i,
                                left < LAUNCH_MOST ? left : (size_t)LAUNCH_MOST, check + i, err));
    }
    DeflatedCheck *const of_page = check + work->n_rows;
    while (uploaded < work->n_uploads) {
        IMGSTAT_TRY(upload_some(device, on, work, &uploaded, UPLOADS_TOGETHER, err));
        const size_t end = work->uploads[uploaded - 1].tiles;
        IMGSTAT_TRY(decode_some_tiles(device, on, work, &to, decoded, end, of_page, err));
        decoded = end;
    }
    return decode_some_tiles(device, on, work, &to, decoded, work->n_tiles, of_page, err);
}
