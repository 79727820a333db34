/* SPDX-License-Identifier: MIT */
/* module.h: a device whose code is a shared object, opened when a program asks for that device. */
#ifndef IMGSTAT_DEVICE_MODULE_H
#define IMGSTAT_DEVICE_MODULE_H

#include "device/device.h"

/* The number of the interface between library and module: every struct and function type that
 * device.h uses. Each change increments it. The sizes in it find a change that nobody numbered. */
enum { DEVICE_MODULE_INTERFACE = 3 << 24 | sizeof(DeviceOps) << 12 | sizeof(struct ImgstatDevice) };

/* What a module exports. The first two members are the same in every version: any library can check
 * any module. */
typedef struct DeviceModule {
    uint32_t interface;  /* DEVICE_MODULE_INTERFACE when the module was compiled */
    const char *version; /* imgstat_version() of its sources */
    const DeviceOps *ops;
} DeviceModule;

/* The only function that a module exports, under the name DEVICE_MODULE_SYMBOL. */
typedef const DeviceModule *DeviceModuleGet(void);
#define DEVICE_MODULE_SYMBOL "imgstat_device_module"

/* Where a module is: at the path that the environment variable holds. Without the variable, in the
 * first of these folders that has it: the folder of the library or program that contains this code,
 * its subfolder "imgstat", the module folder of the installation that this folder belongs to, and
 * the module folder that the build was configured for. */
typedef struct DeviceModulePlace {
    const char *kind;     /* "CUDA", for messages */
    const char *file;     /* "libimgstat-cuda.so" */
    const char *variable; /* "IMGSTAT_CUDA_MODULE" */
} DeviceModulePlace;

/* Returns whether the file of a module exists. Does not open it. */
bool device_module_exists(const DeviceModulePlace *place);

/* Opens a module and checks its version. It stays open until the process ends. Fails with
 * IMGSTAT_ERR_DEVICE and a sentence that starts with "no CUDA device: ". */
ImgstatResult device_module_open(const DeviceModulePlace *place, const DeviceOps **out,
                                 ImgstatError *err);

#endif
