/* SPDX-License-Identifier: MIT */
/* device.c: the table of devices, and opening one by name. */
#include "device/device.h"
#include "base/thread_pool.h"

#include <stdlib.h>

static const DeviceOps *const device_table[] = {
#ifdef IMGSTAT_WITH_CUDA
    &cuda_device_ops,
#endif
    &cpu_device_ops,
};
enum { DEVICES = sizeof device_table / sizeof device_table[0] };

#ifdef IMGSTAT_WITH_CUDA
static const char valid_names[] = "cpu, cuda and cuda:N", built[] = "cpu, cuda";
#else
static const char valid_names[] = "cpu", built[] = "cpu";
#endif

const char *imgstat_devices_built(void)
{
    return built;
}

/* Whether it is the N of "NAME:N". */
static bool is_number(const char *text)
{
    return *text != '\0' && text[strspn(text, "0123456789")] == '\0';
}

/* "NAME" or "NAME:N" with N up to 999; the CPU is one device and has no N. */
static const DeviceOps *find(const char *name, int *index)
{
    const size_t length = strcspn(name, ":");
    *index = 0;
    for (size_t i = 0; i < DEVICES; i++) {
        const DeviceOps *const ops = device_table[i];
        if (strlen(ops->name) != length || strncmp(ops->name, name, length) != 0)
            continue;
        if (name[length] == '\0')
            return ops;
        const char *const digits = name + length + 1;
        if (ops == &cpu_device_ops || !is_number(digits) || strlen(digits) > 3)
            return NULL;
        *index = atoi(digits);
        return ops;
    }
    return NULL;
}

ImgstatResult imgstat_device_open(const char *name, unsigned threads, ImgstatDevice **out,
                                  ImgstatError *err)
{
    if (out)
        *out = NULL;
    IMGSTAT_TRY(error_if_null(name && out, __func__, err));
    int index;
    const DeviceOps *const ops = find(name, &index);
    if (ops) {
        IMGSTAT_TRY(ops->open(index, threads, out, err));
        (*out)->threads = threads ? threads : thread_pool_processors();
        (*out)->scratch = buffer_cache_create(); /* without it there is malloc */
        return IMGSTAT_OK;
    }
    if (strcmp(name, "cuda") == 0 || (strncmp(name, "cuda:", 5) == 0 && is_number(name + 5)))
        return error_set(err, IMGSTAT_ERR_DEVICE, "there is no device \"%s\": this build knows %s",
                         name, valid_names);
    return error_set(err, IMGSTAT_ERR_ARG, "there is no device \"%s\": valid names are %s", name,
                     valid_names);
}

void imgstat_device_close(ImgstatDevice *device)
{
    if (!device)
        return;
    BufferCache *const scratch = device->scratch;
    device->ops->close(device);
    buffer_cache_destroy(scratch);
}

void imgstat_device_describe(const ImgstatDevice *device, ImgstatDeviceInfo *out)
{
    device->ops->describe(device, out);
}

size_t imgstat_device_list(ImgstatDeviceInfo *out, size_t capacity)
{
    size_t n = 0;
    for (size_t i = DEVICES; i-- > 0;) { /* the CPU first: it is always there */
        const size_t used = n < capacity ? n : capacity;
        n += device_table[i]->list(out ? out + used : NULL, out ? capacity - used : 0);
    }
    return n;
}
