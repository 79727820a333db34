/* SPDX-License-Identifier: MIT */
/* device_list.h: the devices of a batch, which its workers open in turn, and what takes the place
 * of one that fails. */
#ifndef IMGSTAT_BATCH_DEVICE_LIST_H
#define IMGSTAT_BATCH_DEVICE_LIST_H

#include "device/device.h"

#include <pthread.h>

typedef struct ListedDevice {
    char name[DEVICE_NAME_BYTES];
    bool failed, reported;
    ImgstatError why; /* failed */
} ListedDevice;

typedef struct DeviceList {
    ListedDevice *device; /* n of them; a GPU may be there several times */
    size_t n;
    void (*report)(void *context, const char *why); /* NULL: work that fails is not done again */
    void *context;
    pthread_mutex_t lock; /* guards what follows, and what has failed */
    size_t next;          /* device that is opened next */
    size_t left;          /* devices that have not failed */
} DeviceList;

/* text: as ImgstatBatch.device has it; NULL is "cpu". A list that needs a device that is not here
 * fails, or is the CPU's from the beginning if there is a report. A list that fails is empty, and
 * may be released. */
ImgstatResult device_list_init(DeviceList *list, const char *text,
                               void (*report)(void *context, const char *why), void *context,
                               ImgstatError *err);
void device_list_release(DeviceList *list);

/* Whether no device but the CPU was asked for. */
bool device_list_is_cpu(const DeviceList *list);

/* Opens the next device that has not failed; the CPU if all have and there is a report. One that
 * cannot be opened has failed: with a report the next one is opened. *name is the list's, or
 * constant. Any thread. */
ImgstatResult device_list_open(DeviceList *list, unsigned threads, const char **name,
                               ImgstatDevice **out, ImgstatError *err);

/* After `result`, an error, of work on a device: whether that work may be done again on what is
 * opened then. A device that is lost is never opened again while there are others. Any thread. */
bool device_list_fail(DeviceList *list, const char *name, ImgstatResult result,
                      const ImgstatError *why);

/* Whether a device has failed, and another is to take its place. Any thread. */
bool device_list_replaces(DeviceList *list, const char *name);

/* Reports each device that has failed since the last call. On the batch's calling thread. */
void device_list_report(DeviceList *list);

#endif
