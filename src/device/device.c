/* SPDX-License-Identifier: MIT */
/* device.c: the table of devices; opens one by its name. */
#include "device/device.h"
#include "base/compiler.h"
#include "base/thread_pool.h"
#include "device/module.h"

#include <stdlib.h>

typedef struct DeviceKind {
    const char *name;
    const DeviceOps *ops;     /* NULL: they are in a module */
    DeviceModulePlace module; /* empty: there is none */
} DeviceKind;

/* The CPU first: it is always there. */
static const DeviceKind device_table[] = {
    {.name = "cpu", .ops = &cpu_device_ops},
    {.name = "cuda", .module = {"CUDA", "libimgstat-cuda.so", "IMGSTAT_CUDA_MODULE"}},
};
enum { DEVICES = ARRAY_LEN(device_table) };

static const char valid_names[] = "cpu, cuda and cuda:N";

const char *imgstat_devices_built(void)
{
    return device_module_exists(&device_table[1].module) ? "cpu, cuda" : "cpu";
}

static ImgstatResult find_ops(const DeviceKind *kind, const DeviceOps **out, ImgstatError *err)
{
    *out = kind->ops;
    return kind->ops ? IMGSTAT_OK : device_module_open(&kind->module, out, err);
}

/* Returns whether a text is the N of "NAME:N". */
static bool is_number(const char *text)
{
    return *text != '\0' && text[strspn(text, "0123456789")] == '\0';
}

/* Finds the kind of "NAME" or "NAME:N". The CPU is one device and has no N. Returns NULL if no
 * device has the name. */
static const DeviceKind *find(const char *name, const char **digits)
{
    const size_t length = strcspn(name, ":");
    *digits = name[length] == '\0' ? "0" : name + length + 1;
    for (size_t i = 0; i < DEVICES; i++) {
        const DeviceKind *const kind = &device_table[i];
        if (strlen(kind->name) == length && strncmp(kind->name, name, length) == 0)
            return name[length] == '\0' || (!kind->ops && is_number(*digits)) ? kind : NULL;
    }
    return NULL;
}

ImgstatResult imgstat_device_open(const char *name, unsigned threads, ImgstatDevice **out,
                                  ImgstatError *err)
{
    enum { MOST_DIGITS = 3 };
    if (out)
        *out = NULL;
    IMGSTAT_TRY(error_if_null(name && out, __func__, err));
    const char *digits;
    const DeviceKind *const kind = find(name, &digits);
    if (!kind || strlen(digits) > MOST_DIGITS)
        return error_set(err, kind ? IMGSTAT_ERR_DEVICE : IMGSTAT_ERR_ARG,
                         "there is no device \"%s\": valid names are %s", name, valid_names);
    const DeviceOps *ops;
    IMGSTAT_TRY(find_ops(kind, &ops, err));
    IMGSTAT_TRY(ops->open(atoi(digits), threads, out, err));
    (*out)->threads = threads ? threads : thread_pool_processors();
    (*out)->cache = buffer_cache_create(); /* NULL: malloc is used */
    return IMGSTAT_OK;
}

void imgstat_device_close(ImgstatDevice *device)
{
    if (!device)
        return;
    BufferCache *const cache = device->cache;
    device->ops->close(device);
    buffer_cache_destroy(cache);
}

void imgstat_device_describe(const ImgstatDevice *device, ImgstatDeviceInfo *out)
{
    device->ops->describe(device, out);
}

size_t imgstat_device_list(ImgstatDeviceInfo *out, size_t capacity)
{
    size_t n = 0;
    for (size_t i = 0; i < DEVICES; i++) {
        const size_t used = n < capacity ? n : capacity;
        const DeviceOps *ops;
        if (find_ops(&device_table[i], &ops, NULL) == IMGSTAT_OK)
            n += ops->list(out ? out + used : NULL, out ? capacity - used : 0);
    }
    return n;
}
