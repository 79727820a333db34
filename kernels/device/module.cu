/* SPDX-License-Identifier: MIT */
/* module.cu: what libimgstat-cuda.so is to the library that opens it. */
#include "device/cuda_device.h"

extern "C" {
#include "device/module.h"

IMGSTAT_API const DeviceModule *imgstat_device_module(void);
}

const DeviceModule *imgstat_device_module(void)
{
    static const DeviceModule module = {DEVICE_MODULE_INTERFACE, IMGSTAT_VERSION, &cuda_device_ops};
    return &module;
}
