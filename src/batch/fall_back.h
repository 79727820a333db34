/* SPDX-License-Identifier: MIT */
/* fall_back.h: the CPU takes over from a device that fails, for all that is left of a batch. */
#ifndef IMGSTAT_BATCH_FALL_BACK_H
#define IMGSTAT_BATCH_FALL_BACK_H

#include "base/error.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct FallBack {
    const char *device;                             /* the batch's */
    void (*report)(void *context, const char *why); /* NULL: failures of the device stay failures */
    void *context;
    pthread_mutex_t lock;
    atomic_bool fallen;
    bool reported;
    ImgstatError why; /* the first failure */
} FallBack;

void fall_back_init(FallBack *fall_back, const char *device,
                    void (*report)(void *context, const char *why), void *context);
void fall_back_release(FallBack *fall_back);
/* The device that work goes to by now. */
const char *fall_back_device(FallBack *fall_back);
/* Whether the CPU may do again what a device did with that result. */
bool fall_back_allowed(const FallBack *fall_back, const char *device, ImgstatResult result);
/* From now on everything is the CPU's. */
void fall_back_to_cpu(FallBack *fall_back, const ImgstatError *why);
/* Calls `report` once if the CPU has taken over; on the batch's calling thread. */
void fall_back_report(FallBack *fall_back);

#endif
