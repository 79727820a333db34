/* SPDX-License-Identifier: MIT */
/* module.h: a device whose code is a shared object of its own, opened when that device is asked
 * for. */
#ifndef IMGSTAT_DEVICE_MODULE_H
#define IMGSTAT_DEVICE_MODULE_H

#include "device/device.h"

/* The number of what library and module agree on: every struct and function type that device.h
 * reaches. It grows with each change of them; the sizes find a change that nobody numbered. */
enum { DEVICE_MODULE_INTERFACE = 1 << 24 | sizeof(DeviceOps) << 12 | sizeof(struct ImgstatDevice) };

/* What a module is. Every version starts with the first two members, so that any library can judge
 * any module. */
typedef struct DeviceModule {
    uint32_t interface;  /* DEVICE_MODULE_INTERFACE when the module was compiled */
    const char *version; /* imgstat_version() of its sources */
    const DeviceOps *ops;
} DeviceModule;

/* The only function that a module exports, under the name DEVICE_MODULE_SYMBOL. */
typedef const DeviceModule *DeviceModuleGet(void);
#define DEVICE_MODULE_SYMBOL "imgstat_device_module"

/* Where a module is looked for: the path that the environment variable holds, or else the first
 * that exists of: the folder of the library or program that contains this code, its subfolder
 * "imgstat", the module folder of the installation that this folder belongs to, and the module
 * folder that the build was configured for. */
typedef struct DeviceModulePlace {
    const char *kind;     /* "CUDA", for messages */
    const char *file;     /* "libimgstat-cuda.so" */
    const char *variable; /* "IMGSTAT_CUDA_MODULE" */
} DeviceModulePlace;

/* Whether there is such a file. Nothing is opened. */
bool device_module_exists(const DeviceModulePlace *place);

/* Opens a module, which stays open until the process ends, and checks its version. Fails with
 * IMGSTAT_ERR_DEVICE and one sentence that starts with "no CUDA device: ". */
ImgstatResult device_module_open(const DeviceModulePlace *place, const DeviceOps **out,
                                 ImgstatError *err);

#endif
