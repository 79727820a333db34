/* SPDX-License-Identifier: MIT */
/* device_list.c: which device a worker opens, which failures are a device's, and whether they have
 * been reported. */
#include "batch/device_list.h"

#include <stdlib.h>

static const char the_cpu[] = "cpu";

ImgstatResult device_list_init(DeviceList *list, const char *text,
                               void (*report)(void *context, const char *why), void *context,
                               ImgstatError *err)
{
    DeviceNames names;
    ImgstatError why;
    *list = (DeviceList){.report = report, .context = context};
    pthread_mutex_init(&list->lock, NULL);
    const ImgstatResult res = device_names_read(text ? text : the_cpu, &names, &why);
    const bool absent = res == IMGSTAT_ERR_DEVICE && report;
    if (res != IMGSTAT_OK && !absent) {
        if (err)
            *err = why;
        return res;
    }
    list->n = absent ? 1 : names.n;
    list->device = calloc(list->n, sizeof *list->device);
    if (!list->device)
        return error_memory(err, list->n * sizeof *list->device, "devices");
    if (absent)
        list->device[0] = (ListedDevice){.failed = true, .why = why};
    for (size_t i = 0; !absent && i < names.n; i++)
        memcpy(list->device[i].name, names.name[i], sizeof names.name[i]);
    list->left = absent ? 0 : list->n;
    return IMGSTAT_OK;
}

void device_list_release(DeviceList *list)
{
    pthread_mutex_destroy(&list->lock);
    free(list->device);
}

bool device_list_is_cpu(const DeviceList *list)
{
    return strcmp(list->device[0].name, the_cpu) == 0;
}

static const char *next_name(DeviceList *list)
{
    pthread_mutex_lock(&list->lock);
    const char *name = the_cpu;
    if (list->left > 0 || !list->report) {
        while (list->left > 0 && list->device[list->next].failed)
            list->next = (list->next + 1) % list->n;
        name = list->device[list->next].name;
        list->next = (list->next + 1) % list->n;
    }
    pthread_mutex_unlock(&list->lock);
    return name;
}

/* Every place of a GPU in the list has failed with it; the first reason is the one that is kept. */
static void mark(DeviceList *list, const char *name, const ImgstatError *why)
{
    bool first = true;
    pthread_mutex_lock(&list->lock);
    for (size_t i = 0; i < list->n; i++) {
        ListedDevice *const device = &list->device[i];
        if (device->failed || strcmp(device->name, name) != 0)
            continue;
        device->failed = true;
        device->reported = !first;
        device->why = *why;
        first = false;
        list->left--;
    }
    pthread_mutex_unlock(&list->lock);
}

static bool fail(DeviceList *list, const char *name, bool lost, ImgstatResult result,
                 const ImgstatError *why)
{
    const bool again =
        list->report && (result == IMGSTAT_ERR_DEVICE || result == IMGSTAT_ERR_MEMORY);
    if (strcmp(name, the_cpu) == 0)
        return false;
    if (again || lost)
        mark(list, name, why);
    return again;
}

bool device_list_fail(DeviceList *list, const char *name, ImgstatResult result,
                      const ImgstatError *why)
{
    return fail(list, name, result == IMGSTAT_ERR_DEVICE, result, why);
}

ImgstatResult device_list_open(DeviceList *list, unsigned threads, const char **name,
                               ImgstatDevice **out, ImgstatError *err)
{
    ImgstatError why = {0};
    ImgstatResult res;
    do {
        *name = next_name(list);
        res = imgstat_device_open(*name, threads, out, &why);
    } while (res != IMGSTAT_OK && fail(list, *name, true, res, &why));
    if (res != IMGSTAT_OK && err)
        *err = why;
    return res;
}

bool device_list_replaces(DeviceList *list, const char *name)
{
    bool failed = false;
    pthread_mutex_lock(&list->lock);
    for (size_t i = 0; i < list->n; i++)
        failed = failed || (list->device[i].failed && strcmp(list->device[i].name, name) == 0);
    failed = failed && (list->report || list->left > 0);
    pthread_mutex_unlock(&list->lock);
    return failed;
}

void device_list_report(DeviceList *list)
{
    for (size_t i = 0; list->report && i < list->n; i++) {
        ListedDevice *const device = &list->device[i];
        pthread_mutex_lock(&list->lock);
        const bool now = device->failed && !device->reported;
        device->reported = device->failed;
        pthread_mutex_unlock(&list->lock);
        if (now)
            list->report(list->context, device->why.message);
    }
}
