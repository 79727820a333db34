/* SPDX-License-Identifier: MIT */
/* stand_in_driver.c: a CUDA driver without a GPU, for the arrays of the Python package and their
 * tests: its memory is the processor's, as that of stand_in.c is, and all work is done on return.
 * Only what they call is here; it is found as libcuda.so.1. Streams and events are no objects. To
 * libimgstat-cuda.so it is a driver that is too old. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define DRIVER __attribute__((visibility("default")))

enum { SUCCESS, OUT_OF_MEMORY = 2, INVALID_DEVICE = 101 };

static int context;
static int64_t used; /* bytes of memory that was not freed, as many as were asked for */

/* Memory behind its size. */
static int allocate(uint64_t *address, size_t bytes)
{
    size_t *const memory = malloc(bytes + 64);
    if (!memory)
        return OUT_OF_MEMORY;
    memory[0] = bytes;
    memset(memory + 8, 0xA5, bytes);
    *address = (uint64_t)(uintptr_t)(memory + 8);
    __atomic_fetch_add(&used, (int64_t)bytes, __ATOMIC_RELAXED);
    return SUCCESS;
}

static int release(uint64_t address)
{
    size_t *const memory = (size_t *)(uintptr_t)address - 8;
    if (!address)
        return SUCCESS;
    __atomic_fetch_sub(&used, (int64_t)memory[0], __ATOMIC_RELAXED);
    free(memory);
    return SUCCESS;
}

DRIVER int cuInit(unsigned flags);
DRIVER int cuInit(unsigned flags)
{
    return (int)flags;
}

DRIVER int cuDriverGetVersion(int *version);
DRIVER int cuDriverGetVersion(int *version)
{
    *version = 11040;
    return SUCCESS;
}

DRIVER int cuDeviceGet(int *device, int index);
DRIVER int cuDeviceGet(int *device, int index)
{
    *device = index;
    return index == 0 ? SUCCESS : INVALID_DEVICE;
}

DRIVER int cuDevicePrimaryCtxRetain(void **out, int device);
DRIVER int cuDevicePrimaryCtxRetain(void **out, int device)
{
    *out = &context;
    return device == 0 ? SUCCESS : INVALID_DEVICE;
}

DRIVER int cuCtxPushCurrent_v2(void *pushed);
DRIVER int cuCtxPushCurrent_v2(void *pushed)
{
    return pushed == &context ? SUCCESS : INVALID_DEVICE;
}

DRIVER int cuCtxSetCurrent(void *set);
DRIVER int cuCtxSetCurrent(void *set)
{
    return cuCtxPushCurrent_v2(set);
}

DRIVER int cuCtxPopCurrent_v2(void **popped);
DRIVER int cuCtxPopCurrent_v2(void **popped)
{
    *popped = &context;
    return SUCCESS;
}

DRIVER int cuCtxSynchronize(void);
DRIVER int cuCtxSynchronize(void)
{
    return SUCCESS;
}

DRIVER int cuMemAlloc_v2(uint64_t *address, size_t bytes);
DRIVER int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    return allocate(address, bytes);
}

DRIVER int cuMemAllocAsync(uint64_t *address, size_t bytes, void *stream);
DRIVER int cuMemAllocAsync(uint64_t *address, size_t bytes, void *stream)
{
    (void)stream;
    return allocate(address, bytes);
}

DRIVER int cuMemFree_v2(uint64_t address);
DRIVER int cuMemFree_v2(uint64_t address)
{
    return release(address);
}

DRIVER int cuMemFreeAsync(uint64_t address, void *stream);
DRIVER int cuMemFreeAsync(uint64_t address, void *stream)
{
    (void)stream;
    return release(address);
}

DRIVER int cuMemGetInfo_v2(size_t *free_bytes, size_t *total);
DRIVER int cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    *total = (size_t)1 << 40;
    *free_bytes = *total - (size_t)__atomic_load_n(&used, __ATOMIC_RELAXED);
    return SUCCESS;
}

DRIVER int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes);
DRIVER int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes)
{
    if (bytes)
        memcpy((void *)(uintptr_t)to, from, bytes);
    return SUCCESS;
}

DRIVER int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes);
DRIVER int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
    if (bytes)
        memcpy(to, (const void *)(uintptr_t)from, bytes);
    return SUCCESS;
}

DRIVER int cuEventCreate(void **event, unsigned flags);
DRIVER int cuEventCreate(void **event, unsigned flags)
{
    (void)flags;
    *event = &context;
    return SUCCESS;
}

DRIVER int cuEventRecord(void *event, void *stream);
DRIVER int cuEventRecord(void *event, void *stream)
{
    (void)stream;
    return event == &context ? SUCCESS : INVALID_DEVICE;
}

DRIVER int cuEventDestroy_v2(void *event);
DRIVER int cuEventDestroy_v2(void *event)
{
    return event == &context ? SUCCESS : INVALID_DEVICE;
}

DRIVER int cuStreamWaitEvent(void *stream, void *event, unsigned flags);
DRIVER int cuStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    (void)stream;
    (void)flags;
    return event == &context ? SUCCESS : INVALID_DEVICE;
}

DRIVER int cuStreamSynchronize(void *stream);
DRIVER int cuStreamSynchronize(void *stream)
{
    (void)stream;
    return SUCCESS;
}

DRIVER int cuStreamIsCapturing(void *stream, int *status);
DRIVER int cuStreamIsCapturing(void *stream, int *status)
{
    (void)stream;
    *status = 0;
    return SUCCESS;
}

DRIVER int cuPointerGetAttribute(int *out, int attribute, uint64_t address);
DRIVER int cuPointerGetAttribute(int *out, int attribute, uint64_t address)
{
    (void)address;
    *out = 0;
    return attribute == 9 ? SUCCESS : INVALID_DEVICE; /* the ordinal of its device */
}

DRIVER int cuGetErrorString(int error, const char **text);
DRIVER int cuGetErrorString(int error, const char **text)
{
    *text = error == OUT_OF_MEMORY ? "out of memory" : "invalid device";
    return SUCCESS;
}
