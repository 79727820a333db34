/* SPDX-License-Identifier: MIT */
/* device/context.cu: the device's context, which is the calling thread's while a call lasts. The
 * driver's functions are looked up, since there may be no driver. */
#include "device/cuda_device.h"

/* A function of the driver, in the form that cuda.h declares since CUDA 12. */
static ImgstatResult find_entry(CudaDevice *device, const char *name, void *entry,
                                ImgstatError *err)
{
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
    cudaError_t status =
        cudaGetDriverEntryPointByVersion(name, (void **)entry, 12000, cudaEnableDefault, &found);
#else
    cudaError_t status = cudaGetDriverEntryPoint(name, (void **)entry, cudaEnableDefault, &found);
#endif
    if (status == cudaSuccess && found != cudaDriverEntryPointSuccess)
        status = cudaErrorSymbolNotFound;
    return status == cudaSuccess ? IMGSTAT_OK : cuda_failed(device, status, name, err);
}

/* Errors of the driver have the same numbers in the runtime. */
static ImgstatResult driver_result(CudaDevice *device, CUresult result, const char *call,
                                   ImgstatError *err)
{
    return result == CUDA_SUCCESS ? IMGSTAT_OK
                                  : cuda_failed(device, (cudaError_t)result, call, err);
}

ImgstatResult cuda_find_context(CudaDevice *device, ImgstatError *err)
{
    decltype(&cuDeviceGet) get;
    decltype(&cuDevicePrimaryCtxRetain) retain;
    CUdevice number;
    IMGSTAT_TRY(find_entry(device, "cuDeviceGet", &get, err));
    IMGSTAT_TRY(find_entry(device, "cuDevicePrimaryCtxRetain", &retain, err));
    IMGSTAT_TRY(find_entry(device, "cuCtxGetId", &device->driver.id, err));
    IMGSTAT_TRY(find_entry(device, "cuCtxGetCurrent", &device->driver.current, err));
    IMGSTAT_TRY(find_entry(device, "cuCtxPushCurrent", &device->driver.push, err));
    IMGSTAT_TRY(find_entry(device, "cuCtxPopCurrent", &device->driver.pop, err));
    IMGSTAT_TRY(driver_result(device, get(&number, device->index), "cuDeviceGet", err));
    IMGSTAT_TRY(
        driver_result(device, retain(&device->context, number), "cuDevicePrimaryCtxRetain", err));
    return driver_result(device, device->driver.id(device->context, &device->context_id),
                         "cuCtxGetId", err);
}

CudaStay::CudaStay(const CudaDevice *on)
    : device(on), result(CUDA_ERROR_INVALID_CONTEXT), pushed(false)
{
    CUcontext now = NULL;
    unsigned long long id = 0;
    if (!device->context) /* it could not be opened */
        return;
    result = device->driver.id(device->context, &id);
    if (result == CUDA_SUCCESS && id != device->context_id)
        result = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (result == CUDA_SUCCESS)
        result = device->driver.current(&now);
    if (result != CUDA_SUCCESS || now == device->context)
        return;
    result = device->driver.push(device->context);
    pushed = result == CUDA_SUCCESS;
}

CudaStay::~CudaStay()
{
    CUcontext now;
    if (pushed)
        (void)device->driver.pop(&now);
}

ImgstatResult cuda_enter(CudaDevice *device, const CudaStay &stay, ImgstatError *err)
{
    const int broken = __atomic_load_n(&device->broken, __ATOMIC_RELAXED);
    if (broken != IMGSTAT_OK)
        return error_set(err, (ImgstatResult)broken, "cuda:%d: unusable after an earlier failure",
                         device->index);
    return driver_result(device, stay.result, "entering its context", err);
}
