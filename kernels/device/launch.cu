/* SPDX-License-Identifier: MIT */
/* device/launch.cu: what a launch needs to know of its kernel, asked of the driver once. */
#include "device/cuda_device.h"

/* The kernel's entry, or the place of the next; NULL: it is not there, and there is no room. */
static CudaKernel *find_kernel(CudaDevice *device, const void *kernel)
{
    for (unsigned i = 0; i < device->n_kernels; i++)
        if (device->kernels[i].kernel == kernel)
            return &device->kernels[i];
    return device->n_kernels < KNOWN_KERNELS ? &device->kernels[device->n_kernels] : NULL;
}

ImgstatResult cuda_prepare(CudaDevice *device, const void *kernel, size_t shared_bytes,
                           CudaKernel *out, ImgstatError *err)
{
    CudaKernel *const known = find_kernel(device, kernel);
    CudaKernel k = {};
    if (known && known->kernel) {
        k = *known;
    } else {
        cudaFuncAttributes attributes;
        CUDA_TRY(device, err, cudaFuncGetAttributes(&attributes, kernel));
        k.kernel = kernel;
        k.static_shared = (int)attributes.sharedSizeBytes;
        k.early = device->properties.major >= 9 && attributes.ptxVersion >= 90;
        device->n_kernels += known != NULL;
    }
    if (!k.large && k.static_shared + shared_bytes > SHARED_SMALL) {
        /* All there is, not what this launch takes: other devices of the process may be at work
         * with the same kernel. */
        CUDA_TRY(device, err,
                 cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      device->max_shared - k.static_shared));
        k.large = true;
    }
    if (known)
        *known = k;
    *out = k;
    return IMGSTAT_OK;
}
