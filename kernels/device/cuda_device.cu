/* SPDX-License-Identifier: MIT */
/* device/cuda_device.cu: the CUDA device: opening, memory, transfers; and what libimgstat-cuda.so
 * is to the library that opens it. */
#include "common/work_queue.cuh"
#include "equalize/transform.h"

extern "C" {
#include "device/module.h"
#include "device/read_request.h"

IMGSTAT_API const DeviceModule *imgstat_device_module(void);
}

#include <algorithm>
#include <initializer_list>
#include <stdio.h>
#include <stdlib.h>

/* Reports a missing driver, or one that is too old: the runtime has one code for both. */
static ImgstatResult no_driver(ImgstatError *err)
{
    int version = 0; /* stays 0 where there is no driver */
    if (cudaDriverGetVersion(&version) != cudaSuccess)
        (void)cudaGetLastError();
    if (version == 0)
        return error_set(err, IMGSTAT_ERR_DEVICE, "no CUDA device: no NVIDIA driver is installed");
    return error_set(
        err, IMGSTAT_ERR_DEVICE,
        "no CUDA device: the NVIDIA driver is too old: it supports CUDA %d.%d, and this "
        "build needs %d.%d",
        version / 1000, version % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
}

ImgstatResult cuda_failed(CudaDevice *device, cudaError_t status, const char *call,
                          ImgstatError *err)
{
    const int index = device ? device->index : 0;
    (void)cudaGetLastError(); /* errors that do not stick are forgotten: they are reported here */
    switch (status) {
    case cudaErrorMemoryAllocation:
        return error_set(err, IMGSTAT_ERR_MEMORY, "cuda:%d: out of device memory", index);
    case cudaErrorInsufficientDriver:
        return no_driver(err);
    case cudaErrorNoDevice:
        return error_set(err, IMGSTAT_ERR_DEVICE, "no CUDA device: no NVIDIA GPU was found");
    case cudaErrorNoKernelImageForDevice:
        return error_set(err, IMGSTAT_ERR_DEVICE,
                         "cuda:%d: this build has no code for the GPU's architecture", index);
    default:
        break;
    }
    if (device)
        __atomic_store_n(&device->broken, (int)IMGSTAT_ERR_DEVICE, __ATOMIC_RELAXED);
    return error_set(err, IMGSTAT_ERR_DEVICE, "cuda:%d: %s failed: %s", index, call,
                     cudaGetErrorString(status));
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static size_t grown(size_t bytes, size_t before)
{
    const size_t more = before + before / 2, least = bytes > 4096 ? bytes : 4096;
    return cuda_padded(more > least ? more : least);
}

/* Replaces the memory of a buffer by at least so many bytes; its contents are lost. */
static ImgstatResult grow(CudaDevice *device, CudaBuffer *buffer, size_t bytes, bool pinned,
                          ImgstatError *err)
{
    const size_t rounded = grown(bytes, buffer->bytes);
    void *const old = buffer->memory, *memory = NULL;
    *buffer = CudaBuffer{NULL, 0};
    if (old) { /* kernels may still use it */
        CUDA_TRY(device, err, cudaStreamSynchronize(device->copies));
        CUDA_TRY(device, err, cudaStreamSynchronize(device->stream));
        CUDA_TRY(device, err, pinned ? cudaFreeHost(old) : cudaFree(old));
    }
    CUDA_TRY(device, err,
             pinned ? cudaHostAlloc(&memory, rounded, cudaHostAllocDefault)
                    : cudaMalloc(&memory, rounded));
    *buffer = CudaBuffer{memory, rounded};
    return IMGSTAT_OK;
}

ImgstatResult cuda_reserve(CudaDevice *device, CudaBuffer *buffer, size_t bytes, bool zero,
                           ImgstatError *err)
{
    if (buffer->bytes >= bytes && buffer->memory)
        return IMGSTAT_OK;
    IMGSTAT_TRY(grow(device, buffer, bytes, false, err));
    if (zero)
        CUDA_TRY(device, err, cudaMemsetAsync(buffer->memory, 0, buffer->bytes, device->stream));
    return IMGSTAT_OK;
}

ImgstatResult cuda_reserve_host(CudaDevice *device, CudaBuffer *buffer, size_t bytes,
                                ImgstatError *err)
{
    if (buffer->bytes >= bytes && buffer->memory)
        return IMGSTAT_OK;
    return grow(device, buffer, bytes, true, err);
}

void cuda_free(const CudaDevice *device, CudaBuffer *buffer, bool pinned)
{
    if (buffer->memory && !device->gone)
        cuda_released(pinned ? cudaFreeHost(buffer->memory) : cudaFree(buffer->memory));
    *buffer = CudaBuffer{NULL, 0};
}

void cuda_free_event(const CudaDevice *device, cudaEvent_t event)
{
    if (event && !device->gone)
        cuda_released(cudaEventDestroy(event));
}

void cuda_free_stream(const CudaDevice *device, cudaStream_t stream)
{
    if (stream && !device->gone)
        cuda_released(cudaStreamDestroy(stream));
}

static ImgstatResult device_alloc(Device *base, size_t bytes, DevMem *out, ImgstatError *err)
{
    CudaDevice *device = (CudaDevice *)base;
    *out = DevMem{0, 0};
    CUDA_ENTER(device, err);
    void *memory = NULL;
    const size_t rounded = bytes ? bytes : 1;
    cudaError_t status = cudaMallocAsync(&memory, rounded, device->stream);
    if (status == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        return error_set(err, IMGSTAT_ERR_MEMORY, "cuda:%d: out of device memory for %zu bytes",
                         device->index, bytes);
    }
    CUDA_TRY(device, err, status);
    status = cudaMemsetAsync(memory, 0, rounded, device->stream);
    if (status != cudaSuccess) {
        (void)cudaFreeAsync(memory, device->stream);
        return cuda_failed(device, status, "cudaMemsetAsync", err);
    }
    *out = DevMem{(uint64_t)(uintptr_t)memory, bytes};
    return IMGSTAT_OK;
}

static void device_release(Device *base, DevMem *mem)
{
    CudaDevice *device = (CudaDevice *)base;
    if (!mem || !mem->address)
        return;
    /* A failed device frees everything when its process ends. */
    const CudaStay stay(device);
    if (stay.result == CUDA_SUCCESS)
        cuda_released(cudaFreeAsync((void *)(uintptr_t)mem->address, device->stream));
    *mem = DevMem{0, 0};
}

/* Pinning takes the driver about a millisecond, under a lock that all threads share, so the few
 * buffers that a file takes are kept for the next one. */
static ImgstatResult device_host_alloc(Device *base, size_t bytes, void **out, ImgstatError *err)
{
    CudaDevice *device = (CudaDevice *)base;
    *out = NULL;
    CUDA_ENTER(device, err);
    LentBuffer *place = NULL; /* the first that is large enough, else the last that is free */
    for (LentBuffer &b : device->lent) {
        if (b.lent)
            continue;
        place = &b;
        if (b.pinned.memory && b.pinned.bytes >= bytes) {
            b.lent = true;
            *out = b.pinned.memory;
            return IMGSTAT_OK;
        }
    }
    const size_t rounded = grown(bytes, 0);
    const cudaError_t status = cudaHostAlloc(out, rounded, cudaHostAllocPortable);
    if (status == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        return error_memory(err, bytes, "a pinned host buffer");
    }
    CUDA_TRY(device, err, status);
    if (place && rounded <= LENT_BYTES) {
        if (place->pinned.memory)
            cuda_released(cudaFreeHost(place->pinned.memory));
        *place = LentBuffer{{*out, rounded}, true};
    }
    return IMGSTAT_OK;
}

static void device_host_release(Device *base, void *memory)
{
    CudaDevice *device = (CudaDevice *)base;
    for (LentBuffer &b : device->lent) {
        if (memory && b.lent && b.pinned.memory == memory) {
            b.lent = false;
            return;
        }
    }
    const CudaStay stay(device);
    if (memory && stay.result == CUDA_SUCCESS)
        cuda_released(cudaFreeHost(memory));
}

static ImgstatResult check_range(DevMem mem, size_t offset, size_t bytes, ImgstatError *err)
{
    if (offset > mem.bytes || bytes > mem.bytes - offset)
        return error_set(err, IMGSTAT_ERR_ARG, "a transfer reaches outside its device memory");
    return IMGSTAT_OK;
}

/* Memory that the driver does not know either gives an error or is "unregistered". */
static bool is_pinned(const void *memory)
{
    cudaPointerAttributes attributes;
    if (cudaPointerGetAttributes(&attributes, memory) == cudaSuccess)
        return attributes.type == cudaMemoryTypeHost;
    (void)cudaGetLastError();
    return false;
}

ImgstatResult cuda_upload(CudaDevice *device, void *to, const void *from, size_t bytes,
                          ImgstatError *err)
{
    if (bytes >= UPLOAD_STAGED && !is_pinned(from))
        return cuda_upload_staged(device, to, from, bytes, err);
    CUDA_TRY(device, err, cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, device->stream));
    return IMGSTAT_OK;
}

/* Waits: `from` belongs to the caller again when it returns, and other streams see the bytes. */
static ImgstatResult device_upload(Device *base, DevMem to, size_t offset, const void *from,
                                   size_t bytes, ImgstatError *err)
{
    CudaDevice *device = (CudaDevice *)base;
    CUDA_ENTER(device, err);
    IMGSTAT_TRY(check_range(to, offset, bytes, err));
    if (bytes == 0)
        return IMGSTAT_OK;
    IMGSTAT_TRY(cuda_upload(device, (char *)(uintptr_t)to.address + offset, from, bytes, err));
    CUDA_TRY(device, err, cudaStreamSynchronize(device->stream));
    return IMGSTAT_OK;
}

static ImgstatResult device_download(Device *base, void *to, DevMem from, size_t offset,
                                     size_t bytes, ImgstatError *err)
{
    CudaDevice *device = (CudaDevice *)base;
    CUDA_ENTER(device, err);
    IMGSTAT_TRY(check_range(from, offset, bytes, err));
    if (bytes > 0)
        CUDA_TRY(device, err,
                 cudaMemcpyAsync(to, (const char *)(uintptr_t)from.address + offset, bytes,
                                 cudaMemcpyDeviceToHost, device->stream));
    CUDA_TRY(device, err, cudaStreamSynchronize(device->stream));
    return IMGSTAT_OK;
}

/* ---- Opening and closing --------------------------------------------------------------------- */

static void fill_info(ImgstatDeviceInfo *info, int index, const cudaDeviceProp *properties)
{
    memset(info, 0, sizeof *info);
    snprintf(info->name, sizeof info->name, "cuda:%d", index);
    snprintf(info->description, sizeof info->description, "%.64s, %d multiprocessors, %d.%d",
             properties->name, properties->multiProcessorCount, properties->major,
             properties->minor);
    info->memory_bytes = properties->totalGlobalMem;
}

/* Asks the driver, where there is one; creates no context. */
static size_t device_list(ImgstatDeviceInfo *info, size_t capacity)
{
    int n = 0;
    if (cudaGetDeviceCount(&n) != cudaSuccess || n < 0) {
        (void)cudaGetLastError();
        return 0;
    }
    for (int i = 0; i < n && (size_t)i < capacity; i++) {
        cudaDeviceProp properties;
        memset(&properties, 0, sizeof properties);
        if (cudaGetDeviceProperties(&properties, i) != cudaSuccess)
            (void)cudaGetLastError();
        fill_info(&info[i], i, &properties);
    }
    return (size_t)n;
}

/* They fill pinned memory, which is the device's own. */
static void device_use_threads(Device *base, unsigned threads)
{
    thread_pool_use(((CudaDevice *)base)->pool, threads);
}

static void close_resources(CudaDevice *device)
{
    const CudaStay stay(device);
    device->gone = stay.result != CUDA_SUCCESS;
    if (!device->gone && device->stream) {
        (void)cudaStreamSynchronize(device->copies);
        (void)cudaStreamSynchronize(device->stream);
    }
    for (StageSlot &slot : device->stage) {
        cuda_free(device, &slot.pinned, true);
        cuda_free(device, &slot.pixels, false);
        cuda_free_event(device, slot.filled);
        cuda_free_event(device, slot.used);
    }
    for (DescSlot &slot : device->desc) {
        cuda_free(device, &slot.pinned, true);
        cuda_free(device, &slot.device, false);
        cuda_free_event(device, slot.copied);
        cuda_free_event(device, slot.used);
    }
    cuda_apply_close(device);
    cuda_free(device, &device->state, false);
    cuda_free(device, &device->scratch, false);
    cuda_free(device, &device->sort, false);
    free(device->sorting);
    cuda_free(device, &device->aligned, false);
    cuda_free(device, &device->luma, false);
    cuda_free(device, &device->host, true);
    for (LentBuffer &b : device->lent)
        cuda_free(device, &b.pinned, true);
    if (device->queue && !device->gone)
        cuda_released(cudaFree(device->queue));
    cuda_free_event(device, device->uploaded);
    cuda_free_stream(device, device->copies);
    cuda_free_stream(device, device->stream);
    if (!device->gone)
        (void)cudaGetLastError();
}

static void device_close(Device *base)
{
    CudaDevice *device = (CudaDevice *)base;
    if (!device)
        return;
    close_resources(device);
    thread_pool_destroy(device->pool);
    free(device->list.memory);
    free(device);
}

/* Describes the GPU. Tests give it less shared memory by IMGSTAT_CUDA_SHARED_KIB, of a block: then
 * launches are those of a smaller GPU, and one that asks for more fails. */
static ImgstatResult describe_gpu(CudaDevice *device, ImgstatError *err)
{
    const char *const limit = getenv("IMGSTAT_CUDA_SHARED_KIB");
    cudaDeviceProp *const properties = &device->properties;
    CUDA_TRY(device, err, cudaGetDeviceProperties(properties, device->index));
    fill_info(&device->base.info, device->index, properties);
    int shared = (int)properties->sharedMemPerBlockOptin;
    if (limit) {
        const int least = TUNING_89.shared_kib << 10, wanted = atoi(limit) << 10;
        shared = std::min(shared, std::max(wanted, least));
        properties->sharedMemPerMultiprocessor = (size_t)shared + SHARED_RESERVED;
    }
    device->max_shared = shared;
    device->tuning = tuning_of(shared);
    return IMGSTAT_OK;
}

static ImgstatResult open_resources(CudaDevice *device, ImgstatError *err)
{
    IMGSTAT_TRY(cuda_find_context(device, err));
    CUDA_ENTER(device, err);
    IMGSTAT_TRY(describe_gpu(device, err));
    int least, greatest; /* what takes microseconds goes before streams that are decoded for long */
    CUDA_TRY(device, err, cudaDeviceGetStreamPriorityRange(&least, &greatest));
    for (cudaStream_t *stream : {&device->stream, &device->copies})
        CUDA_TRY(device, err,
                 cudaStreamCreateWithPriority(stream, cudaStreamNonBlocking, greatest));
    device->base.stream = device->stream;
    CUDA_TRY(device, err, cudaEventCreateWithFlags(&device->uploaded, cudaEventDisableTiming));
    for (StageSlot &slot : device->stage)
        for (cudaEvent_t *event : {&slot.filled, &slot.used})
            CUDA_TRY(device, err, cudaEventCreateWithFlags(event, cudaEventDisableTiming));
    for (DescSlot &slot : device->desc)
        for (cudaEvent_t *event : {&slot.copied, &slot.used})
            CUDA_TRY(device, err, cudaEventCreateWithFlags(event, cudaEventDisableTiming));
    CUDA_TRY(device, err, cudaMalloc(&device->queue, sizeof(QueueMemory)));
    CUDA_TRY(device, err, cudaMemsetAsync(device->queue, 0, sizeof(QueueMemory), device->stream));

    /* Memory that is freed stays with the pool, so that a batch does not allocate per image. */
    cudaMemPool_t pool;
    uint64_t keep = UINT64_MAX;
    CUDA_TRY(device, err, cudaDeviceGetDefaultMemPool(&pool, device->index));
    CUDA_TRY(device, err, cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    return IMGSTAT_OK;
}

static ImgstatResult check_index(CudaDevice *device, ImgstatError *err)
{
    int n = 0;
    CUDA_TRY(device, err, cudaGetDeviceCount(&n));
    if (device->index >= 0 && device->index < n)
        return IMGSTAT_OK;
    return error_set(err, IMGSTAT_ERR_DEVICE, "cuda:%d: there %s %d CUDA device%s, counted from 0",
                     device->index, n == 1 ? "is" : "are", n, n == 1 ? "" : "s");
}

static ImgstatResult device_open(int index, unsigned threads, Device **out, ImgstatError *err)
{
    *out = NULL;
    CudaDevice *device = (CudaDevice *)calloc(1, sizeof *device);
    if (!device)
        return error_memory(err, sizeof *device, "a device");
    device->base.ops = &cuda_device_ops;
    device->index = index;
    ImgstatResult res = check_index(device, err);
    if (res == IMGSTAT_OK)
        res = thread_pool_create(threads, &device->pool, err);
    if (res == IMGSTAT_OK)
        res = open_resources(device, err);
    if (res != IMGSTAT_OK) {
        device_close(&device->base);
        return res;
    }
    *out = &device->base;
    return IMGSTAT_OK;
}

const DeviceOps cuda_device_ops = {
    .name = "cuda",
    .fetches = false,
    .list = device_list,
    .open = device_open,
    .close = device_close,
    .use_threads = device_use_threads,
    .alloc = device_alloc,
    .release = device_release,
    .host_alloc = device_host_alloc,
    .host_release = device_host_release,
    .upload = device_upload,
    .download = device_download,
    .wait = cuda_wait,
    .measure = cuda_measure,
    .read = cuda_read,
    .sort_begin = cuda_sort_begin,
    .sort_end = cuda_sort_end,
    .apply = cuda_apply,
    .clahe_read = cuda_clahe_read,
    .clahe_finish = cuda_clahe_finish,
    .clahe_apply = cuda_clahe_apply,
    .async_bytes = cuda_async_bytes,
    .measure_async = cuda_measure_async,
    .transform_create = cuda_transform_create,
    .transform_destroy = cuda_transform_destroy,
    .transform_async = cuda_transform_async,
    .decode_async = cuda_decode_async,
    .encode_async = cuda_encode_async,
};

const DeviceModule *imgstat_device_module(void)
{
    static const DeviceModule module = {DEVICE_MODULE_INTERFACE, IMGSTAT_VERSION, &cuda_device_ops};
    return &module;
}
