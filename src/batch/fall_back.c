/* SPDX-License-Identifier: MIT */
/* fall_back.c: which failures are a device's, and whether they have been reported. */
#include "batch/fall_back.h"

#include <string.h>

void fall_back_init(FallBack *fall_back, const char *device,
                    void (*report)(void *context, const char *why), void *context)
{
    *fall_back = (FallBack){.device = device, .report = report, .context = context};
    pthread_mutex_init(&fall_back->lock, NULL);
}

void fall_back_release(FallBack *fall_back)
{
    pthread_mutex_destroy(&fall_back->lock);
}

const char *fall_back_device(FallBack *fall_back)
{
    return atomic_load(&fall_back->fallen) ? "cpu" : fall_back->device;
}

bool fall_back_allowed(const FallBack *fall_back, const char *device, ImgstatResult result)
{
    return fall_back->report && strcmp(device, "cpu") != 0 &&
           (result == IMGSTAT_ERR_DEVICE || result == IMGSTAT_ERR_MEMORY);
}

void fall_back_to_cpu(FallBack *fall_back, const ImgstatError *why)
{
    pthread_mutex_lock(&fall_back->lock);
    if (!atomic_exchange(&fall_back->fallen, true))
        fall_back->why = *why;
    pthread_mutex_unlock(&fall_back->lock);
}

void fall_back_report(FallBack *fall_back)
{
    pthread_mutex_lock(&fall_back->lock);
    const bool now = atomic_load(&fall_back->fallen) && !fall_back->reported;
    fall_back->reported |= now;
    pthread_mutex_unlock(&fall_back->lock);
    if (now)
        fall_back->report(fall_back->context, fall_back->why.message);
}
