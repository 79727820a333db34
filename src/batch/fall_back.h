/* SPDX-License-Identifier: MIT */
/* fall_back.h: the CPU takes over from a device that fails, for all that is left of a batch. */
#ifndef IMGSTAT_BATCH_FALL_BACK_H
#define IMGSTAT_BATCH_FALL_BACK_H

#include "base/error.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct FallBack {
    const char *device;                             /* the batch's */
    void (*report)(void *context, const char *why); /* NULL: the CPU never takes over */
    void *context;
    atomic_bool fallen;   /* the CPU has taken over */
    pthread_mutex_t lock; /* guards what follows */
    bool reported;
    ImgstatError why; /* the first failure */
} FallBack;

void fall_back_init(FallBack *fall_back, const char *device,
                    void (*report)(void *context, const char *why), void *context);
void fall_back_release(FallBack *fall_back);

/* The device that work goes to now: the batch's, or "cpu" once the CPU has taken over. */
const char *fall_back_device(FallBack *fall_back);

/* Whether the CPU may redo work for which `device` returned `result`. */
bool fall_back_allowed(const FallBack *fall_back, const char *device, ImgstatResult result);

/* Lets the CPU take over. The first caller's reason is the one that is reported. */
void fall_back_to_cpu(FallBack *fall_back, const ImgstatError *why);

/* Calls `report` once if the CPU has taken over. On the batch's calling thread. */
void fall_back_report(FallBack *fall_back);

#endif
