/* SPDX-License-Identifier: MIT */
/* warm_up.c: a GPU's context takes about 0.3 s to make; meanwhile the disk can work. */
#include "warm_up.h"
#include "codec/prefetch.h"
#include "status.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* What a disk may deliver in that time, and no more files than that makes worth while. */
enum { AHEAD_BYTES = 1 << 30, AHEAD_FILES = 1024 };

typedef struct Opening {
    const char *name;
    unsigned threads;
    ImgstatDevice *device;
    ImgstatResult result;
    ImgstatError error;
} Opening;

static void *open_device(void *context)
{
    Opening *const opening = context;
    opening->result =
        imgstat_device_open(opening->name, opening->threads, &opening->device, &opening->error);
    return NULL;
}

static void read_ahead(const InputList *inputs)
{
    int64_t left = AHEAD_BYTES;
    for (size_t i = 0; i < inputs->n && i < AHEAD_FILES && left > 0; i++) {
        const Input *const input = &inputs->items[i];
        if (input->problem == NULL)
            left -= (int64_t)advise_soon(input->path, (uint64_t)left);
    }
}

ImgstatDevice *warm_up(const Options *options, const InputList *inputs, unsigned threads,
                       PlanDevice *plan)
{
    Opening opening = {.name = plan->name, .threads = threads};
    pthread_t thread;
    if (strcmp(plan->name, "cpu") != 0 &&
        pthread_create(&thread, NULL, open_device, &opening) == 0) {
        read_ahead(inputs);
        pthread_join(thread, NULL);
    } else {
        open_device(&opening);
    }
    if (opening.result != IMGSTAT_OK && plan->chosen && strcmp(plan->name, "cpu") != 0) {
        if (options->verbose)
            fprintf(stderr, "%s: %s; the CPU measures instead\n", options->command,
                    opening.error.message);
        *plan = (PlanDevice){.name = opening.name = "cpu"};
        snprintf(plan->why, sizeof plan->why, "cuda could not be opened");
        open_device(&opening);
    }
    if (opening.result != IMGSTAT_OK) {
        fprintf(stderr, "%s: %s\n", options->command, opening.error.message);
        status_raise(opening.result == IMGSTAT_ERR_ARG ? STATUS_USAGE : STATUS_FAILED);
        return NULL;
    }
    return opening.device;
}
