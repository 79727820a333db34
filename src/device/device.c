/* SPDX-License-Identifier: MIT */
/* device.c: the table of devices; opens one by its name. */
#include "device/device.h"
#include "base/compiler.h"
#include "base/thread_pool.h"
#include "device/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
static const char valid_lists[] = "cpu, cuda, cuda:N, lists such as cuda:0,1, and cuda:all";

static const char digits[] = "0123456789";
enum { MOST_DIGITS = 3 };

const char *imgstat_devices_built(void)
{
    return device_module_exists(&device_table[1].module) ? "cpu, cuda" : "cpu";
}

static ImgstatResult find_ops(const DeviceKind *kind, const DeviceOps **out, ImgstatError *err)
{
    *out = kind->ops;
    return kind->ops ? IMGSTAT_OK : device_module_open(&kind->module, out, err);
}

/* The kind of device whose name is the first `length` bytes; NULL: there is none. */
static const DeviceKind *find_kind(const char *name, size_t length)
{
    for (size_t i = 0; i < DEVICES; i++)
        if (strlen(device_table[i].name) == length &&
            strncmp(device_table[i].name, name, length) == 0)
            return &device_table[i];
    return NULL;
}

static ImgstatResult no_device(const char *name, ImgstatResult code, const char *valid,
                               ImgstatError *err)
{
    return error_set(err, code, "there is no device \"%s\": valid names are %s", name, valid);
}

/* Finds "NAME" or "NAME:N"; the CPU is one device and has no N. */
static ImgstatResult find(const char *name, const char *valid, const DeviceKind **kind, int *index,
                          ImgstatError *err)
{
    const size_t length = strcspn(name, ":");
    const char *const number = name[length] == '\0' ? "0" : name + length + 1;
    *kind = find_kind(name, length);
    if (!*kind || (name[length] != '\0' && (*kind)->ops) || *number == '\0' ||
        number[strspn(number, digits)] != '\0')
        return no_device(name, IMGSTAT_ERR_ARG, valid, err);
    if (strlen(number) > MOST_DIGITS)
        return no_device(name, IMGSTAT_ERR_DEVICE, valid, err);
    *index = atoi(number);
    return IMGSTAT_OK;
}

/* Reads the numbers of a list from `at` on; text: all of the list. */
static ImgstatResult read_numbers(const char *text, const char *at, uint16_t *numbers, size_t *n,
                                  ImgstatError *err)
{
    for (*n = 0;; at++) {
        const size_t length = strcspn(at, ",");
        if (length == 0 || strspn(at, digits) != length)
            return no_device(text, IMGSTAT_ERR_ARG, valid_lists, err);
        if (*n == DEVICES_MOST)
            return error_set(err, IMGSTAT_ERR_ARG, "\"%.40s...\" has more than %d devices", text,
                             DEVICES_MOST);
        if (length > MOST_DIGITS)
            return no_device(text, IMGSTAT_ERR_DEVICE, valid_lists, err);
        numbers[(*n)++] = (uint16_t)atoi(at);
        at += length;
        if (*at == '\0')
            return IMGSTAT_OK;
    }
}

/* Names the devices with these numbers, or all if n is 0. */
static ImgstatResult name_devices(const DeviceKind *kind, const uint16_t *numbers, size_t n,
                                  DeviceNames *out, ImgstatError *err)
{
    const DeviceOps *ops;
    IMGSTAT_TRY(find_ops(kind, &ops, err));
    const size_t here = ops->list(NULL, 0);
    if (here == 0) { /* opening it gives the cause */
        out->n = 1;
        snprintf(out->name[0], DEVICE_NAME_BYTES, "%s:0", kind->name);
        return IMGSTAT_OK;
    }
    out->n = n > 0 ? n : here < DEVICES_MOST ? here : DEVICES_MOST;
    for (size_t i = 0; i < out->n; i++) {
        const uint16_t number = n > 0 ? numbers[i] : (uint16_t)i;
        if (number >= here)
            return error_set(err, IMGSTAT_ERR_DEVICE,
                             "%s:%u: there %s %zu %s device%s, counted from 0", kind->name, number,
                             here == 1 ? "is" : "are", here, kind->module.kind,
                             here == 1 ? "" : "s");
        snprintf(out->name[i], DEVICE_NAME_BYTES, "%s:%u", kind->name, number);
    }
    return IMGSTAT_OK;
}

ImgstatResult device_names_read(const char *text, DeviceNames *out, ImgstatError *err)
{
    const size_t length = strcspn(text, ":");
    const bool all = strcmp(text + length, ":all") == 0;
    const DeviceKind *kind = find_kind(text, length);
    uint16_t numbers[DEVICES_MOST];
    size_t n = 0;
    *out = (DeviceNames){.n = 1};
    if (!all && !strchr(text, ',')) {
        int index;
        IMGSTAT_TRY(find(text, valid_lists, &kind, &index, err));
        snprintf(out->name[0], DEVICE_NAME_BYTES, "%s", text);
        return IMGSTAT_OK;
    }
    if (!kind || kind->ops || text[length] == '\0')
        return no_device(text, IMGSTAT_ERR_ARG, valid_lists, err);
    if (!all)
        IMGSTAT_TRY(read_numbers(text, text + length + 1, numbers, &n, err));
    return name_devices(kind, numbers, n, out, err);
}

ImgstatResult imgstat_device_open(const char *name, unsigned threads, ImgstatDevice **out,
                                  ImgstatError *err)
{
    if (out)
        *out = NULL;
    IMGSTAT_TRY(error_if_null(name && out, __func__, err));
    const DeviceKind *kind;
    const DeviceOps *ops;
    int index;
    IMGSTAT_TRY(find(name, valid_names, &kind, &index, err));
    IMGSTAT_TRY(find_ops(kind, &ops, err));
    IMGSTAT_TRY(ops->open(index, threads, out, err));
    (*out)->index = index;
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
    *out = device->info;
}

void imgstat_device_cancel(ImgstatDevice *device, bool (*cancelled)(void *context), void *context)
{
    device->cancel = (Cancel){.check = cancelled, .context = context};
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
