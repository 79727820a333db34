/* SPDX-License-Identifier: MIT */
/* module.c: finds and opens the shared object of a device. */
#define _GNU_SOURCE /* dladdr, secure_getenv */
#include "device/module.h"

#include "base/compiler.h"
#include "base/error.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* Finds the folder of the library or program that contains this code. */
static bool own_folder(char folder[PATH_MAX])
{
    static const char inside = 0;
    Dl_info own, program;
    if (!dladdr(&inside, &own))
        return false;
    /* dladdr has the name that a program was called by, which may not be its path. */
    const bool in_program = dladdr((const void *)getauxval(AT_PHDR), &program) != 0 &&
                            program.dli_fbase == own.dli_fbase;
    if (!realpath(in_program ? "/proc/self/exe" : own.dli_fname, folder))
        return false;
    *strrchr(folder, '/') = '\0';
    return true;
}

/* Makes the path in folder i of those that DeviceModulePlace lists. Returns false after the last.
 */
static bool place_path(const char *file, const char *folder, unsigned i, char path[PATH_MAX])
{
    static const char *const below[] = {"", "/imgstat", ("/" IMGSTAT_MODULE_FROM_PROGRAM)};
    enum { BELOW = ARRAY_LEN(below) };
    int length;
    if (i < BELOW)
        length = snprintf(path, PATH_MAX, "%s%s/%s", folder, below[i], file);
    else
        length = snprintf(path, PATH_MAX, "%s/%s", IMGSTAT_MODULE_DIR, file);
    if (length >= PATH_MAX)
        path[0] = '\0';
    return i <= BELOW;
}

static bool find(const DeviceModulePlace *place, char path[PATH_MAX])
{
    const char *const named = secure_getenv(place->variable);
    if (named && *named) {
        snprintf(path, PATH_MAX, "%s", named);
        return access(path, F_OK) == 0;
    }
    char folder[PATH_MAX];
    const bool known = own_folder(folder);
    for (unsigned i = 0; place_path(place->file, known ? folder : "", i, path); i++)
        if (access(path, F_OK) == 0)
            return true;
    snprintf(path, PATH_MAX, "%s", place->file);
    return false;
}

bool device_module_exists(const DeviceModulePlace *place)
{
    char path[PATH_MAX];
    return find(place, path);
}

static ImgstatResult check(const DeviceModulePlace *place, const char *path,
                           const DeviceModule *module, ImgstatError *err)
{
    if (strcmp(module->version, imgstat_version()) != 0)
        return error_set(err, IMGSTAT_ERR_DEVICE,
                         "no %s device: %s is of version %s, this library needs %s", place->kind,
                         path, module->version, imgstat_version());
    if (module->interface != DEVICE_MODULE_INTERFACE)
        return error_set(err, IMGSTAT_ERR_DEVICE,
                         "no %s device: %s is of another build of version %s", place->kind, path,
                         module->version);
    return IMGSTAT_OK;
}

ImgstatResult device_module_open(const DeviceModulePlace *place, const DeviceOps **out,
                                 ImgstatError *err)
{
    char path[PATH_MAX];
    *out = NULL;
    if (!find(place, path))
        return error_set(err, IMGSTAT_ERR_DEVICE, "no %s device: %s was not found", place->kind,
                         path);
    void *const handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return error_set(err, IMGSTAT_ERR_DEVICE, "no %s device: %s", place->kind, dlerror());
    DeviceModuleGet *get;
    *(void **)&get = dlsym(handle, DEVICE_MODULE_SYMBOL); /* as POSIX writes it */
    const DeviceModule *const module = get ? get() : NULL;
    const ImgstatResult res =
        module ? check(place, path, module, err)
               : error_set(err, IMGSTAT_ERR_DEVICE, "no %s device: %s is no module of imgstat",
                           place->kind, path);
    if (res == IMGSTAT_OK)
        *out = module->ops;
    else
        dlclose(handle);
    return res;
}
